"""A log that follows another node's: batches as they are, segments where the leader has them, and cuts that leave
nothing behind."""

import errno

import pytest

from engine.errors import CorruptMessage, OffsetOutOfRange, StorageError
from engine.log.log import Log, LogConfig
from engine.log.types import Origin
from tests.engine.logs import batch, idempotent, memory_files, open_log, read_all, snapshot, stored, sync


def leader_log(*batches: bytes, epoch: int = 1) -> Log:
    log = open_log(memory_files())
    for each in batches:
        log.append(each, epoch)
    return log


def bases_of(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_batches_are_appended_as_they_are() -> None:
    source = leader_log(batch(2), idempotent(0), batch(), epoch=3)
    log = open_log(memory_files())
    sent = b"".join(read_all(source))
    assert log.follow(sent + sent[:30]) == len(sent), "a part of a batch at the end does not count"
    assert read_all(log) == read_all(source)
    assert (log.end_offset, log.latest_epoch, log.epoch_at(1)) == (4, 3, 3)
    assert [info.last_sequence for info in log.producers()] == [0]


def test_what_was_damaged_on_its_way_or_comes_twice_is_refused() -> None:
    sent = read_all(leader_log(batch(), batch()))
    log = open_log(memory_files())
    damaged = bytearray(sent[0])
    damaged[-1] ^= 1
    for bad in (bytes(damaged), sent[0][:20]):
        with pytest.raises(CorruptMessage):
            log.follow(bad)
    log.follow(sent[0])
    with pytest.raises(OffsetOutOfRange):
        log.follow(sent[0])
    assert log.end_offset == 1


def test_segments_begin_where_the_leader_has_them() -> None:
    source = leader_log(batch(), batch(), batch())
    first, second, third = read_all(source)
    log = open_log(memory_files())
    log.follow(first, 0)
    log.follow(second, 1)
    log.follow(third, 1)
    assert bases_of(log) == [0, 1]
    with pytest.raises(StorageError, match="begins at 2"):
        log.follow(stored(batch(), 3, 1), 2)


def test_a_cut_where_a_segment_began_lets_the_leader_say_whether_one_does() -> None:
    for leaders_segment, bases in ((0, [0]), (2, [0, 2])):
        log = open_log(memory_files())
        log.follow(b"".join(read_all(leader_log(batch(), batch()))), 0)
        sync(log)
        log.roll()
        log.append(batch(), 2)
        sync(log)
        log.truncate_to(2)
        log.follow(stored(batch(), 2, 3), leaders_segment)
        assert bases_of(log) == bases
        sync(log)


def test_a_segment_that_was_begun_in_vain_is_given_up_where_the_leader_has_none() -> None:
    first, second, third = read_all(leader_log(batch(), batch(), batch()))
    log = open_log(memory_files())
    log.follow(first + second, 0)
    log.roll()
    sync(log)
    assert log.has_empty_end(0)
    assert not log.has_empty_end(2), "the leader has it too"
    log.drop_empty_end()
    assert (log.end_offset, bases_of(log), log.has_empty_end(0)) == (2, [0], False)
    log.follow(third, 0)
    assert (log.end_offset, bases_of(log)) == (3, [0])


def test_a_cut_is_undone_in_everything_that_describes_it() -> None:
    files = memory_files()
    log = open_log(files)
    for number in range(6):
        log.append(idempotent(number), 1 + number // 3)
    sync(log)
    snapshot(log)
    log.truncate_to(2)
    assert (log.end_offset, log.latest_epoch, log.durable_end.offset) == (2, 1, 2)
    assert [info.last_sequence for info in log.producers()] == [1]
    again = open_log(files)
    assert (again.end_offset, again.latest_epoch) == (2, 1)
    assert list(again.producers()) == list(log.producers())


def test_an_epoch_in_which_this_node_led_in_vain_is_not_that_of_what_it_copied_later() -> None:
    """The next leader had batches of an older epoch there. Whose they are is asked when the two logs are compared."""
    files = memory_files()
    log = open_log(files)
    log.append(batch(), 1)
    sync(log)
    log.begin_epoch(3)
    log.follow(stored(batch(), 1, 2))
    log.follow(stored(batch(), 2, 2))
    sync(log)
    assert [log.epoch_at(offset) for offset in range(3)] == [1, 2, 2]
    again = open_log(files)
    assert [again.epoch_at(offset) for offset in range(3)] == [1, 2, 2]
    assert again.end_offset_for_epoch(2) == (2, 3)


def test_an_epoch_that_goes_on_after_another_was_noted_keeps_its_beginning() -> None:
    log = open_log(memory_files())
    for epoch in (1, 2, 2):
        log.append(batch(), epoch)
    log.begin_epoch(3)
    log.follow(stored(batch(), 3, 2))
    assert log.end_offset_for_epoch(1) == (1, 1)
    assert log.end_offset_for_epoch(2) == (2, 4)


def test_an_epoch_that_wrote_nothing_is_remembered_at_the_end() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(batch(), 1)
    sync(log)
    log.begin_epoch(4)
    assert open_log(files).latest_epoch == 4


@pytest.mark.parametrize("operation", ["truncate", "unlink", "sync_directory", "sync"])
@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_a_cut_that_failed_is_found_out_from_the_disk(operation: str, call: int) -> None:
    files = memory_files()
    log = open_log(files, config=LogConfig(segment_bytes=200))
    for number in range(6):
        log.append(idempotent(number), 1)
        sync(log)
    files.fail_at(call, errno.EIO, only=frozenset({operation}))
    try:
        log.truncate_to(1)
    except StorageError:
        assert log.offline is not None
        files.stop_failing()
        log.reverify()
    files.stop_failing()
    assert log.offline is None
    log.truncate_to(1)
    assert (log.end_offset, len(read_all(log))) == (1, 1)
    again = open_log(files, config=LogConfig(segment_bytes=200))
    assert again.end_offset == 1


def test_a_log_that_was_emptied_begins_where_it_was_told() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(idempotent(0), 1)
    sync(log)
    log.truncate_fully_and_start_at(40)
    assert (log.start_offset, log.end_offset, log.durable_end.offset) == (40, 40, 40)
    assert (list(log.producers()), log.latest_epoch) == ([], -1)
    files.crash()
    again = open_log(files)
    assert (again.start_offset, again.end_offset) == (40, 40)
    again.append(stored(batch(), 40, 2), 2, origin=Origin.REPLICA)
    assert again.end_offset == 41
