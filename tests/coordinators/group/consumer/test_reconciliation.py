"""A member's way to its target, step by step."""

import pytest
from attrs import evolve

from coordinators.group.consumer.group import ConsumerMember, MemberState
from coordinators.group.consumer.reconciliation import Goal, reconcile
from coordinators.group.consumer.record_formats import Assignment
from engine.errors import FencedMemberEpoch

T, U = b"t" * 16, b"u" * 16
STABLE, UNREVOKED, UNRELEASED = (
    MemberState.STABLE,
    MemberState.UNREVOKED_PARTITIONS,
    MemberState.UNRELEASED_PARTITIONS,
)


def goal(
    target: Assignment, epoch: int = 2, held: dict[int, str] | None = None, topics: tuple[bytes, ...] = (T,)
) -> Goal:
    return Goal(epoch, target, frozenset(topics), lambda _topic, index: (held or {}).get(index))


def member(*partitions: int, epoch: int = 1, state: MemberState = STABLE) -> ConsumerMember:
    assigned = {T: dict.fromkeys(partitions, epoch)} if partitions else {}
    return ConsumerMember("m", epoch=epoch, previous_epoch=0, state=state, assigned=assigned)


def test_what_is_free_is_given_at_once_and_with_its_epoch() -> None:
    after = reconcile(member(0), goal({T: frozenset({0, 1})}), None)
    assert (after.state, after.epoch, after.previous_epoch) == (STABLE, 2, 1)
    assert after.assigned == {T: {0: 1, 1: 2}}


def test_what_is_not_in_the_target_is_asked_back_in_the_old_epoch() -> None:
    after = reconcile(member(0, 1), goal({T: frozenset({0})}), None)
    assert (after.state, after.epoch) == (UNREVOKED, 1)
    assert (after.assigned, after.revoking) == ({T: {0: 1}}, {T: {1: 1}})


def test_a_member_goes_on_when_it_reports_that_it_gave_back() -> None:
    waiting = reconcile(member(0, 1), goal({T: frozenset({0, 2})}), None)
    assert reconcile(waiting, goal({T: frozenset({0, 2})}), None) is waiting, "it said nothing"
    assert reconcile(waiting, goal({T: frozenset({0, 2})}), {T: frozenset({0, 1})}) is waiting, "it still owns 1"
    after = reconcile(waiting, goal({T: frozenset({0, 2})}), {T: frozenset({0})})
    assert (after.state, after.epoch, after.assigned, after.revoking) == (STABLE, 2, {T: {0: 1, 2: 2}}, {})


def test_a_member_that_has_given_back_before_it_was_asked_goes_on_at_once() -> None:
    after = reconcile(member(0, 1), goal({T: frozenset({0})}), {T: frozenset({0})})
    assert (after.state, after.epoch) == (STABLE, 2)


def test_what_another_holds_is_waited_for_while_the_rest_is_read() -> None:
    target: Assignment = {T: frozenset({0, 1, 2})}
    waiting = reconcile(member(0), goal(target, held={1: "other"}), None)
    assert (waiting.state, waiting.epoch, waiting.assigned) == (UNRELEASED, 2, {T: {0: 1, 2: 2}})
    after = reconcile(waiting, goal(target), None)
    assert (after.state, after.assigned) == (STABLE, {T: {0: 1, 1: 2, 2: 2}})


def test_a_member_may_get_back_what_it_was_about_to_give_back() -> None:
    waiting = reconcile(member(0, 1), goal({T: frozenset({0})}), None)
    after = reconcile(waiting, goal({T: frozenset({0, 1})}, epoch=3, held={1: "m"}), {T: frozenset({0})})
    assert (after.state, after.assigned) == (STABLE, {T: {0: 1, 1: 3}})


def test_a_topic_that_it_wants_no_more_is_asked_back_before_a_new_target_is_there() -> None:
    after = reconcile(member(0), goal({T: frozenset({0})}, epoch=1, topics=(U,)), None, subscription_changed=True)
    assert (after.state, after.assigned, after.revoking) == (UNREVOKED, {}, {T: {0: 1}})


def test_a_settled_member_stays_as_it_is() -> None:
    settled = member(0)
    assert reconcile(settled, goal({T: frozenset({0})}, epoch=1), None) is settled


def test_a_state_of_a_later_version_is_left_by_joining_again() -> None:
    strange = evolve(member(), state=MemberState.UNKNOWN)
    with pytest.raises(FencedMemberEpoch):
        reconcile(strange, goal({}), None)
    assert reconcile(strange, goal({}), {}).state is STABLE
