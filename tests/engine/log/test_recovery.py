"""Recovery: a torn tail is cut, damage is found, nothing before the recovery point is read."""

import pytest

from engine.errors import BrokerError, CorruptMessage, StorageError
from engine.files.memory import MemoryFiles
from engine.log.log import Log, LogConfig
from engine.log.recovery import START_FILE, read_start_offset, write_start_offset
from engine.log.types import LogExtent
from engine.records.layout import checksum, split_batches
from tests.engine.logs import (
    DIRECTORY,
    batch,
    idempotent,
    maintain,
    memory_files,
    open_log,
    read_all,
    read_at,
    snapshot,
    stored,
    sync,
)

LARGE = LogConfig()
SMALL = LogConfig(segment_bytes=500, index_interval_bytes=100)


def _path(name: str) -> str:
    return f"{DIRECTORY}/{name}"


def _filled(count: int = 8, *, snapshot_at: int = 4, config: LogConfig = LARGE) -> tuple[MemoryFiles, Log]:
    files = memory_files()
    log = open_log(files, config=config)
    for number in range(count):
        if number == snapshot_at:
            snapshot(log)
        log.append(idempotent(number * 2, 2), 0)
    sync(log)
    return files, log


def test_only_what_lies_past_the_recovery_point_is_read() -> None:
    files, log = _filled()
    recovered = open_log(files)
    assert recovered.recovery.scanned_bytes == log.size_bytes // 2
    assert recovered.recovery.snapshot_offset == 8
    assert recovered.end == log.end


def test_the_time_does_not_grow_with_the_log() -> None:
    calls = []
    for count in (60, 600):
        files, log = _filled(count, snapshot_at=-1, config=SMALL)
        maintain(log)
        log.append(idempotent(count * 2), 0)
        sync(log)
        files.fail_at(10**9, 5)
        assert open_log(files, config=SMALL).end_offset == count * 2 + 1
        calls.append(files.calls)
        assert log.end_offset == count * 2 + 1
    assert calls[0] == calls[1]


def test_a_tail_cut_at_any_byte_leaves_the_whole_batches() -> None:
    """For the last four batches, which lie past the recovery point."""
    for lost in range(1, 4 * 77):
        files, log = _filled()
        end, size = log.end.position, log.size_bytes // 8
        lost = min(lost, 4 * size)
        file = files.open(log.segments[0].path)
        file.truncate(end - lost)
        recovered = open_log(files)
        whole = 8 - -(-lost // size)
        assert read_all(recovered) == read_all(log)[:whole]
        assert recovered.recovery.cut_bytes == (-lost) % size
        assert recovered.end_offset == whole * 2
        assert recovered.append(idempotent(whole * 2, 2), 0).base_offset == whole * 2


def test_zeros_behind_the_end_are_cut() -> None:
    files, log = _filled()
    files.open(log.segments[0].path).truncate(log.size_bytes + 5000)
    recovered = open_log(files)
    assert recovered.recovery.cut_bytes == 5000
    assert recovered.end == log.end


def test_a_flipped_bit_anywhere_past_the_recovery_point_ends_the_log_before_it() -> None:
    _, log = _filled()
    batches, size = read_all(log), log.size_bytes // 8
    for position in range(4 * size, 8 * size):
        # The leader epoch alone is outside of the checksum and of what recovery can know.
        if 12 <= position % size < 16:
            continue
        damaged, _ = _filled()
        damaged.flip_bit(log.segments[0].path, position, position % 8)
        recovered = open_log(damaged)
        assert read_all(recovered) == batches[: position // size]


def test_damage_before_the_recovery_point_never_passes_for_right() -> None:
    _, log = _filled()
    batches, size = read_all(log), log.size_bytes // 8
    for position in range(4 * size):
        if 12 <= position % size < 16:
            continue
        damaged, _ = _filled()
        damaged.flip_bit(log.segments[0].path, position, position % 8)
        recovered = open_log(damaged)
        try:
            found = read_all(recovered)
        except BrokerError:
            continue
        for data in found:
            if data not in batches:
                ((header, view),) = split_batches(data)
                assert checksum(view) != header.crc or header.base_offset != position // size * 2


@pytest.mark.parametrize("suffix", [".index", ".snapshot", "leader-epochs"])
def test_damaged_helpers_are_rebuilt_or_passed_over(suffix: str) -> None:
    files, log = _filled(30, snapshot_at=20, config=SMALL)
    maintain(log)
    log.append(idempotent(60), 0)
    log.begin_epoch(4)
    sync(log)
    expected = read_all(log)
    names = [name for name in files.list(DIRECTORY) if name.endswith(suffix)]
    assert names
    for name in names:
        for position in range(0, files.list(DIRECTORY)[name], 7):
            files.flip_bit(_path(name), position, position % 8)
        recovered = open_log(files, config=SMALL)
        assert read_all(recovered) == expected
        assert recovered.append(idempotent(60), 0).duplicate


def test_missing_helpers_are_rebuilt() -> None:
    files, log = _filled(30, snapshot_at=20, config=SMALL)
    maintain(log)
    for name in list(files.list(DIRECTORY)):
        if not name.endswith(".log"):
            files.unlink(_path(name))
    recovered = open_log(files, config=SMALL)
    assert read_all(recovered) == read_all(log)
    assert recovered.recovery.snapshot_offset == -1
    assert recovered.append(idempotent(58, 2), 0).duplicate


def test_without_the_newest_snapshot_an_older_one_serves() -> None:
    files, log = _filled(8, snapshot_at=2)
    snapshot(log)
    files.unlink(_path("00000000000000000016.snapshot"))
    recovered = open_log(files)
    assert recovered.recovery.snapshot_offset == 4
    assert recovered.end == log.end


def test_producers_are_known_after_recovery_from_snapshot_and_tail() -> None:
    files, _ = _filled()
    recovered = open_log(files)
    for number in range(3, 8):
        assert recovered.append(idempotent(number * 2, 2), 0).duplicate
    assert not recovered.append(idempotent(16), 0).duplicate


def test_segments_behind_a_cut_are_dropped() -> None:
    files, log = _filled(30, snapshot_at=-1, config=SMALL)
    first = log.segments[1]
    files.flip_bit(first.path, 70)
    recovered = open_log(files, config=SMALL)
    assert recovered.recovery.dropped_segments == len(log.segments) - 2
    assert recovered.end_offset == first.base_offset
    assert recovered.append(batch(), 0).base_offset == first.base_offset


def test_a_synced_and_sealed_segment_is_never_cut() -> None:
    files, log = _filled(30, snapshot_at=-1, config=SMALL)
    maintain(log)
    for name in list(files.list(DIRECTORY)):
        if name.endswith(".snapshot"):
            files.unlink(_path(name))
    path = log.segments[1].path
    files.flip_bit(path, 70)
    assert open_log(files, config=SMALL).end_offset == 60
    files.flip_bit(path, 8, 6)
    with pytest.raises(StorageError, match="sealed and synced"):
        open_log(files, config=SMALL)


def test_a_log_that_ends_before_its_start_is_refused() -> None:
    files, _ = _filled()
    write_start_offset(files, DIRECTORY, 1000)
    with pytest.raises(StorageError, match="durable records are missing"):
        open_log(files)


def test_a_damaged_start_offset_is_refused() -> None:
    files, log = _filled()
    log.delete_records(3)
    assert read_start_offset(files, DIRECTORY) == 3
    files.flip_bit(_path(START_FILE), 7)
    with pytest.raises(StorageError, match="is damaged"):
        open_log(files)


def test_leftovers_are_cleared_away() -> None:
    files, _ = _filled()
    for name in ("x.tmp", "00000000000000000000.log.cleaned", "00000000000000000999.index"):
        files.open(_path(name), create=True)
    open_log(files)
    assert not [name for name in files.list(DIRECTORY) if name.endswith((".tmp", ".cleaned")) or "999" in name]


def test_an_io_error_while_opening_is_a_storage_error() -> None:
    files, _ = _filled()
    files.fail_at(2, 5, times=1000)
    with pytest.raises(StorageError, match="cannot be opened"):
        open_log(files)


def _with_unbegun(content: bytes = b"", *, rolled: bool = False) -> tuple[MemoryFiles, Log]:
    """A log of which a segment was begun at offset 10 and never written to; the one before it went on to 13."""
    files = memory_files()
    log = open_log(files)
    log.append(batch(10), 0)
    file = files.open(_path("00000000000000000010.log"), create=True)
    file.write([content], 0)
    log.append(batch(3), 0)
    if rolled:
        log.roll()
        log.append(batch(2), 0)
        sync(log)
        snapshot(log)
    sync(log)
    return files, log


UNBEGUN = [
    pytest.param(b"", id="empty"),
    pytest.param(stored(batch(), 10, 0)[:50], id="torn"),
    pytest.param(stored(batch(), 10, 0), id="whole"),
]


@pytest.mark.parametrize("content", UNBEGUN)
@pytest.mark.parametrize("rolled", [False, True])
def test_a_segment_that_was_never_written_to_hides_and_ends_nothing(content: bytes, rolled: bool) -> None:
    files, log = _with_unbegun(content, rolled=rolled)
    for clean in (False, True):
        again = open_log(files, clean=clean)
        assert read_all(again) == read_all(log)
        assert again.end == log.end
    kept = [name for name in files.list(DIRECTORY) if name.endswith(".set-aside")]
    assert len(kept) == again.recovery.set_aside_files == (1 if content else 0)
    assert again.recovery.set_aside_bytes == len(content)


@pytest.mark.parametrize("content", UNBEGUN)
def test_a_start_offset_does_not_remove_what_such_a_segment_overlaps(content: bytes) -> None:
    files, log = _with_unbegun(content, rolled=True)
    write_start_offset(files, DIRECTORY, 11)
    recovered = open_log(files)
    assert recovered.start_offset == 11
    assert read_all(recovered) == read_all(log)[1:]


def test_what_is_cut_off_and_may_hold_records_is_kept() -> None:
    files, log = _filled()
    size = log.size_bytes // 8
    rest = files.open(log.segments[0].path).pread(log.size_bytes, 5 * size)
    files.flip_bit(log.segments[0].path, 5 * size + 30)
    recovered = open_log(files)
    assert recovered.end_offset == 10
    (kept,) = (name for name in files.list(DIRECTORY) if name.endswith(".set-aside"))
    content = files.open(_path(kept)).pread(1 << 20, 0)
    assert content[size:] == rest[size:]
    assert recovered.recovery.set_aside_bytes == len(rest)


def test_segments_behind_a_cut_are_kept_under_another_name() -> None:
    files, log = _filled(30, snapshot_at=-1, config=SMALL)
    files.flip_bit(log.segments[1].path, 70)
    sizes = [segment.size for segment in log.segments[2:]]
    open_log(files, config=SMALL)
    names = files.list(DIRECTORY)
    assert [names[f"{segment.base_offset:020d}.log.set-aside"] for segment in log.segments[2:]] == sizes


def test_a_log_that_is_shorter_than_its_snapshot_says_is_refused_every_time() -> None:
    files, log = _filled()
    log.close(clean=True)
    path = log.segments[0].path
    files.open(path).truncate(log.size_bytes - 1)
    for clean in (True, False, False):
        with pytest.raises(StorageError, match=r"was durable up to 16: durable records are missing.*16\.snapshot"):
            open_log(files, clean=clean)
    files.flip_bit(_path("00000000000000000016.snapshot"), 40)
    with pytest.raises(StorageError, match="durable records are missing"):
        open_log(files)
    files.unlink(_path("00000000000000000016.snapshot"))
    assert open_log(files).end_offset == 14


def test_a_log_that_holds_less_than_the_last_broker_left_is_refused() -> None:
    files, log = _filled(30, snapshot_at=20, config=SMALL)
    log.close(clean=True)
    left = log.extent
    assert open_log(files, config=SMALL, clean=True, left=left).end_offset == 60
    for name in [name for name in files.list(DIRECTORY) if name.endswith(".snapshot")]:
        files.unlink(_path(name))
    path = log.segments[3].path
    content = files.open(path).pread(log.segments[3].size, 0)
    files.unlink(path)
    with pytest.raises(StorageError, match=r"records are missing.*clean-shutdown"):
        open_log(files, config=SMALL, clean=True, left=left)
    files.open(path, create=True).write([content], 0)
    assert open_log(files, config=SMALL, clean=True, left=left).end_offset == 60
    with pytest.raises(StorageError, match=r"held \d+ in \d+: records are missing"):
        open_log(memory_files(), clean=True, left=left)
    with pytest.raises(StorageError, match="ended at 61: records are missing"):
        open_log(files, config=SMALL, clean=True, left=LogExtent(61, left.segments, left.size_bytes))


def test_a_wrong_offset_is_told_by_its_neighbours_wherever_the_batch_lies() -> None:
    """The checksum does not cover it, and after a clean stop nothing is read before it is served."""
    for number in range(8):
        files, log = _filled()
        log.close(clean=True)
        size = log.size_bytes // 8
        for bit in (0, 3, 7):
            files.flip_bit(log.segments[0].path, number * size + 7, bit)
            recovered = open_log(files, clean=True)
            with pytest.raises(CorruptMessage):
                read_all(recovered)
            files.flip_bit(log.segments[0].path, number * size + 7, bit)
        assert read_all(open_log(files, clean=True)) == read_all(log)


def test_a_missing_segment_is_not_passed_over() -> None:
    files, log = _filled(30, snapshot_at=29, config=SMALL)
    gone = log.segments[2]
    files.unlink(gone.path)
    recovered = open_log(files, config=SMALL)
    with pytest.raises(CorruptMessage, match=f"{gone.base_offset} is missing"):
        read_at(recovered, gone.base_offset)


def test_missing_first_segments_are_told(caplog: pytest.LogCaptureFixture) -> None:
    files, log = _filled(30, snapshot_at=29, config=SMALL)
    open_log(files, config=SMALL)
    log.delete_records(log.segments[1].base_offset)
    open_log(files, config=SMALL)
    assert not caplog.records
    first = log.segments[1].base_offset
    files.unlink(log.segments[0].path)
    recovered = open_log(files, config=SMALL)
    assert recovered.start_offset == first
    assert f"begins at offset {first} and should at {log.start_offset}: durable records are missing" in caplog.text
