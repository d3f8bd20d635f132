"""Acknowledgements: what each type does, what is refused how, and that a partition's are one unit."""

import pytest

from compat_tests.share.asking import prepare_group
from compat_tests.share.conftest import MakeMember, MakeTopic
from compat_tests.share.member import ACCEPT, GAP, REJECT, RELEASE, RENEW, Ack, ShareMember, acquired
from compat_tests.share.sending import fill
from compat_tests.waiting import eventually

INVALID_REQUEST, INVALID_RECORD_STATE = 42, 121


@pytest.fixture
def topic(bootstrap: str, make_queue: MakeTopic) -> str:
    """Ten records in one batch."""
    name = make_queue()
    fill(bootstrap, name, 10)
    return name


@pytest.fixture
def member(make_member: MakeMember, topic: str) -> ShareMember:
    """Who has got them all."""
    one = make_member()
    assert one.collect(topic, 10) == dict.fromkeys(range(10), 1)
    return one


def rest(make_member: MakeMember, topic: str, count: int) -> dict[int, int]:
    """What another member gets, with the counts."""
    return make_member().collect(topic, count)


@pytest.mark.parametrize("acks", [[(0, 9, ACCEPT)], [(0, 9, REJECT)], [(0, 9, GAP)], [(0, 9, [1, 3] * 5)]])
def test_what_is_settled_does_not_come_again(
    bootstrap: str, member: ShareMember, make_member: MakeMember, topic: str, acks: list[Ack]
) -> None:
    assert member.acknowledge(topic, *acks) == 0
    fill(bootstrap, topic, 1)
    assert rest(make_member, topic, 1) == {10: 1}


def test_what_is_released_comes_again(member: ShareMember, make_member: MakeMember, topic: str) -> None:
    assert member.acknowledge(topic, (0, 9, [ACCEPT, RELEASE, REJECT, RELEASE, GAP, *[ACCEPT] * 5])) == 0
    assert rest(make_member, topic, 2) == {1: 2, 3: 2}


def test_a_fetch_brings_acknowledgements(member: ShareMember, topic: str) -> None:
    answer = member.ask_fetch(topic, acks=[(0, 4, ACCEPT), (5, 9, RELEASE)])
    assert (answer.error_code, acquired(answer).acknowledge_error_code) == (0, 0)
    found = acquired(answer).counts or member.collect(topic, 5)
    assert found == dict.fromkeys(range(5, 10), 2)


@pytest.mark.parametrize(
    ("acks", "error"),
    [
        ([(5, 4, ACCEPT)], INVALID_REQUEST),
        ([(0, 4, ACCEPT), (3, 9, ACCEPT)], INVALID_REQUEST),
        ([(5, 9, ACCEPT), (0, 4, ACCEPT)], INVALID_REQUEST),
        ([(0, 9, [])], INVALID_REQUEST),
        ([(0, 9, [ACCEPT, ACCEPT])], INVALID_REQUEST),
        ([(0, 9, [ACCEPT] * 11)], INVALID_REQUEST),
        ([(0, 9, 5)], INVALID_REQUEST),
        ([(0, 9, -1)], INVALID_REQUEST),
        ([(0, 9, RENEW)], INVALID_REQUEST),
        ([(0, 10, ACCEPT)], INVALID_REQUEST),
        ([(20, 25, ACCEPT)], INVALID_REQUEST),
        ([(0, 4, ACCEPT), (20, 25, ACCEPT)], INVALID_REQUEST),
    ],
)
def test_acknowledgements_that_make_no_sense(member: ShareMember, topic: str, acks: list[Ack], error: int) -> None:
    """None of a partition's are carried out then."""
    assert member.acknowledge(topic, *acks) == error
    assert acquired(member.ask_fetch(topic, acks=acks, max_wait_ms=0)).acknowledge_error_code == error
    assert member.acknowledge(topic, (0, 9, ACCEPT)) == 0, "it has them all still"


def test_what_somebody_else_has(member: ShareMember, make_member: MakeMember, topic: str) -> None:
    other = make_member()
    other.fetch(topic, max_wait_ms=0)
    assert other.acknowledge(topic, (0, 9, ACCEPT)) == INVALID_RECORD_STATE
    assert member.acknowledge(topic, (0, 9, ACCEPT)) == 0


def test_what_is_not_acquired(member: ShareMember, topic: str) -> None:
    assert member.acknowledge(topic, (2, 3, RELEASE)) == 0
    assert member.acknowledge(topic, (2, 3, ACCEPT)) == INVALID_RECORD_STATE
    assert member.acknowledge(topic, (0, 9, ACCEPT)) == INVALID_RECORD_STATE
    assert member.acknowledge(topic, (0, 1, ACCEPT), (4, 9, ACCEPT)) == 0


def test_what_is_settled_is_acknowledged_again(bootstrap: str, member: ShareMember, topic: str) -> None:
    """Inside the window it is refused; what lies before the window is over and done with."""
    assert member.acknowledge(topic, (4, 5, ACCEPT)) == 0
    assert member.acknowledge(topic, (4, 5, ACCEPT)) == INVALID_RECORD_STATE
    assert member.acknowledge(topic, (0, 3, ACCEPT), (6, 9, ACCEPT)) == 0
    fill(bootstrap, topic, 1)
    assert member.collect(topic, 1) == {10: 1}
    assert member.acknowledge(topic, (0, 9, ACCEPT)) == 0
    assert member.acknowledge(topic, (10, 10, ACCEPT)) == 0


@pytest.mark.parametrize("version", [1, 2])
def test_one_by_one(member: ShareMember, make_member: MakeMember, topic: str, version: int) -> None:
    member.version = version
    for offset in range(10):
        assert member.acknowledge(topic, (offset, offset, RELEASE if offset % 2 else ACCEPT)) == 0
    assert rest(make_member, topic, 5) == {1: 2, 3: 2, 5: 2, 7: 2, 9: 2}


# -- renewals


def test_a_renewal_keeps_the_lock(bootstrap: str, group: str, make_member: MakeMember, topic: str) -> None:
    prepare_group(bootstrap, group, **{"share.record.lock.duration.ms": 1500})
    member, other = make_member(), make_member()
    member.collect(topic, 10)
    found: set[int] = set()

    def renewed() -> set[int]:
        assert member.acknowledge(topic, (0, 4, RENEW), is_renew_ack=True) == 0
        found.update(other.fetch(topic, max_wait_ms=300).offsets)
        return found

    eventually(renewed, {5, 6, 7, 8, 9})
    assert member.acknowledge(topic, (0, 4, ACCEPT)) == 0
    assert member.acknowledge(topic, (5, 9, ACCEPT)) == INVALID_RECORD_STATE


def test_a_renewal_tells_the_time_of_the_lock(member: ShareMember, topic: str) -> None:
    answer = member.ask_acknowledge(topic, (0, 9, RENEW), is_renew_ack=True)
    assert (answer.error_code, answer.acquisition_lock_timeout_ms) == (0, 30_000)


def test_renewals_beside_others_need_the_flag(member: ShareMember, make_member: MakeMember, topic: str) -> None:
    mixed = (0, 9, [RENEW] * 5 + [ACCEPT] * 4 + [RELEASE])
    assert member.acknowledge(topic, mixed) == INVALID_REQUEST
    assert member.acknowledge(topic, mixed, is_renew_ack=True) == 0
    assert rest(make_member, topic, 1) == {9: 2}


def test_a_fetch_that_renews_fetches_nothing(bootstrap: str, member: ShareMember, topic: str) -> None:
    fill(bootstrap, topic, 1)
    nothing = {"max_bytes": 0, "min_bytes": 0, "max_records": 0, "max_wait_ms": 0}
    answer = member.ask_fetch(topic, acks=[(0, 9, RENEW)], is_renew_ack=True, **nothing)
    found = acquired(answer)
    assert (answer.error_code, found.acknowledge_error_code, found.ranges) == (0, 0, ())
    for name, value in {"max_bytes": 1, "min_bytes": 1, "max_records": 1, "max_wait_ms": 1}.items():
        wrong = nothing | {name: value}
        answer = member.ask_fetch(topic, acks=[(0, 9, RENEW)], is_renew_ack=True, **wrong)
        assert (answer.error_code or acquired(answer).acknowledge_error_code) == INVALID_REQUEST, name


def test_renewals_that_the_group_does_not_allow(
    bootstrap: str, group: str, make_member: MakeMember, topic: str
) -> None:
    prepare_group(bootstrap, group, **{"share.renew.acknowledge.enable": "false"})
    member = make_member()
    member.collect(topic, 10)
    assert member.acknowledge(topic, (0, 9, RENEW), is_renew_ack=True) == INVALID_RECORD_STATE
    assert member.acknowledge(topic, (0, 9, ACCEPT)) == 0
