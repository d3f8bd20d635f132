"""The log as its users see it: appending, reading, durability, deletion, failures of the disk."""

import errno

import pytest

from engine.clock import ManualClock
from engine.errors import (
    BrokerError,
    CorruptMessage,
    InvalidRecord,
    OffsetOutOfRange,
    OutOfOrderSequence,
    RecordListTooLarge,
    StorageError,
)
from engine.files.memory import MemoryFiles
from engine.log.log import Log, LogConfig, LogPosition, Origin
from engine.records.layout import parse_header
from tests.engine.logs import (
    DIRECTORY,
    NOW_MS,
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

SMALL = LogConfig(segment_bytes=500, index_interval_bytes=100)


def _filled(files: MemoryFiles, count: int = 20, config: LogConfig = SMALL) -> Log:
    log = open_log(files, config=config)
    for number in range(count):
        log.append(batch(2, timestamp_ms=NOW_MS + number), 0)
    return log


# --- appending


def test_nothing_is_created_before_the_first_append() -> None:
    files = memory_files()
    log = open_log(files)
    assert (log.start_offset, log.end_offset, log.size_bytes) == (0, 0, 0)
    assert log.end == LogPosition(0, 0, 0)
    assert files.list(DIRECTORY) == {}
    log.append(batch(), 0)
    assert list(files.list(DIRECTORY)) == ["00000000000000000000.log"]


def test_offsets_follow_one_another_and_the_bytes_are_the_clients() -> None:
    log = open_log(memory_files())
    first, second = batch(3), batch(2)
    assert log.append(first, 7).base_offset == 0
    result = log.append(second, 7)
    assert (result.base_offset, result.last_offset, result.append_time_ms, result.start_offset) == (3, 4, -1, 0)
    assert read_all(log) == [stored(first, 0, 7), stored(second, 3, 7)]
    assert log.end == LogPosition(5, 0, len(first) + len(second))
    assert log.size_bytes == len(first) + len(second)


def test_several_batches_are_appended_at_once() -> None:
    log = open_log(memory_files())
    result = log.append(batch(3) + batch(2), 0)
    assert (result.base_offset, result.last_offset) == (0, 4)
    assert [parse_header(data).base_offset for data in read_all(log)] == [0, 3]


def test_one_bad_batch_refuses_all() -> None:
    log = open_log(memory_files())
    bad = bytearray(batch(2))
    bad[-1] ^= 1
    with pytest.raises(CorruptMessage):
        log.append(batch(3) + bytes(bad), 0)
    assert log.end_offset == 0


def test_no_batch_at_all_is_refused() -> None:
    with pytest.raises(InvalidRecord):
        open_log(memory_files()).append(b"", 0)


def test_append_time_is_told() -> None:
    log = open_log(memory_files(), config=LogConfig(timestamp_type="LogAppendTime"))
    assert log.append(batch(timestamp_ms=5), 0).append_time_ms == NOW_MS


def test_a_retry_is_answered_like_the_original() -> None:
    log = open_log(memory_files())
    log.append(idempotent(0, 2), 0)
    log.append(idempotent(2, 3), 0)
    size = log.size_bytes
    again = log.append(idempotent(0, 2), 0)
    assert (again.base_offset, again.last_offset, again.duplicate) == (0, 1, True)
    assert log.size_bytes == size
    with pytest.raises(OutOfOrderSequence):
        log.append(idempotent(9), 0)
    assert [info.last_sequence for info in log.producers()] == [4]


def test_a_replica_keeps_offsets_epochs_and_gaps() -> None:
    log = open_log(memory_files())
    log.append(stored(batch(2), 5, 3) + stored(batch(1), 10, 4), -1, origin=Origin.REPLICA)
    assert log.end_offset == 11
    assert [parse_header(read_at(log, offset)).base_offset for offset in (5, 6, 7, 10)] == [5, 5, 10, 10]
    assert log.end_offset_for_epoch(3) == (3, 10)
    with pytest.raises(OffsetOutOfRange):
        log.append(stored(batch(1), 10, 4), -1, origin=Origin.REPLICA)


def test_a_replicas_gaps_survive_a_crash() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(stored(batch(2), 5, 3) + stored(batch(1), 10, 4), -1, origin=Origin.REPLICA)
    sync(log)
    files.crash()
    assert open_log(files).end_offset == 11


def test_it_rolls_by_bytes() -> None:
    log = _filled(memory_files())
    assert len(log.segments) > 3
    assert all(segment.size <= 500 for segment in log.segments)
    assert log.size_bytes == sum(segment.size for segment in log.segments)


def test_it_rolls_by_time() -> None:
    log = open_log(memory_files(), config=LogConfig(segment_ms=1000))
    for shift in (0, 1000, 1001):
        log.append(batch(timestamp_ms=NOW_MS + shift), 0)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    log = open_log(memory_files(), config=SMALL)
    with pytest.raises(RecordListTooLarge):
        log.append(batch(size=500), 0)


@pytest.mark.parametrize("origin", [Origin.RELEASE, Origin.COORDINATOR])
def test_what_the_broker_itself_appends_always_fits_by_a_segment_of_its_own(origin: Origin) -> None:
    files = memory_files()
    log = open_log(files, config=SMALL)
    for size in (10, 2_000, 10):
        log.append(batch(size=size), 0, origin=origin)
    assert [segment.base_offset for segment in log.segments] == [0, 1, 2]
    assert open_log(files, config=SMALL).end_offset == 3


def test_a_roll_of_an_empty_segment_does_nothing() -> None:
    log = _filled(memory_files(), 1)
    log.roll()
    log.roll()
    assert [segment.base_offset for segment in log.segments] == [0, 2]
    assert log.end == LogPosition(2, 2, 0)


def test_the_config_may_change_while_it_runs() -> None:
    log = _filled(memory_files(), 1, LogConfig())
    log.config = LogConfig(max_message_bytes=10)
    with pytest.raises(BrokerError):
        log.append(batch(), 0)


# --- reading


def test_every_offset_is_found_in_every_segment() -> None:
    log = _filled(memory_files())
    sync(log)
    maintain(log)
    for offset in range(40):
        assert parse_header(read_at(log, offset)).base_offset == offset // 2 * 2


def test_a_read_takes_as_many_bytes_as_allowed() -> None:
    log = _filled(memory_files(), 3, LogConfig())
    size = log.size_bytes // 3
    assert len(read_at(log, 0, size * 2 + 5)) == size * 2 + 5
    assert len(read_at(log, 3, 10_000)) == size * 2


def test_the_first_batch_is_whole_only_if_asked_for() -> None:
    log = _filled(memory_files(), 3, LogConfig())
    assert log.read(0, 10, log.end, at_least_one=False).size == 10
    assert log.read(0, 10, log.end, at_least_one=True).size == log.size_bytes // 3
    assert log.read(0, 0, log.end, at_least_one=False).size == 0


def test_a_read_never_goes_past_the_given_end() -> None:
    log = _filled(memory_files())
    for offset in range(0, 40, 2):
        upto = log.position_of(offset)
        total, at = 0, 0
        while at < offset:
            found = log.read(at, 10_000, upto, at_least_one=True)
            data = found.regions[0].read()
            last = 0
            while last < len(data):
                header = parse_header(data, last)
                at = header.next_offset
                last += header.size
            total += len(data)
        assert at == offset
        assert log.read(offset, 10_000, upto, at_least_one=True).size == 0
        with pytest.raises(OffsetOutOfRange):
            log.read(offset + 1, 10_000, upto, at_least_one=True)


def test_offsets_outside_are_out_of_range() -> None:
    log = _filled(memory_files())
    for offset in (-1, 41):
        with pytest.raises(OffsetOutOfRange):
            log.read(offset, 1, log.end, at_least_one=True)


def test_an_answer_is_still_readable_after_its_segment_was_deleted() -> None:
    log = _filled(memory_files())
    sync(log)
    region = log.read(0, 1, log.end, at_least_one=True).regions[0]
    log.delete_records(30)
    assert parse_header(region.read()).base_offset == 0
    assert region.fileno() is None


def test_a_read_error_is_a_storage_error() -> None:
    files = memory_files()
    log = _filled(files)
    files.fail_at(1, errno.EIO, times=100)
    with pytest.raises(StorageError):
        read_at(log, 0)


# --- durability


def test_a_ticket_covers_what_was_written_before_it_was_drawn() -> None:
    files = memory_files()
    log = _filled(files)
    assert log.dirty
    ticket = log.capture_sync()
    end = log.end
    log.append(batch(), 0)
    ticket.run()
    log.synced(ticket)
    assert log.durable_end == end
    assert log.dirty
    files.crash()
    again = open_log(files, config=SMALL)
    assert again.end_offset == end.offset
    assert not again.dirty


def test_an_older_ticket_does_not_move_the_durable_end_back() -> None:
    log = _filled(memory_files(), 2)
    old = log.capture_sync()
    log.append(batch(), 0)
    sync(log)
    old.run()
    log.synced(old)
    assert log.durable_end == log.end


def test_after_a_failed_sync_nothing_is_appended_until_it_is_verified() -> None:
    files = memory_files()
    log = _filled(files, 3)
    sync(log)
    log.append(batch(2), 0)
    files.fail_at(1, errno.EIO, only=frozenset({"sync"}))
    ticket = log.capture_sync()
    with pytest.raises(OSError):
        ticket.run()
    log.sync_failed()
    with pytest.raises(StorageError, match="offline"):
        log.append(batch(), 0)
    assert len(read_all(log)) == 4
    log.reverify()
    assert log.offline is None
    files.crash()
    assert len(read_all(open_log(files, config=SMALL))) == 4


def test_it_stays_offline_while_the_disk_fails() -> None:
    files = memory_files()
    log = _filled(files, 3)
    log.sync_failed()
    files.fail_at(1, errno.EIO, times=1000, only=frozenset({"sync"}))
    with pytest.raises(StorageError):
        log.reverify()
    assert log.offline is not None
    files.stop_failing()
    log.reverify()
    log.append(batch(), 0)


# --- failures while writing


def test_a_full_disk_refuses_and_writing_resumes_when_there_is_room() -> None:
    files = memory_files()
    log = _filled(files, 3, LogConfig())
    end = log.end
    files.capacity_bytes = files.used_bytes() + 10
    with pytest.raises(StorageError):
        log.append(batch(), 0)
    assert log.end == end
    assert len(read_all(log)) == 3
    files.capacity_bytes = None
    assert log.append(batch(), 0).base_offset == end.offset
    assert len(read_all(log)) == 4


def test_a_write_that_cannot_be_undone_takes_the_log_offline_until_it_is_verified() -> None:
    files = memory_files()
    log = _filled(files, 3, LogConfig())
    files.fail_at(1, errno.EIO, times=2)
    with pytest.raises(StorageError):
        log.append(batch(), 0)
    with pytest.raises(StorageError, match="offline"):
        log.append(batch(), 0)
    log.reverify()
    assert log.append(batch(), 0).base_offset == 6


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_failure_of_any_file_call_loses_nothing_that_was_promised(number: int) -> None:
    for call in range(1, 200):
        files = memory_files()
        log = open_log(files, config=SMALL)
        promised = 0
        files.fail_at(call, number)
        try:
            for round_number in range(6):
                log.append(batch(2), 0)
                log.append(batch(1, size=200), 0)
                sync(log)
                promised = log.durable_end.offset
                maintain_or_fail(log)
                if round_number == 3:
                    log.delete_records(5)
        except (BrokerError, OSError):
            log.sync_failed()
        failed = files.calls >= call
        files.crash()
        again = open_log(files, config=SMALL)
        assert again.end_offset >= promised
        assert again.start_offset <= 5
        again.append(batch(), 0)
        if not failed:
            return
    raise AssertionError("the run makes more calls than were tried")


def maintain_or_fail(log: Log) -> None:
    for job in log.maintenance():
        job.run()
        job.finish()
    if log.offline:
        raise StorageError(log.offline)


# --- leader epochs


def test_epochs_end_where_the_next_begins() -> None:
    log = open_log(memory_files())
    for epoch in (1, 1, 3):
        log.append(batch(2), epoch)
    assert log.latest_epoch == 3
    assert log.end_offset_for_epoch(1) == (1, 4)
    assert log.end_offset_for_epoch(2) == (1, 4)
    assert log.end_offset_for_epoch(3) == (3, 6)
    assert log.end_offset_for_epoch(4) == (-1, -1)


def test_an_epoch_that_wrote_nothing_is_remembered() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(batch(2), 1)
    sync(log)
    log.begin_epoch(5)
    files.crash()
    assert open_log(files).end_offset_for_epoch(5) == (5, 2)


def test_epochs_survive_recovery() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(batch(2), 1)
    snapshot(log)
    log.append(batch(2), 2)
    sync(log)
    files.crash()
    again = open_log(files)
    assert again.end_offset_for_epoch(1) == (1, 2)
    assert again.end_offset_for_epoch(2) == (2, 4)


# --- deleting and truncating


def test_deleted_records_stay_deleted() -> None:
    files = memory_files()
    log = _filled(files)
    sync(log)
    segments = len(log.segments)
    assert log.delete_records(21) == 21
    assert len(log.segments) < segments
    with pytest.raises(OffsetOutOfRange):
        log.read(20, 1, log.end, at_least_one=True)
    assert parse_header(read_at(log, 21)).base_offset == 20
    files.crash()
    again = open_log(files, config=SMALL)
    assert again.start_offset == 21
    assert again.end_offset == 40


def test_the_start_never_goes_back_nor_past_the_end() -> None:
    log = _filled(memory_files())
    log.delete_records(20)
    assert log.delete_records(10) == 20
    with pytest.raises(OffsetOutOfRange):
        log.delete_records(41)


def test_everything_may_be_deleted_and_the_end_stays() -> None:
    files = memory_files()
    log = _filled(files)
    log.roll()
    log.delete_records(40)
    assert log.size_bytes == 0
    files.crash()
    again = open_log(files, config=SMALL)
    assert (again.start_offset, again.end_offset) == (40, 40)
    assert again.append(batch(), 0).base_offset == 40


def test_retention_drops_segments_from_the_front() -> None:
    log = _filled(memory_files())
    gone = log.segments[:2]
    job = log.delete_segments_job(gone)
    job.run()
    job.finish()
    assert log.start_offset == log.segments[0].base_offset
    assert gone[0] not in log.segments


def test_a_failed_deletion_changes_nothing() -> None:
    files = memory_files()
    log = _filled(files)
    sync(log)
    files.fail_at(1, errno.EIO, only=frozenset({"rename"}))
    with pytest.raises(StorageError):
        log.delete_records(20)
    assert log.start_offset == 0
    assert parse_header(read_at(log, 0)).base_offset == 0


def test_a_truncated_log_goes_on_from_there() -> None:
    files = memory_files()
    log = _filled(files)
    sync(log)
    maintain(log)
    log.truncate_to(14)
    assert log.end_offset == 14
    assert log.append(batch(2), 1).base_offset == 14
    sync(log)
    files.crash()
    again = open_log(files, config=SMALL)
    assert again.end_offset == 16
    assert len(read_all(again)) == 8


def test_truncation_forgets_producers_and_epochs_of_what_it_cut() -> None:
    log = open_log(memory_files())
    for number in range(4):
        log.append(idempotent(number), number)
    snapshot(log)
    log.truncate_to(2)
    assert log.latest_epoch == 1
    assert not log.append(idempotent(2), 5).duplicate


def test_a_log_may_be_emptied_to_start_elsewhere() -> None:
    files = memory_files()
    log = _filled(files)
    sync(log)
    log.truncate_fully_and_start_at(1000)
    assert (log.start_offset, log.end_offset) == (1000, 1000)
    files.crash()
    again = open_log(files)
    assert again.append(batch(), 0).base_offset == 1000


def test_truncation_beyond_the_end_does_nothing_and_below_the_start_is_refused() -> None:
    log = _filled(memory_files())
    log.truncate_to(100)
    assert log.end_offset == 40
    log.delete_records(10)
    with pytest.raises(OffsetOutOfRange):
        log.truncate_to(9)


# --- closing and removing


def test_after_a_clean_close_opening_reads_no_records() -> None:
    files = memory_files()
    log = _filled(files)
    log.close(clean=True)
    with pytest.raises(StorageError, match="closed"):
        log.append(batch(), 0)
    again = open_log(files, config=SMALL, clean=True)
    assert again.recovery.scanned_bytes == 0
    assert again.end == log.end


def test_removal_may_be_repeated() -> None:
    files = memory_files()
    log = _filled(files)
    log.remove()
    log.remove()
    assert files.list(DIRECTORY) == {}


def test_producers_expire_with_the_clock() -> None:
    clock = ManualClock(NOW_MS)
    log = open_log(memory_files(), clock=clock, config=LogConfig(producer_id_expiration_ms=1000))
    log.append(idempotent(0), 0)
    clock.advance_ms(1000)
    assert not log.append(idempotent(77), 0).duplicate
