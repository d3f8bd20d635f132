"""The stage of a partition: what is promised, released, expired and withdrawn, case by case.

Whatever these do in any order, with crashes and failovers, is for test_stage_model.py.
"""

import errno

import pytest

from engine.clock import ManualClock
from engine.errors import StorageError
from engine.log.types import Origin
from engine.records.layout import BatchHeader, parse_header
from engine.stage.config import ExtensionConfig
from engine.stage.fates import FateKind, id_hash
from engine.stage.state import READY, WAITING
from tests.engine.logs import NOW_MS, batch
from tests.engine.stage.world import Leader, Node, Record, as_released, client_batch, read_batches, record, reopened


def lead(**config: object) -> Leader:
    return Leader(Node(ManualClock(NOW_MS)), ExtensionConfig(**config))  # type: ignore[arg-type]


def send(leader: Leader, *records: Record, wait: bool = True, producer_id: int = -1) -> int:
    """The number of the first record."""
    transactional = producer_id >= 0
    data = client_batch(
        records,
        producer_id=producer_id,
        epoch=0 if transactional else -1,
        sequence=0 if transactional else -1,
        transactional=transactional,
    )
    held = leader.append(data, wait=wait)
    assert held.is_staged
    return held.staged_number - len(records) + 1


def pass_time(leader: Leader, duration_ms: int) -> None:
    leader.node.clock.advance_ms(duration_ms)
    while leader.run_due():
        pass
    leader.make_durable()
    leader.settle()


def headers(leader: Leader) -> list[BatchHeader]:
    return [header for header, _ in read_batches(leader.partition.log, 0)]


# -- delay


def test_a_delayed_record_is_released_when_due_and_not_before() -> None:
    leader = lead()
    send(leader, record("a", delay=1000))
    pass_time(leader, 999)
    assert leader.values() == []
    pass_time(leader, 1)
    assert leader.values() == ["a"]
    assert leader.stage.is_empty()


def test_a_released_record_is_the_staged_one_with_its_one_shot_headers_renamed() -> None:
    leader = lead()
    sent = record("a", delay=10, schedule_id="x", created_ms=NOW_MS - 5_000)
    send(leader, sent)
    pass_time(leader, 10)
    assert leader.records() == [as_released(sent)]


def test_immediate_records_of_a_held_batch_are_released_at_once() -> None:
    leader = lead()
    send(leader, record("a"), record("b", delay=10), record("c"))
    assert leader.values() == ["a", "c"]
    pass_time(leader, 10)
    assert leader.values() == ["a", "c", "b"]


def test_records_due_at_the_same_instant_keep_their_order_of_arrival() -> None:
    leader = lead()
    for name in "abcdef":
        send(leader, record(name, delay=10))
    pass_time(leader, 10)
    assert leader.values() == list("abcdef")


def test_setting_the_wall_clock_neither_hastens_nor_delays_a_delay() -> None:
    leader = lead()
    send(leader, record("a", delay=1000))
    leader.node.clock.wall_ms += 3_600_000
    pass_time(leader, 999)
    assert leader.values() == []
    leader.node.clock.wall_ms -= 7_200_000
    pass_time(leader, 1)
    assert leader.values() == ["a"]


def test_a_step_of_the_clock_is_known_after_a_restart() -> None:
    leader = lead()
    send(leader, record("a", delay=60_000))
    leader.node.clock.wall_ms += 3_600_000
    leader.stage.watch_clock()
    leader.make_durable()
    leader = reopened(leader)
    pass_time(leader, 59_999)
    assert leader.values() == []
    pass_time(leader, 1)
    assert leader.values() == ["a"]


def test_a_step_whose_note_could_not_be_written_is_noted_with_the_next_event() -> None:
    leader = lead()
    send(leader, record("a", delay=60_000))
    leader.node.clock.wall_ms += 5_000
    leader.node.files.fail_at(1, errno.EIO, only=frozenset({"write"}))
    with pytest.raises(StorageError):
        leader.stage.watch_clock()
    leader.node.files.stop_failing()
    assert leader.state.ahead_ms == 0
    leader.stage.watch_clock()
    assert leader.state.ahead_ms == 5_000


def test_the_wall_clock_decides_about_a_time_of_delivery() -> None:
    leader = lead()
    send(leader, record("a", deliver_at=NOW_MS + 60_000))
    leader.node.clock.wall_ms -= 60_000
    pass_time(leader, 119_999)
    assert leader.values() == []
    pass_time(leader, 1)
    assert leader.values() == ["a"]


def test_what_could_not_be_written_is_due_again_by_its_own_clock() -> None:
    leader = lead()
    send(leader, record("a", deliver_at=NOW_MS + 1000), record("b", delay=1000, expires_at=NOW_MS + 1000))
    leader.node.clock.advance_ms(1000)
    due = leader.stage.collect(10)
    assert [row.created_ms for row in due.ready] == [NOW_MS]
    assert len(due.expired) == 1
    leader.stage.put_back(due)
    leader.node.clock.wall_ms -= 500
    pass_time(leader, 0)
    assert leader.values() == ["b"]
    pass_time(leader, 500)
    assert leader.values() == ["b", "a"]


def test_a_released_batch_is_stamped_with_wall_time_by_which_retention_counts() -> None:
    leader = lead()
    leader.node.clock.wall_ms += 10 * 365 * 86_400_000
    send(leader, record("a", delay=10))
    pass_time(leader, 10)
    (header,) = headers(leader)
    assert header.base_timestamp == leader.node.clock.wall_ms


# -- withdrawing


def test_a_cancelled_record_never_appears() -> None:
    leader = lead()
    send(leader, record("a", delay=10, schedule_id="x"))
    send(leader, record("", cancel="x"))
    pass_time(leader, 10)
    assert leader.values() == []


def test_an_administrator_cancels_and_reschedules() -> None:
    leader = lead()
    number = send(leader, record("a", delay=10), record("b", delay=10), record("c", delay=10))
    leader.stage.cancel([number])
    leader.stage.reschedule(number + 1, NOW_MS + 50, relative=False)
    pass_time(leader, 10)
    assert leader.values() == ["c"]
    pass_time(leader, 40)
    assert leader.values() == ["c", "b"]


def test_a_ready_record_that_is_taken_back_leaves_a_hole() -> None:
    leader = lead()
    number = send(leader, record("a", priority=2), record("b", priority=2))
    leader.stage.cancel([number])
    leader.linearise(0)
    assert leader.values() == ["b"]
    assert leader.log_end == 2


# -- transactions


def test_a_transaction_is_released_by_its_commit() -> None:
    leader = lead()
    send(leader, record("a"), record("b", delay=10), producer_id=1)
    pass_time(leader, 10)
    assert leader.values() == []
    leader.end_transaction(1, True)
    assert leader.values() == ["a"]
    pass_time(leader, 0)
    assert leader.values() == ["a", "b"]


def test_an_undelayed_record_of_a_transaction_is_not_replaced_within_it() -> None:
    leader = lead()
    send(leader, record("a", schedule_id="x"), record("b", delay=10, schedule_id="x"), producer_id=1)
    leader.end_transaction(1, True)
    pass_time(leader, 10)
    assert leader.values() == ["a", "b"]


def test_an_aborted_transaction_leaves_nothing() -> None:
    leader = lead()
    send(leader, record("a", priority=0), record("b", delay=10), producer_id=1)
    leader.end_transaction(1, False)
    pass_time(leader, 10)
    assert leader.promised_end == leader.log_end
    assert leader.stage.is_empty()


# -- the promise


def test_the_first_priority_makes_the_partition_prioritised() -> None:
    leader = lead()
    leader.append(batch(1))
    assert not leader.stage.prioritised
    send(leader, record("a", priority="high"))
    assert leader.stage.prioritised
    send(leader, record("b"))
    assert leader.promised_end == 3


def test_with_priority_off_the_header_is_plain_data() -> None:
    leader = lead(priority_enable="false")
    send(leader, record("a", priority=0, delay=10))
    assert not leader.stage.prioritised
    pass_time(leader, 10)
    assert leader.values() == ["a"]


def test_lanes_come_to_the_same_live_and_replayed_if_priority_is_switched_on_later() -> None:
    leader = lead(priority_enable="false")
    number = send(leader, record("a", priority=0, delay=10))
    live = leader.row(number).lane
    assert reopened(leader).row(number).lane == live


def test_the_promise_counts_what_is_durable_only() -> None:
    leader = lead()
    send(leader, record("a", priority=1), wait=False)
    assert leader.promised_end == 0
    leader.make_durable()
    assert leader.promised_end == 1


def test_the_promise_does_not_count_what_the_log_may_still_lose() -> None:
    leader = lead()
    leader.append(batch(3), wait=False)
    send(leader, record("a", priority=1), wait=False)
    leader.make_durable(log=False)
    told = leader.promised_end
    leader.node.files.crash()
    leader = reopened(leader)
    assert leader.promised_end >= told == 1


def test_a_reader_at_the_end_gets_the_critical_record_first() -> None:
    leader = lead()
    for name in "abc":
        send(leader, record(name, priority="normal"))
    send(leader, record("!", priority="critical"))
    promised = leader.promised_end
    leader.linearise(0, limit_records=2)
    assert leader.values() == ["!", "a"]
    assert leader.promised_end == promised == 4


def test_a_reader_beyond_the_end_lets_those_pass_that_were_ready_first() -> None:
    leader = lead()
    send(leader, record("a", priority="normal"), record("b", priority="high"))
    told = leader.promised_end
    send(leader, record("!", priority="critical"))
    leader.linearise(told)
    assert leader.values() == ["b", "a"]
    leader.make_durable()
    leader.linearise(told)
    assert leader.values() == ["b", "a", "!"]


def test_a_delayed_record_enters_its_lane_when_due() -> None:
    leader = lead()
    number = send(leader, record("a", priority=0, delay=10))
    assert leader.row(number).state == WAITING
    pass_time(leader, 10)
    assert leader.row(number).state == READY
    assert leader.promised_end == 1


def test_priority_is_left_once_the_lanes_are_empty() -> None:
    leader = lead()
    send(leader, record("a", priority=0))
    leader.linearise(0)
    leader.stage.switch_off_priority()
    assert not leader.stage.prioritised
    assert not reopened(leader).stage.prioritised


def test_extensions_that_are_off_are_plain_data_in_a_prioritised_partition() -> None:
    leader = lead()
    send(leader, record("a", priority=2))
    leader.stage.configure(ExtensionConfig(extensions_enable=False))
    data = client_batch([record("b", delay=500)])
    leader.stage.hold(parse_header(data), data[61:], None, leader.log_end)
    assert len(leader.state.lanes) == 2


# -- expiry


def test_what_expires_in_a_lane_leaves_a_hole_at_its_offset() -> None:
    leader = lead()
    send(leader, record("a", priority=2, ttl=100), record("b", priority=2))
    pass_time(leader, 100)
    assert leader.promised_end == 2
    leader.linearise(0)
    assert leader.values() == ["b"]
    assert [header.is_hollow for header in headers(leader)] == [True, False]
    assert leader.log_end == 2


def test_what_expires_unnoticed_is_found_out_when_it_is_read() -> None:
    leader = lead(message_ttl_ms=100)
    send(leader, record("a", priority=2))
    leader.node.clock.advance_ms(100)
    leader.linearise(0)
    assert leader.values() == []
    assert leader.log_end == 1


def test_a_record_that_expires_before_it_is_due_is_not_released() -> None:
    leader = lead()
    send(leader, record("a", delay=500, schedule_id="x", expires_at=NOW_MS + 100))
    pass_time(leader, 100)
    fate = leader.state.fates.get(id_hash(b"x"))
    assert fate is not None
    assert fate.kind is FateKind.EXPIRED
    pass_time(leader, 1000)
    assert leader.values() == []


def test_dead_letters_wait_until_they_have_arrived() -> None:
    leader = lead(expiry_policy="dlq")
    number = send(leader, record("a", delay=500, expires_at=NOW_MS + 100))
    pass_time(leader, 100)
    assert list(leader.state.dead_letters) == [number]
    leader.stage.dead_lettered([number])
    assert leader.stage.is_empty()


# -- release is write-ahead


def test_an_intent_whose_batch_was_lost_is_written_again() -> None:
    leader = lead()
    send(leader, record("a", delay=10), record("b", delay=10))
    leader.node.clock.advance_ms(10)
    leader.stage.release_due(leader.stage.collect(10), 0)
    leader.make_durable()
    leader.node.files.crash()
    leader = reopened(leader)
    assert leader.values() == ["a", "b"]


def test_an_intent_that_the_log_holds_is_not_written_again() -> None:
    leader = lead()
    send(leader, record("a", delay=10))
    pass_time(leader, 10)
    leader = reopened(reopened(leader))
    assert leader.values() == ["a"]
    assert not leader.state.intents


def test_what_is_missing_of_an_intent_is_written() -> None:
    leader = lead()
    send(leader, *(record(name, delay=10) for name in "abc"))
    leader.node.clock.advance_ms(10)
    intent = leader.stage.release_due(leader.stage.collect(10), 0)
    assert intent is not None
    leader.make_durable()
    first = leader.stage.batches(intent, 0, 80, 1)
    leader.partition.write(first, origin=Origin.RELEASE)
    leader.make_durable()
    assert leader.values() == ["a"]
    leader = reopened(leader)
    assert leader.values() == ["a", "b", "c"]


def test_an_intent_whose_place_was_lost_gets_another() -> None:
    leader = lead()
    leader.append(batch(3))
    leader.append(batch(2), wait=False)
    send(leader, record("a", delay=10), wait=False)
    leader.node.clock.advance_ms(10)
    intent = leader.stage.release_due(leader.stage.collect(10), leader.log_end)
    assert intent is not None
    assert intent.first_offset == 5
    leader.make_durable(log=False)
    leader.node.files.crash()
    leader = reopened(leader)
    assert leader.log_end == 4
    assert leader.values()[3:] == ["a"]
    assert reopened(leader).log_end == 4


def test_an_intent_larger_than_a_segment_is_written_in_parts() -> None:
    leader = lead()
    size = leader.partition.log.config.segment_bytes // 3
    for name in "abcdef":
        send(leader, record(name * size, delay=10))
    pass_time(leader, 10)
    assert leader.values() == [name * size for name in "abcdef"]


# -- keeping it small


def test_moved_records_are_released_from_their_new_place() -> None:
    leader = lead()
    send(leader, *(record(name, delay=10) for name in "ab"))
    leader.store.log.roll()
    assert leader.move() == 2
    leader.store.log.roll()
    assert leader.checkpoint() == 1
    leader = reopened(leader)
    pass_time(leader, 10)
    assert leader.values() == ["a", "b"]
