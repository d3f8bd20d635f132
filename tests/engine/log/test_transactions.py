"""Transactions in a log: markers, what is undecided, what was aborted, and that it survives."""

import pytest

from engine.errors import InvalidProducerEpoch, InvalidRecord, InvalidTxnState, TransactionCoordinatorFenced
from engine.files.memory import MemoryFiles
from engine.log.aborted_index import AbortedTransaction
from engine.log.log import Log, LogConfig
from engine.log.segment_writer import SegmentWriter
from engine.log.transactions import EndedTransaction, EndMarker, build_marker, parse_marker
from engine.log.types import Origin
from engine.records.layout import CONTROL_FLAG, TRANSACTIONAL_FLAG, build_batch, parse_header
from tests.engine.logs import NOW_MS, batch, idempotent, memory_files, open_log, snapshot, sync

COMMIT, ABORT = EndMarker(True, 0), EndMarker(False, 0)
P, Q = 7, 8


def write(log: Log, producer_id: int = P, *, epoch: int = 0, sequence: int | None = None) -> int:
    known = [each.last_sequence for each in log.producers() if each.producer_id == producer_id and each.epoch == epoch]
    data = build_batch(
        [(b"k", b"v")],
        timestamp_ms=NOW_MS,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=(known[0] + 1 if known else 0) if sequence is None else sequence,
        attributes=TRANSACTIONAL_FLAG,
    )
    return log.append(data, 0).base_offset


def end(log: Log, marker: EndMarker, producer_id: int = P, *, epoch: int = 0) -> int:
    return log.append(build_marker(producer_id, epoch, marker, NOW_MS), 0, origin=Origin.COORDINATOR).base_offset


def reopened(log: Log, files: MemoryFiles) -> Log:
    sync(log)
    files.crash(None)
    return open_log(files)


# -- markers


@pytest.mark.parametrize("marker", [EndMarker(True, 3), EndMarker(False, 0)])
def test_a_marker_is_read_as_it_was_built(marker: EndMarker) -> None:
    data = build_marker(P, 5, marker, NOW_MS)
    header = parse_header(data)
    assert (header.is_control, header.is_transactional) == (True, True)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (P, 5, -1)
    assert parse_marker(header, data[61:]) == marker


def test_control_records_of_other_kinds_are_no_markers() -> None:
    data = build_batch([(b"\0\0\0\2", b"")], timestamp_ms=NOW_MS, attributes=CONTROL_FLAG)
    assert parse_marker(parse_header(data), data[61:]) is None


def test_a_control_record_that_is_cut_short_is_refused() -> None:
    data = build_batch([(b"\0\0", b"")], timestamp_ms=NOW_MS, producer_id=P, attributes=CONTROL_FLAG)
    with pytest.raises(InvalidRecord):
        open_log(memory_files()).append(data, 0, origin=Origin.COORDINATOR)


def test_clients_may_not_write_markers() -> None:
    with pytest.raises(InvalidRecord):
        open_log(memory_files()).append(build_marker(P, 0, COMMIT, NOW_MS), 0)


def test_who_watches_a_log_is_told_of_the_transactions_that_end_in_it() -> None:
    log, told = open_log(memory_files()), list[EndedTransaction]()
    for producer_id in (P, Q):
        write(log, producer_id)
    log.watch_ends(told.append)
    end(log, COMMIT)
    end(log, ABORT, 99)  # nothing was open
    end(log, ABORT, Q)
    log.unwatch_ends(told.append)
    write(log)
    end(log, COMMIT)
    assert told == [EndedTransaction(P, 0, 2, True), EndedTransaction(Q, 1, 4, False)]


def test_a_marker_is_stored_as_it_is_whatever_the_topic_compresses_or_allows() -> None:
    log = open_log(memory_files(), config=LogConfig(compression_type="zstd", max_message_bytes=50))
    end(log, COMMIT)
    (region,) = log.read(0, 1000, log.end, at_least_one=True).regions
    assert parse_marker(parse_header(region.read()), region.read()[61:]) == COMMIT


# -- who may write


def test_a_marker_raises_the_epoch_and_older_ones_are_refused() -> None:
    log = open_log(memory_files())
    write(log)
    end(log, ABORT, epoch=1)
    with pytest.raises(InvalidProducerEpoch):
        write(log, epoch=0, sequence=1)
    with pytest.raises(InvalidProducerEpoch):
        end(log, ABORT, epoch=0)
    assert write(log, epoch=1, sequence=0) == 2


def test_an_older_coordinator_is_fenced() -> None:
    log = open_log(memory_files())
    end(log, EndMarker(True, 5))
    with pytest.raises(TransactionCoordinatorFenced):
        end(log, EndMarker(True, 4))


def test_a_producer_writes_nothing_outside_of_its_open_transaction() -> None:
    log = open_log(memory_files())
    write(log)
    with pytest.raises(InvalidTxnState):
        log.append(idempotent(1, producer_id=P), 0)
    end(log, COMMIT)
    log.append(idempotent(1, producer_id=P), 0)


def test_sequences_go_on_over_the_end_of_a_transaction() -> None:
    log = open_log(memory_files())
    write(log)
    end(log, COMMIT)
    assert write(log, sequence=1) == 2
    assert log.append(idempotent_retry(), 0).duplicate


def idempotent_retry() -> bytes:
    return build_batch(
        [(b"k", b"v")],
        timestamp_ms=NOW_MS,
        producer_id=P,
        producer_epoch=0,
        base_sequence=1,
        attributes=TRANSACTIONAL_FLAG,
    )


# -- what is undecided


def test_the_earliest_open_transaction_counts() -> None:
    log = open_log(memory_files())
    assert log.first_undecided_offset is None
    log.append(batch(), 0)
    write(log, P)
    write(log, Q)
    assert log.first_undecided_offset == 1
    end(log, COMMIT, P)
    log.passed(log.end_offset)
    assert log.first_undecided_offset == 2
    end(log, ABORT, Q)
    log.passed(log.end_offset)
    assert log.first_undecided_offset is None


def test_a_marker_that_may_be_lost_decides_nothing() -> None:
    log = open_log(memory_files())
    write(log)
    marker = end(log, COMMIT)
    log.passed(marker)
    assert log.first_undecided_offset == 0
    log.passed(marker + 1)
    assert log.first_undecided_offset is None


def test_open_transactions_are_known_after_a_crash() -> None:
    files = memory_files()
    log = open_log(files)
    write(log, P)
    snapshot(log)
    write(log, Q)
    log = reopened(log, files)
    assert log.first_undecided_offset == 0
    assert log.has_open_transaction(P, 0)
    assert log.has_open_transaction(Q, 0)
    assert not log.has_open_transaction(Q, 1)
    end(log, COMMIT, P)
    log.passed(log.end_offset)
    assert log.first_undecided_offset == 1


def test_producers_with_an_open_transaction_are_shown_and_never_forgotten() -> None:
    log = open_log(memory_files(), config=LogConfig(producer_id_expiration_ms=0))
    write(log)
    log._producers.expire(NOW_MS + 10**9)
    assert [each.transaction_start_offset for each in log.producers()] == [0]
    end(log, EndMarker(False, 3))
    assert [(each.transaction_start_offset, each.coordinator_epoch) for each in log.producers()] == [(-1, 3)]


# -- what was aborted


def aborted(log: Log) -> list[AbortedTransaction]:
    return log.aborted_transactions(log.start_offset, log.end_offset)


def test_aborted_transactions_are_listed_and_others_not() -> None:
    log = open_log(memory_files())
    write(log, P)
    write(log, Q)
    end(log, COMMIT, P)
    end(log, ABORT, Q)
    end(log, ABORT, P)
    assert aborted(log) == [AbortedTransaction(Q, 1, 3, 4)]


def filled(files: MemoryFiles) -> Log:
    """Transactions that begin in one segment and end in another, one of them committed."""
    log = open_log(files)
    write(log, P)
    write(log, Q)
    end(log, ABORT, Q)
    log.roll()
    write(log, Q)
    end(log, ABORT, P)
    log.roll()
    end(log, COMMIT, Q)
    write(log, P)
    return log


EXPECTED = [AbortedTransaction(Q, 1, 2, 0), AbortedTransaction(P, 0, 4, 3)]


def test_they_survive_a_crash_without_and_with_snapshots() -> None:
    for with_snapshot in (False, True):
        files = memory_files()
        log = filled(files)
        if with_snapshot:
            snapshot(log)
        log = reopened(log, files)
        assert aborted(log) == EXPECTED
        assert log.first_undecided_offset == 6


def test_they_are_rebuilt_where_the_index_is_damaged() -> None:
    files = memory_files()
    log = filled(files)
    snapshot(log)
    sync(log)
    for segment in log.segments[:-1]:
        file = files.open(segment.index_path)
        file.write([b"\xff"], 3)
        file.sync()
    log = reopened(log, files)
    assert aborted(log) == EXPECTED


def test_they_go_with_what_is_truncated() -> None:
    files = memory_files()
    log = filled(files)
    snapshot(log)
    log.truncate_to(4)
    assert aborted(log) == EXPECTED[:1]
    assert log.first_undecided_offset == 0
    end(log, COMMIT, P)
    assert aborted(log) == EXPECTED[:1]


def test_they_go_with_their_segment() -> None:
    log = filled(memory_files())
    snapshot(log)
    log.delete_records(log.segments[1].base_offset)
    assert aborted(log) == EXPECTED[1:]


def test_they_move_into_segments_that_replace_others() -> None:
    files = memory_files()
    log = filled(files)
    snapshot(log)
    old = log.segments[:-1]
    assert log.can_replace(old)
    writer = SegmentWriter(files, log.directory, 0, NOW_MS)
    by_marker = {each.last_offset: each for each in EXPECTED}
    for segment in old:
        data = segment.file().pread(segment.size, 0)
        position = 0
        while position < len(data):
            header = parse_header(data, position)
            writer.append(header, [data[position : position + header.size]], by_marker.get(header.last_offset))
            position += header.size
    job = log.replace_segments(old, [writer.finish()])
    job.run()
    job.finish()
    assert job.error is None
    assert len(log.segments) == 2
    assert aborted(log) == EXPECTED
    assert aborted(reopened(log, files)) == EXPECTED


def test_a_bound_on_what_was_read_is_found_by_the_index() -> None:
    log = open_log(memory_files(), config=LogConfig(index_interval_bytes=100))
    for _ in range(20):
        log.append(batch(), 0)
    assert log.offset_bound(0, 1, log.end) <= 4
    assert log.offset_bound(0, 10**6, log.end) == 20


def test_a_bound_on_what_was_read_of_the_last_batches_is_exact() -> None:
    log = open_log(memory_files())
    for _ in range(20):
        log.append(batch(), 0)
    size = len(batch())
    assert log.offset_bound(5, 2 * size, log.end) == 7
    assert log.offset_bound(5, 2 * size + 1, log.end) == 8
    assert log.offset_bound(19, size, log.end) == 20
