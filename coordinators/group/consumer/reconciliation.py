"""How a member of a consumer group goes from what it has to what it shall have (KIP-848), one heartbeat at a time.

First it gives back what is not in its target: until it reports that it has, it stays in its epoch, in state
UNREVOKED_PARTITIONS. Then it enters the target's epoch and gets what is free; if others still hold some of it, it
waits for those in state UNRELEASED_PARTITIONS, and reads the rest meanwhile. What it keeps never stops.
"""

from collections.abc import Callable, Mapping

from attrs import evolve, frozen

from coordinators.group.consumer.group import ConsumerMember, MemberState
from coordinators.group.consumer.record_formats import AssignedPartitions, Assignment
from engine.errors import FencedMemberEpoch
from engine.ids import TopicId

Owned = Mapping[TopicId, frozenset[int]]


@frozen
class Goal:
    """Where a member shall go."""

    epoch: int
    target: Assignment
    # Topics that it wants now: a target that was computed before may hold others.
    topics: frozenset[TopicId]
    # Who has a partition, or still has to give it back.
    owner: Callable[[TopicId, int], str | None]


def reconcile(
    member: ConsumerMember, goal: Goal, owned: Owned | None, *, subscription_changed: bool = False
) -> ConsumerMember:
    """The member as it is after this heartbeat; `owned` is what it reports to have, None if it reports nothing."""
    if member.state is MemberState.STABLE:
        if member.epoch != goal.epoch:
            return _next(member, goal, owned)
        return _without_unwanted(member, goal, owned) if subscription_changed else member
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if not _still_owns(member.revoking, owned):
            return _next(member, goal, owned)
        return _without_unwanted(member, goal, owned) if subscription_changed else member
    if member.state is MemberState.UNKNOWN and (owned is None or owned):
        raise FencedMemberEpoch("The member is in a state that is not known; it gives all up and joins again.")
    return _next(member, goal, owned)


def _still_owns(partitions: AssignedPartitions, owned: Owned | None) -> bool:
    """Whether it reports any of these, or nothing at all."""
    if owned is None:
        return True
    return any(not indexes.isdisjoint(partitions.get(topic_id, {})) for topic_id, indexes in owned.items())


def _without_unwanted(member: ConsumerMember, goal: Goal, owned: Owned | None) -> ConsumerMember:
    """Give back topics that the member does not want any more, and leave the rest for later."""
    unwanted = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id not in goal.topics}
    if not unwanted:
        return member
    assigned = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id in goal.topics}
    revoking = dict(member.revoking)
    for topic_id, epochs in unwanted.items():
        revoking[topic_id] = {**revoking.get(topic_id, {}), **epochs}
    if not _still_owns(revoking, owned):
        return evolve(member, previous_epoch=member.epoch, assigned=assigned)
    return evolve(
        member,
        state=MemberState.UNREVOKED_PARTITIONS,
        previous_epoch=member.epoch,
        assigned=assigned,
        revoking=revoking,
    )


def _next(member: ConsumerMember, goal: Goal, owned: Owned | None) -> ConsumerMember:
    assigned: dict[TopicId, dict[int, int]] = {}
    revoking: dict[TopicId, dict[int, int]] = {}
    free: dict[TopicId, list[int]] = {}
    has_unreleased = False
    for topic_id in sorted(goal.target.keys() | member.assigned.keys()):
        target = goal.target.get(topic_id, frozenset()) if topic_id in goal.topics else frozenset()
        had = member.assigned.get(topic_id, {})
        kept = {index: epoch for index, epoch in had.items() if index in target}
        given_back = {index: epoch for index, epoch in had.items() if index not in target}
        missing = sorted(target - kept.keys())
        # What it holds itself, because it has just given it back, is free for it.
        available = [index for index in missing if goal.owner(topic_id, index) in (None, member.member_id)]
        has_unreleased = has_unreleased or len(available) < len(missing)
        if kept:
            assigned[topic_id] = kept
        if given_back:
            revoking[topic_id] = given_back
        if available:
            free[topic_id] = available
    if revoking and _still_owns(revoking, owned):
        return evolve(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            previous_epoch=member.epoch,
            assigned=assigned,
            revoking=revoking,
        )
    for topic_id, indexes in free.items():
        assigned.setdefault(topic_id, {}).update(dict.fromkeys(indexes, goal.epoch))
    return evolve(
        member,
        state=MemberState.UNRELEASED_PARTITIONS if has_unreleased else MemberState.STABLE,
        epoch=goal.epoch,
        previous_epoch=member.epoch,
        assigned=assigned,
        revoking={},
    )
