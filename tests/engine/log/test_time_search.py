"""By time: the very record inside its batch, never before the start nor past the end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.log.log import Log, LogConfig
from engine.records.compression import ZSTD, compress
from engine.records.layout import MAGIC, BatchHeader, pack_record, seal_batch
from tests.engine.logs import NOW_MS, batch, maintain, memory_files, open_log, sync

Times = list[list[int]]


def _batch(shifts: list[int], codec: int = 0) -> bytes:
    """A batch whose records are so many ms after NOW_MS."""
    first = shifts[0]
    section = b"".join(pack_record(i, shift - first, b"k", b"v") for i, shift in enumerate(shifts))
    header = BatchHeader(
        0, 0, -1, MAGIC, 0, codec, len(shifts) - 1, NOW_MS + first, NOW_MS + max(shifts), -1, -1, -1, len(shifts)
    )
    return seal_batch(header, compress(codec, section))


def _log(times: Times, *, codec: int = 0, rolled: bool = False) -> Log:
    log = open_log(memory_files(), config=LogConfig(index_interval_bytes=150))
    for shifts in times:
        log.append(_batch(shifts, codec), 3)
        if rolled:
            log.roll()
    sync(log)
    maintain(log)
    return log


@pytest.mark.parametrize("codec", [0, ZSTD])
def test_the_record_inside_the_batch_is_found(codec: int) -> None:
    log = _log([[0, 10, 20], [30, 5, 40]], codec=codec)
    found = log.find_by_time(NOW_MS + 15, log.end)
    assert found is not None
    assert (found.offset, found.timestamp_ms, found.leader_epoch) == (2, NOW_MS + 20, 3)
    later = log.find_by_time(NOW_MS + 31, log.end)
    assert later is not None
    assert later.offset == 5


def test_no_record_that_late_is_none() -> None:
    log = _log([[0, 10]])
    assert log.find_by_time(NOW_MS + 11, log.end) is None
    assert open_log(memory_files()).find_by_time(0, log.end) is None


def test_an_empty_log_has_no_greatest_time() -> None:
    log = open_log(memory_files())
    assert log.find_max_timestamp(log.end) is None


def test_under_append_time_all_records_of_a_batch_are_of_its_time() -> None:
    log = open_log(memory_files(), config=LogConfig(timestamp_type="LogAppendTime"))
    log.append(batch(3, timestamp_ms=1), 0)
    found = log.find_by_time(NOW_MS, log.end)
    assert found is not None
    assert (found.offset, found.timestamp_ms) == (0, NOW_MS)
    assert log.find_max_timestamp(log.end) == found


def test_deleted_records_are_not_found() -> None:
    log = _log([[0, 10, 20], [30]])
    log.delete_records(1)
    found = log.find_by_time(NOW_MS, log.end)
    assert found is not None
    assert found.offset == 1


shifts = st.lists(st.integers(-30, 30), min_size=1, max_size=4)


@given(st.lists(shifts, min_size=1, max_size=12), st.booleans(), st.data())
def test_it_agrees_with_looking_at_every_record(times: Times, rolled: bool, data: st.DataObject) -> None:
    log = _log(times, rolled=rolled)
    records = list(enumerate(shift for each in times for shift in each))
    start = data.draw(st.integers(0, len(records)))
    log.delete_records(start)
    bases = [sum(map(len, times[:number])) for number in range(len(times) + 1)]
    upto = log.position_of(data.draw(st.sampled_from([base for base in bases if base >= start])))
    visible = [(offset, shift) for offset, shift in records if start <= offset < upto.offset]
    for shift in range(-31, 32):
        expected = next((offset for offset, each in visible if each >= shift), None)
        found = log.find_by_time(NOW_MS + shift, upto)
        assert (found.offset if found else None) == expected
    greatest = log.find_max_timestamp(upto)
    expected = min(visible, key=lambda record: (-record[1], record[0]))[0] if visible else None
    assert (greatest.offset if greatest else None) == expected
