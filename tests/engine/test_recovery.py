"""Recovery: a torn tail is cut, damage is found, nothing before the recovery point is read."""

import pytest

from engine.errors import BrokerError, StorageError
from engine.log import Log, LogConfig
from engine.memory_files import MemoryFiles
from engine.records import checksum, split_batches
from engine.recovery import START_FILE, read_start_offset, write_start_offset
from tests.engine.logs import (
    DIRECTORY,
    batch,
    idempotent,
    maintain,
    memory_files,
    open_log,
    read_all,
    snapshot,
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
