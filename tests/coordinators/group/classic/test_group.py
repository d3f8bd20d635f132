"""A classic group by itself: states, members, votes, subscriptions."""

from typing import Any

import pytest

from coordinators.group.classic.group import ClassicGroup, GroupState
from coordinators.group.classic.members import Member
from engine.errors import FencedInstanceId, UnknownMemberId

TOPICS = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"


def member(name: str, *protocols: str, **options: Any) -> Member:
    known = tuple((protocol, options.get("metadata", TOPICS)) for protocol in protocols or ("range",))
    return Member(name, options.get("instance"), "c", "h", options.get("rebalance_ms", 1), 1, "consumer", known)


def group_of(*members: Member) -> ClassicGroup:
    group = ClassicGroup("g")
    for each in members:
        group.add(each)
    return group


@pytest.mark.parametrize(
    ("wishes", "selected"),
    [
        ([("a", "b")], {"a"}),
        ([("a", "b"), ("b", "a"), ("b", "a")], {"b"}),
        ([("a", "b"), ("b",)], {"b"}),
        ([("a", "b"), ("b", "a")], {"a", "b"}),
    ],
)
def test_members_vote_for_their_first_protocol_that_all_know(wishes: list[tuple[str, ...]], selected: set[str]) -> None:
    group = group_of(*(member(str(number), *names) for number, names in enumerate(wishes)))
    assert group.selected_protocol() in selected


@pytest.mark.parametrize(
    ("protocol_type", "protocols", "supported"),
    [("consumer", "a", True), ("consumer", "b", False), ("connect", "a", False)],
)
def test_a_newcomer_shares_a_protocol_with_all(protocol_type: str, protocols: str, supported: bool) -> None:
    group = group_of(member("one", "a", "b"), member("two", "a"))
    group.state = GroupState.STABLE
    assert group.supports(protocol_type, ((protocols, b""),)) is supported


def test_the_first_member_leads_and_the_next_one_after_it() -> None:
    group = group_of(member("one"), member("two"))
    assert group.leader == "one"
    group.remove("one")
    assert group.leader == "two"
    group.remove("two")
    assert group.leader is None


def test_a_leader_who_has_not_joined_is_replaced_by_one_who_has() -> None:
    group = group_of(member("one"), member("two"))
    assert not group.elect_joined_leader()
    group.keep_waiting(group.members["two"])
    assert group.elect_joined_leader()
    assert group.leader == "two"


def test_requests_of_strangers_are_refused() -> None:
    group = group_of(member("one", instance="static"))
    assert group.check_member("one", "static").member_id == "one"
    with pytest.raises(UnknownMemberId):
        group.check_member("two", None)
    with pytest.raises(UnknownMemberId):
        group.check_member("one", "other")
    with pytest.raises(FencedInstanceId):
        group.check_member("two", "static")


def test_a_static_member_is_replaced_in_its_place() -> None:
    group = group_of(member("one", instance="static"), member("two"))
    group.unsynced = {"one"}
    group.replace(group.members["one"], "new")
    assert (list(group.members), group.leader, group.unsynced) == (["new", "two"], "new", {"new"})
    assert group.static_member("static") is group.members["new"]


def test_a_round_lasts_as_long_as_the_most_patient_member_allows() -> None:
    assert group_of(member("one", rebalance_ms=5), member("two", rebalance_ms=9)).rebalance_timeout_ms == 9


def test_a_group_knows_what_its_members_subscribe_to() -> None:
    group = group_of(member("one"))
    group.next_generation()
    assert group.is_subscribed_to("t")
    assert not group.is_subscribed_to("u")


def test_a_subscription_that_cannot_be_read_might_be_to_anything() -> None:
    group = group_of(member("one"), member("two", metadata=b"?"))
    group.next_generation()
    assert group.is_subscribed_to("u")


def test_a_record_of_the_group_brings_it_back() -> None:
    group = group_of(member("one", instance="static"), member("two"))
    group.next_generation()
    value = group.record_value({"one": b"1", "two": b"2"}, 77)
    back = ClassicGroup("g")
    back.adopt(value)
    assert (back.state, back.generation, back.protocol, back.leader) == (GroupState.STABLE, 1, "range", "one")
    assert [each.assignment for each in back.members.values()] == [b"1", b"2"]
    assert back.static_member("static") is back.members["one"]
    assert back.record_value({"one": b"1", "two": b"2"}, 77) == value


def test_a_state_is_not_skipped() -> None:
    group = ClassicGroup("g")
    with pytest.raises(AssertionError):
        group.enter(GroupState.COMPLETING_REBALANCE, 0)
