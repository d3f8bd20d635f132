"""Share sessions: one counter for fetches and acknowledgements, and what happens to records when one ends."""

import pytest

from compat_tests import brokers
from compat_tests.share.conftest import MakeMember, MakeTopic
from compat_tests.share.member import ACCEPT, ShareMember, acquired
from compat_tests.share.sending import fill
from compat_tests.wire.connection import Wire

UNKNOWN_SERVER_ERROR, INVALID_REQUEST, UNKNOWN_TOPIC_ID = -1, 42, 100
SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH = 122, 123
NOBODYS_ID = bytes(15) + b"\x01"


@pytest.fixture
def topic(bootstrap: str, make_queue: MakeTopic) -> str:
    name = make_queue()
    fill(bootstrap, name, 4)
    return name


@pytest.fixture
def member(make_member: MakeMember, topic: str) -> ShareMember:
    """With a session, and all four records."""
    one = make_member()
    one.collect(topic, 4)
    return one


def test_acknowledgements_do_not_open_a_session(make_member: MakeMember, topic: str) -> None:
    one = make_member()
    assert one.ask_fetch(topic, acks=[(0, 0, ACCEPT)], share_session_epoch=0).error_code == INVALID_REQUEST
    assert one.acknowledge(topic, (0, 0, ACCEPT), share_session_epoch=0) == INVALID_SHARE_SESSION_EPOCH


def test_without_a_session(make_member: MakeMember, topic: str) -> None:
    one = make_member()
    assert one.ask_fetch(topic, share_session_epoch=1).error_code == SHARE_SESSION_NOT_FOUND
    assert one.acknowledge(topic, (0, 0, ACCEPT), share_session_epoch=1) == SHARE_SESSION_NOT_FOUND
    assert one.ask_fetch(topic, share_session_epoch=-1).error_code == SHARE_SESSION_NOT_FOUND
    assert one.end_session() == SHARE_SESSION_NOT_FOUND


def test_epochs_count_up_by_one(member: ShareMember, topic: str) -> None:
    expected = member.session
    for wrong in (expected - 1, expected + 1):
        if wrong > 0:
            assert member.ask_fetch(topic, share_session_epoch=wrong).error_code == INVALID_SHARE_SESSION_EPOCH
            assert member.acknowledge(topic, (0, 0, ACCEPT), share_session_epoch=wrong) == INVALID_SHARE_SESSION_EPOCH
    assert member.acknowledge(topic, (0, 0, ACCEPT), share_session_epoch=expected) == 0
    assert member.ask_fetch(topic, max_wait_ms=0).error_code == 0
    assert member.session == expected + 2


def test_a_session_of_another_member(member: ShareMember, make_member: MakeMember, topic: str) -> None:
    assert make_member().ask_fetch(topic, share_session_epoch=member.session).error_code == SHARE_SESSION_NOT_FOUND


def test_a_new_session_in_place_of_the_old(member: ShareMember, topic: str) -> None:
    """What was acquired in the old one stays with the member."""
    member.session = 0
    assert member.fetch(topic, max_wait_ms=0).ranges == ()
    assert member.session == 1
    assert member.acknowledge(topic, (0, 3, ACCEPT)) == 0


def test_the_end_of_a_session_releases_what_is_held(member: ShareMember, make_member: MakeMember, topic: str) -> None:
    assert member.end_session(topic, (1, 1, ACCEPT)) == 0
    assert member.ask_fetch(topic, share_session_epoch=5).error_code == SHARE_SESSION_NOT_FOUND
    assert make_member().collect(topic, 3) == {0: 2, 2: 2, 3: 2}


def test_a_fetch_can_end_a_session_too(member: ShareMember, make_member: MakeMember, topic: str) -> None:
    answer = member.ask_fetch(topic, acks=[(0, 1, ACCEPT)], share_session_epoch=-1)
    assert (answer.error_code, acquired(answer).acknowledge_error_code, acquired(answer).ranges) == (0, 0, ())
    assert make_member().collect(topic, 2) == {2: 2, 3: 2}


def test_a_cut_connection_releases_what_is_held(member: ShareMember, make_member: MakeMember, topic: str) -> None:
    member.close()
    assert make_member().collect(topic, 4) == dict.fromkeys(range(4), 2)


def test_a_late_end_of_an_old_connection_leaves_the_new_session(
    bootstrap: str, member: ShareMember, make_member: MakeMember, topic: str
) -> None:
    old = member.wire
    member.wire = Wire(bootstrap).__enter__()
    member.session = 0
    assert member.fetch(topic, max_wait_ms=0).ranges == ()
    old.__exit__(None, None, None)
    other = make_member()
    assert other.fetch(topic, max_wait_ms=700).ranges == (), "nothing was released"
    assert member.acknowledge(topic, (0, 3, ACCEPT)) == 0


def test_partitions_are_added_and_forgotten(bootstrap: str, make_member: MakeMember, make_queue: MakeTopic) -> None:
    topic = make_queue(2)
    one = make_member()
    for partition in (0, 1):
        one.fetch(topic, partition, max_wait_ms=0)
    one.ask_fetch(topic, (), forget=[1], max_wait_ms=0)
    for partition in (0, 1):
        fill(bootstrap, topic, 1, partition=partition)
    assert {partition: len(acquired(one.ask_fetch(None), partition).ranges) for partition in (0,)} == {0: 1}
    answer = one.ask_fetch(None, max_wait_ms=300)
    assert acquired(answer, 1).ranges == ()
    assert one.fetch(topic, 1).offsets == [0]


def test_a_fetch_without_anything_to_fetch_is_answered_at_once(member: ShareMember, topic: str) -> None:
    for nothing in ({"max_records": 0}, {"max_bytes": 0}):
        answer = member.ask_fetch(topic, max_wait_ms=60_000, **nothing)
        assert (answer.error_code, acquired(answer).ranges) == (0, ())


def test_a_topic_that_nobody_has(member: ShareMember) -> None:
    member.know("nobody's", NOBODYS_ID)
    answer = member.ask_fetch("nobody's", max_wait_ms=0)
    # Kafka trips over it and refuses the whole request.
    expected = UNKNOWN_TOPIC_ID if brokers.target() == "tidegate" else UNKNOWN_SERVER_ERROR
    assert (answer.error_code or acquired(answer).error_code) == expected


def test_a_partition_that_the_topic_has_not(make_member: MakeMember, topic: str) -> None:
    answer = make_member().ask_fetch(topic, (7,), max_wait_ms=0)
    assert (answer.error_code, acquired(answer, 7).error_code) == (0, 3)


@pytest.mark.parametrize("fields", [{"member_id": ""}, {"member_id": None}])
def test_requests_of_nobody(make_member: MakeMember, topic: str, fields: dict[str, object]) -> None:
    assert make_member().ask_fetch(topic, **fields).error_code == INVALID_REQUEST


def test_an_empty_partition_is_not_answered_again(
    bootstrap: str, make_member: MakeMember, make_queue: MakeTopic
) -> None:
    one, topic = make_member(), make_queue()
    one.fetch(topic, max_wait_ms=0)
    assert one.ask_fetch(None, max_wait_ms=0).responses == []
