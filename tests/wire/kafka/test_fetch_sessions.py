"""Fetch sessions: what is remembered, for whom, and how many."""

from collections.abc import Callable
from random import Random

import pytest

from coordinators.records.portions import Portion
from engine.clock import ManualClock
from engine.errors import FetchSessionNotFound, FetchSessionTopicId, InvalidFetchSessionEpoch, NotLeader
from engine.log.types import LogRead
from wire.kafka import fetch_sessions
from wire.kafka.fetch_sessions import (
    MAX_EPOCH,
    FetchedPartition,
    FetchSession,
    FetchSessions,
    partitions_of,
)
from wire.kafka.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)

EVICTION_MS = 1000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def sessions(clock: ManualClock) -> FetchSessions:
    return FetchSessions(2, EVICTION_MS, clock, Random(1))


def request(*indexes: int, session_id: int = 0, epoch: int = 0, offset: int = 0) -> FetchRequest:
    wanted = [FetchPartition(partition=index, fetch_offset=offset) for index in indexes]
    topics = [FetchTopic(topic="t", partitions=wanted)] if indexes else []
    return FetchRequest(session_id=session_id, session_epoch=epoch, topics=topics)


def begin(sessions: FetchSessions, *indexes: int) -> FetchSession:
    session, _, incremental = sessions.begin(request(*indexes), by_topic_id=False)
    assert session is not None
    assert not incremental
    return session


def indexes(partitions: list[FetchedPartition]) -> list[int]:
    return [partition.index for partition in partitions]


def test_a_request_without_a_session_leaves_none(sessions: FetchSessions) -> None:
    session, partitions, incremental = sessions.begin(request(0, 1, epoch=-1), by_topic_id=False)
    assert (session, indexes(partitions), incremental) == (None, [0, 1], False)
    assert sessions.statistics()["sessions"] == 0


def test_a_session_remembers_adds_changes_and_forgets(sessions: FetchSessions) -> None:
    begun = begin(sessions, 0, 1)
    following = request(1, 2, session_id=begun.session_id, epoch=1, offset=7)
    following.forgotten_topics_data = [ForgottenTopic(topic="t", partitions=[0, 9])]
    session, partitions, incremental = sessions.begin(following, by_topic_id=False)
    assert (session, incremental) == (begun, True)
    assert [(p.index, p.offset) for p in partitions] == [(1, 7), (2, 7)]


def test_the_epoch_counts_the_requests(sessions: FetchSessions) -> None:
    begun = begin(sessions, 0)
    for epoch in (1, 2, 3):
        sessions.begin(request(session_id=begun.session_id, epoch=epoch), by_topic_id=False)
    with pytest.raises(InvalidFetchSessionEpoch):
        sessions.begin(request(session_id=begun.session_id, epoch=3), by_topic_id=False)


def test_the_epoch_begins_again_after_the_last(sessions: FetchSessions) -> None:
    begun = begin(sessions, 0)
    begun.epoch = MAX_EPOCH
    sessions.begin(request(session_id=begun.session_id, epoch=MAX_EPOCH), by_topic_id=False)
    assert begun.epoch == 1


def test_a_new_session_replaces_the_one_that_it_names(sessions: FetchSessions) -> None:
    begun = begin(sessions, 0)
    sessions.begin(request(0, session_id=begun.session_id), by_topic_id=False)
    assert sessions.statistics()["sessions"] == 1
    with pytest.raises(FetchSessionNotFound):
        sessions.begin(request(session_id=begun.session_id, epoch=1), by_topic_id=False)


def test_a_session_does_not_change_between_names_and_ids(sessions: FetchSessions) -> None:
    begun = begin(sessions, 0)
    with pytest.raises(FetchSessionTopicId):
        sessions.begin(request(session_id=begun.session_id, epoch=1), by_topic_id=True)


def test_without_a_free_slot_a_client_goes_without(sessions: FetchSessions, clock: ManualClock) -> None:
    oldest, newer = begin(sessions, 0), begin(sessions, 1)
    clock.advance_ms(EVICTION_MS - 1)
    assert sessions.begin(request(0), by_topic_id=False)[0] is None
    sessions.begin(request(session_id=newer.session_id, epoch=1), by_topic_id=False)
    clock.advance_ms(1)
    begin(sessions, 2)
    assert sessions.statistics() == {"sessions": 2, "partitions": 2, "evicted": 1}
    with pytest.raises(FetchSessionNotFound):
        sessions.begin(request(session_id=oldest.session_id, epoch=1), by_topic_id=False)


def test_partitions_over_all_sessions_are_bounded(sessions: FetchSessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "MAX_PARTITIONS", 3)
    begun = begin(sessions, 0, 1)
    assert sessions.begin(request(0, 1), by_topic_id=False)[0] is None
    sessions.begin(request(2, session_id=begun.session_id, epoch=1), by_topic_id=False)
    with pytest.raises(FetchSessionNotFound):
        sessions.begin(request(3, session_id=begun.session_id, epoch=2), by_topic_id=False)
    assert sessions.statistics() == {"sessions": 0, "partitions": 0, "evicted": 0}


def test_sessions_can_be_switched_off(clock: ManualClock) -> None:
    assert FetchSessions(0, 0, clock, Random(1)).begin(request(0), by_topic_id=False)[0] is None


def test_a_session_of_nothing_is_none(sessions: FetchSessions) -> None:
    assert sessions.begin(request(), by_topic_id=False)[0] is None


def test_who_was_served_goes_to_the_end(sessions: FetchSessions) -> None:
    session = begin(sessions, 0, 1, 2)
    session.move_to_end(next(iter(session.partitions.values())))
    assert indexes(list(session.partitions.values())) == [1, 2, 0]


def test_a_partition_named_twice_is_one(sessions: FetchSessions) -> None:
    assert len(begin(sessions, 0, 0).partitions) == 1


def wanted_and_portion() -> tuple[FetchedPartition, Callable[..., Portion]]:
    """A partition that is fetched, and what makes a portion of it."""
    (partition,) = partitions_of(request(0).topics, by_topic_id=False)
    return partition, lambda **facts: Portion(partition, "t", **facts)


def test_an_answer_is_needed_for_what_is_new() -> None:
    partition, portion = wanted_and_portion()
    assert partition.must_answer(portion(end_offset=5, start_offset=0))
    assert not partition.must_answer(portion(end_offset=5, start_offset=0))
    assert partition.must_answer(portion(end_offset=6, start_offset=0))
    assert partition.must_answer(portion(end_offset=6, start_offset=1))
    assert partition.must_answer(portion(end_offset=6, start_offset=1, records=LogRead((), 1, 1)))
    assert partition.must_answer(portion(end_offset=6, start_offset=1, divergence=(0, 3)))


def test_an_error_is_said_until_it_is_gone() -> None:
    partition, portion = wanted_and_portion()
    partition.must_answer(portion(end_offset=5, start_offset=0))
    for _ in range(2):
        assert partition.must_answer(portion(error=NotLeader("elsewhere")))
    assert partition.must_answer(portion(end_offset=5, start_offset=0))
