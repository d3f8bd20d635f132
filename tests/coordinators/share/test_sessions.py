"""Share sessions: epochs, which partitions, whose connection, and how many."""

import pytest

from coordinators.share.sessions import FINAL_EPOCH, MAX_EPOCH, ShareSessions
from engine.errors import InvalidShareSessionEpoch, ShareSessionLimitReached, ShareSessionNotFound

T = b"\1" * 16
ONE, OTHER = ("g", "m1"), ("g", "m2")


def test_requests_are_counted_and_one_follows_the_greatest_number() -> None:
    sessions = ShareSessions(10)
    session = sessions.open(ONE, object(), [(T, 0)])
    assert sessions.go_on(ONE, 1) is session
    with pytest.raises(InvalidShareSessionEpoch):
        sessions.go_on(ONE, 1)
    session.epoch = MAX_EPOCH
    sessions.go_on(ONE, MAX_EPOCH)
    assert session.epoch == 1


def test_a_final_request_needs_a_session_and_no_epoch() -> None:
    sessions = ShareSessions(10)
    with pytest.raises(ShareSessionNotFound):
        sessions.go_on(ONE, FINAL_EPOCH)
    session = sessions.open(ONE, object(), [])
    assert sessions.go_on(ONE, FINAL_EPOCH) is session


def test_partitions_take_turns() -> None:
    sessions = ShareSessions(10)
    session = sessions.open(ONE, object(), [(T, 0), (T, 1), (T, 2)])
    firsts = []
    for epoch in range(1, 4):
        sessions.go_on(ONE, epoch)
        firsts.append(session.in_turn()[0][1])
    assert sorted(firsts) == [0, 1, 2]


def test_partitions_are_added_and_forgotten() -> None:
    sessions = ShareSessions(10)
    session = sessions.open(ONE, object(), [(T, 0)])
    sessions.add(session, [(T, 0), (T, 1)])
    assert sessions.statistics() == {"sessions": 1, "partitions": 2}
    assert sessions.forget(session, [(T, 0), (T, 7)]) == [(T, 0)]
    assert list(session.partitions) == [(T, 1)]
    sessions.close(session)
    assert sessions.statistics() == {"sessions": 0, "partitions": 0}


def test_there_are_only_so_many() -> None:
    sessions = ShareSessions(1, max_partitions=2)
    connection = object()
    sessions.open(ONE, connection, [(T, 0)])
    with pytest.raises(ShareSessionLimitReached):
        sessions.open(OTHER, connection, [(T, 0)])
    session = sessions.open(ONE, connection, [(T, 0)])
    with pytest.raises(ShareSessionLimitReached):
        sessions.add(session, [(T, 1), (T, 2)])
    assert sessions.statistics() == {"sessions": 1, "partitions": 1}


def test_a_connection_has_the_sessions_that_nobody_took_over() -> None:
    sessions = ShareSessions(10)
    old, new = object(), object()
    sessions.open(ONE, old, [])
    other = sessions.open(OTHER, old, [])
    again = sessions.open(ONE, new, [])
    assert sessions.of_connection(old) == [other]
    assert sessions.of_connection(new) == [again]
