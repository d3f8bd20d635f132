"""A shard of share partitions' states: who may write, what is kept, and what becomes of the log."""

import errno

import pytest

from coordinators.share.machine import MOST_BATCHES, MOST_TEXT, RECORDS_TO_SPARE, ShareStateSettings
from coordinators.share.ports import (
    REJECTED,
    UNINITIALISED,
    DeliveryState,
    LetterProducer,
    ShareChange,
    SharePlace,
    ShareState,
    StateBatch,
)
from coordinators.share.record_formats import tombstone
from coordinators.state_machine import Record, Verdict
from engine.errors import (
    BrokerError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedLeaderEpoch,
    FencedStateEpoch,
    InvalidRequest,
    PolicyViolation,
)
from engine.log.types import Origin
from engine.records.layout import build_batch
from tests.coordinators.share.shard import PENDING, PLACE, TOPIC, StateShard

AVAILABLE, ACKNOWLEDGED = DeliveryState.AVAILABLE, DeliveryState.ACKNOWLEDGED
COLD_MS = ShareStateSettings().cold_interval_ms


@pytest.fixture
def shard() -> StateShard:
    return StateShard()


def acknowledged(first: int, last: int) -> StateBatch:
    return StateBatch(first, last, ACKNOWLEDGED, 1)


def other(number: int, topic_id: bytes = TOPIC) -> SharePlace:
    return SharePlace("mail", topic_id, number)


# -- what is kept


def test_of_a_place_that_nobody_has_initialised_an_empty_state_is_given(shard: StateShard) -> None:
    assert shard.read(PLACE, 0) == ShareState()
    assert shard.record_count == 0, "nobody has to be kept out yet"


def test_what_is_written_is_read_and_outlives_a_restart(shard: StateShard) -> None:
    shard.initialize(PLACE, 3, 100)
    assert shard.read(PLACE, 0) == ShareState(3, 0, 100)
    letters = LetterProducer(77, 2)
    waiting = StateBatch(110, 112, AVAILABLE, 2, 5_000, 1_000, 2_000)
    shard.write(PLACE, ShareChange(105, 1, (acknowledged(107, 107), waiting), letters), state_epoch=3)
    expected = ShareState(3, 0, 105, 1, (acknowledged(107, 107), waiting), letters)
    assert shard.read() == expected
    shard.open()
    assert shard.read() == expected
    assert shard.summary() == ShareState(3, 0, 105, 1, (), letters)


def test_a_write_to_a_place_that_nobody_has_initialised_makes_it(shard: StateShard) -> None:
    shard.write(PLACE, ShareChange(7))
    assert shard.read().start_offset == 7


def test_without_a_start_the_start_stays_and_it_never_moves_back(shard: StateShard) -> None:
    shard.initialize(PLACE, 1, 50)
    shard.write(PLACE, ShareChange(batches=(acknowledged(52, 53),)), state_epoch=1)
    assert shard.read().start_offset == 50
    shard.write(PLACE, ShareChange(40), state_epoch=1)
    assert shard.read().start_offset == 50


def test_a_place_begins_anew_with_nothing_of_before_but_its_letters(shard: StateShard) -> None:
    letters = LetterProducer(77, 2)
    shard.write(PLACE, ShareChange(5, 1, (acknowledged(6, 6),), letters), leader_epoch=4)
    shard.initialize(PLACE, 1, 0)
    assert shard.read() == ShareState(1, 4, 0, letter_producer=letters)


def test_an_initialisation_that_comes_twice_changes_nothing(shard: StateShard) -> None:
    shard.initialize(PLACE, 2, 0)
    shard.write(PLACE, ShareChange(9), state_epoch=2)
    assert shard.initialize(PLACE, 2, 0) is None
    assert shard.read().start_offset == 9
    shard.open()
    shard.initialize(PLACE, 2, 0)
    assert shard.read().start_offset == 9, "that is known after a restart too"
    shard.initialize(PLACE, 2, 4)
    assert shard.read().start_offset == 4, "to another start: asked anew"


def test_a_place_is_forgotten(shard: StateShard) -> None:
    shard.initialize(PLACE, 2, 9)
    assert shard.delete(PLACE) is None
    assert shard.delete(PLACE) is None
    assert shard.read() == ShareState()
    shard.open()
    assert shard.read() == ShareState()
    shard.initialize(PLACE, 1)
    assert shard.summary().start_offset == UNINITIALISED


def test_what_was_forgotten_does_not_come_back_by_a_leader_that_has_not_heard_of_it(shard: StateShard) -> None:
    shard.read(PLACE, 0)
    shard.write(PLACE, ShareChange(5))
    shard.initialize(other(1), 3, 5)
    shard.delete(PLACE)
    shard.delete(other(1))
    for _ in range(2):
        assert isinstance(shard.write(PLACE, ShareChange(7)), FencedStateEpoch)
        assert isinstance(shard.write(other(1), ShareChange(7), state_epoch=3), FencedStateEpoch)
        shard.open()
    assert shard.read(PLACE, 0) == ShareState()
    assert shard.write(PLACE, ShareChange(9)) is None
    assert shard.read().start_offset == 9


# -- who may write


def test_a_leader_that_was_replaced_is_refused(shard: StateShard) -> None:
    shard.initialize(PLACE, 1, 0)
    shard.read(PLACE, 5)
    shard.open()
    assert isinstance(shard.write(PLACE, ShareChange(3), state_epoch=1, leader_epoch=4), FencedLeaderEpoch)
    assert isinstance(shard.read(PLACE, 4), FencedLeaderEpoch)
    assert shard.write(PLACE, ShareChange(3), state_epoch=1, leader_epoch=5) is None
    assert shard.read(PLACE, 6).start_offset == 3


def test_so_it_is_where_nothing_was_written_yet(shard: StateShard) -> None:
    assert shard.read(PLACE, 5) == ShareState(leader_epoch=5)
    shard.open()
    assert isinstance(shard.write(PLACE, ShareChange(3), leader_epoch=4), FencedLeaderEpoch)


def test_who_only_looks_fences_nobody_and_is_not_fenced(shard: StateShard) -> None:
    shard.read(PLACE, 5)
    assert shard.read(PLACE, -1).leader_epoch == 5
    assert shard.summary().leader_epoch == 5


def test_what_began_anew_is_not_written_by_those_who_do_not_know(shard: StateShard) -> None:
    shard.initialize(PLACE, 3, 0)
    assert isinstance(shard.write(PLACE, ShareChange(5), state_epoch=2), FencedStateEpoch)
    assert isinstance(shard.initialize(PLACE, 2, 0), FencedStateEpoch)
    assert shard.read() == ShareState(3, 0, 0)


@pytest.mark.parametrize(
    "change",
    [
        ShareChange(-2),
        ShareChange(complete_count=-1),
        ShareChange(batches=(StateBatch(5, 4, AVAILABLE, 1),)),
        ShareChange(batches=(StateBatch(-1, 4, AVAILABLE, 1),)),
        ShareChange(batches=(StateBatch(1, 1, DeliveryState.ACQUIRED, 1),)),
        ShareChange(batches=(StateBatch(1, 1, AVAILABLE, 32_768),)),
        ShareChange(batches=(StateBatch(1, 1, AVAILABLE, 1, reason="x" * (MOST_TEXT + 1)),)),
        ShareChange(batches=tuple(acknowledged(each, each) for each in range(MOST_BATCHES + 1))),
    ],
    ids=lambda change: f"{change.start_offset}-{change.complete_count}-{len(change.batches)}",
)
def test_what_no_leader_writes_is_refused(shard: StateShard, change: ShareChange) -> None:
    assert isinstance(shard.write(PLACE, change), InvalidRequest)
    assert shard.record_count == 0


def test_no_epoch_or_start_below_any_is_taken(shard: StateShard) -> None:
    assert isinstance(shard.initialize(PLACE, -1, 0), InvalidRequest)
    assert isinstance(shard.initialize(PLACE, 0, -2), InvalidRequest)


def test_there_are_only_so_many_places() -> None:
    shard = StateShard(ShareStateSettings(max_places=2))
    shard.initialize(other(0), 1, 0)
    shard.write(other(1), ShareChange(0))
    assert isinstance(shard.initialize(other(2), 1, 0), PolicyViolation)
    assert isinstance(shard.write(other(2), ShareChange(0)), PolicyViolation)
    assert isinstance(shard.read(other(2), 7), PolicyViolation)
    assert shard.write(other(1), ShareChange(3)) is None
    shard.delete(other(0))
    assert shard.initialize(other(2), 1, 0) is None


# -- durability


def test_a_write_is_answered_when_it_is_durable(shard: StateShard) -> None:
    shard.initialize(PLACE, 1, 0)
    shard.hold = True
    assert shard.write(PLACE, ShareChange(5), state_epoch=1) == PENDING
    assert shard.read() == PENDING, "it saw what may be lost"
    shard.hold = False
    assert shard.read().start_offset == 5


def test_a_write_that_is_refused_changes_nothing(shard: StateShard) -> None:
    shard.initialize(PLACE, 1, 5)
    shard.files.fail_at(1, errno.ENOSPC, only=frozenset({"write"}))
    assert isinstance(shard.write(PLACE, ShareChange(9), state_epoch=1), CoordinatorNotAvailable)
    assert shard.read().start_offset == 5


def test_after_a_failed_sync_the_state_is_what_the_log_turns_out_to_hold(shard: StateShard) -> None:
    shard.initialize(PLACE, 1, 5)
    shard.files.fail_at(1, errno.EIO, only=frozenset({"sync"}))
    assert isinstance(shard.write(PLACE, ShareChange(9), state_epoch=1), BrokerError)
    assert isinstance(shard.read(), CoordinatorLoadInProgress)
    shard.partition.log.reverify()
    shard.partition.bring_online()
    shard.advance(100)
    assert shard.read().start_offset == 9, "the tail was verified and counts"


# -- the log


def test_after_so_many_updates_the_whole_is_written() -> None:
    shard = StateShard(ShareStateSettings(updates_per_snapshot=3))
    shard.initialize(PLACE, 1, 0)
    for offset in range(1, 9):
        shard.write(PLACE, ShareChange(offset), state_epoch=1)
    (found,) = shard.hard_state().values()
    assert (found[0].snapshot_epoch, found[1], found[2]) == (2, 8, 0), "at 0, 4 and 8"


def test_what_lies_before_every_snapshot_is_cut_off() -> None:
    shard = StateShard(ShareStateSettings(updates_per_snapshot=3))
    shard.initialize(PLACE, 1, 0)
    shard.initialize(other(1), 1, 0)
    for offset in range(1, 9):
        shard.write(PLACE, ShareChange(offset), state_epoch=1)
        shard.write(other(1), ShareChange(offset), state_epoch=1)
    shard.advance(COLD_MS)
    assert shard.partition.log.start_offset == min(offset for _, offset, _ in shard.hard_state().values()) > 0
    before = shard.hard_state()
    shard.open()
    assert shard.hard_state() == before


def test_a_place_that_rests_does_not_keep_the_log_from_being_cut() -> None:
    shard = StateShard(ShareStateSettings(updates_per_snapshot=10))
    shard.initialize(other(1), 1, 55)
    for offset in range(RECORDS_TO_SPARE + 20):
        shard.write(PLACE, ShareChange(offset))
    assert shard.partition.log.start_offset == 0
    shard.advance(COLD_MS)
    shard.advance(COLD_MS)
    assert shard.record_count < 50
    shard.open()
    assert shard.read(other(1)) == ShareState(1, 0, 55)
    assert shard.read().start_offset == RECORDS_TO_SPARE + 19


def test_where_little_is_written_what_rests_is_left_alone(shard: StateShard) -> None:
    shard.initialize(PLACE, 1, 5)
    for _ in range(5):
        shard.advance(COLD_MS)
    assert shard.partition.log.end_offset == 1


def test_nothing_is_cut_off_that_is_not_durable_elsewhere() -> None:
    shard = StateShard(ShareStateSettings(updates_per_snapshot=0))
    shard.write(PLACE, ShareChange(1))
    shard.hold = True
    shard.write(PLACE, ShareChange(2))
    shard.clock.advance_ms(COLD_MS)
    shard.timers.run_due(shard.clock.monotonic())
    shard.files.crash()
    shard.hold = False
    shard.open()
    assert shard.read().start_offset == 1


def test_when_all_places_are_gone_so_is_the_log(shard: StateShard) -> None:
    for number in range(5):
        shard.initialize(other(number), 1, 0)
    for number in range(5):
        shard.delete(other(number))
    shard.advance(COLD_MS)
    assert shard.record_count == 1
    shard.open()
    assert shard.hard_state() == {}


# -- topics that are gone


def test_states_of_deleted_topics_are_forgotten_some_at_a_time(shard: StateShard) -> None:
    gone = b"\10" * 16
    for number in range(600):
        shard.initialize(other(number, gone), 1, 0)
    shard.initialize(PLACE, 1, 0)
    assert shard.heard(shard.runtime.run(0, lambda machine: machine.forget_topics([gone]))) is True
    assert shard.heard(shard.runtime.run(0, lambda machine: machine.forget_topics([gone]))) is False
    assert set(shard.hard_state()) == {PLACE}


def test_a_topic_that_is_not_there_for_long_is_gone() -> None:
    shard = StateShard(ShareStateSettings(prune_interval_ms=10_000))
    shard.initialize(PLACE, 1, 0)
    shard.initialize(other(0, b"\10" * 16), 1, 0)
    for _ in range(6):
        shard.advance(10_000)
        assert len(shard.hard_state()) == 2, "this node may not have heard of it yet"
    shard.advance(10_000)
    assert set(shard.hard_state()) == {PLACE}


def test_a_topic_that_comes_back_has_not_been_missing(shard: StateShard) -> None:
    shard.topics.clear()
    shard.initialize(PLACE, 1, 0)
    shard.advance(COLD_MS)
    shard.topics.add(TOPIC)
    shard.advance(COLD_MS)
    shard.topics.clear()
    shard.advance(COLD_MS)
    assert set(shard.hard_state()) == {PLACE}


def test_records_of_other_kinds_are_passed_over(shard: StateShard) -> None:
    shard.heard(shard.runtime.run(0, lambda _: Verdict([Record(b"\0\11later", b"?")])))
    shard.open()
    assert shard.hard_state() == {}


@pytest.mark.parametrize("kind", [0, 1])
def test_a_state_of_a_later_version_is_not_guessed(shard: StateShard, kind: int) -> None:
    shard.initialize(PLACE, 1, 0)
    key = b"\0" + bytes([kind]) + tombstone(PLACE).key[2:]
    batch = build_batch([(key, b"\0\1" + bytes(60))], timestamp_ms=0)
    shard.partition.write(batch, origin=Origin.COORDINATOR)
    shard.settle()
    shard.open()
    assert isinstance(shard.read(), CoordinatorNotAvailable)


# -- dead letters that nobody has sent yet


def dead(first: int, last: int, state: DeliveryState = DeliveryState.ARCHIVING) -> ShareChange:
    reason = REJECTED if state is DeliveryState.ARCHIVING else ""
    return ShareChange(batches=(StateBatch(first, last, state, 1, reason=reason, member_id="m"),))


def test_places_with_letters_are_known_until_all_of_them_have_arrived(shard: StateShard) -> None:
    for number in range(3):
        shard.initialize(other(number), 1, 0)
    shard.write(other(1), dead(3, 5), state_epoch=1)
    assert shard.machine.with_letters() == [other(1)]
    shard.write(other(1), dead(3, 4, DeliveryState.ARCHIVED), state_epoch=1)
    assert shard.machine.with_letters() == [other(1)]
    shard.write(other(1), dead(5, 5, DeliveryState.ARCHIVED), state_epoch=1)
    assert shard.machine.with_letters() == []


@pytest.mark.parametrize("updates_per_snapshot", [0, 500])
def test_places_with_letters_are_found_after_a_restart_and_no_others_are_opened(updates_per_snapshot: int) -> None:
    shard = StateShard(ShareStateSettings(updates_per_snapshot))
    for number in range(4):
        shard.initialize(other(number), 1, 0)
    for number in (1, 2):
        shard.write(other(number), dead(3, 5), state_epoch=1)
    shard.write(other(2), dead(3, 5, DeliveryState.ARCHIVED), state_epoch=1)
    shard.open()
    assert shard.machine.with_letters() == [other(1)]
    assert [place.partition_index for place, kept in shard.machine.places.items() if kept.snapshot is None] == [0, 3]


def test_a_place_that_is_forgotten_has_no_letters(shard: StateShard) -> None:
    shard.initialize(PLACE, 1, 0)
    shard.write(PLACE, dead(3, 5), state_epoch=1)
    shard.delete(PLACE)
    assert shard.machine.with_letters() == []
