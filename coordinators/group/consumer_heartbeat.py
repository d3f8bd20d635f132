"""ConsumerGroupHeartbeat: joining, living and leaving in groups of the new protocol (KIP-848).

A heartbeat does three things: it takes in what is new about the member; if the group's epoch was raised it reckons a
new target assignment; and it brings the member a step nearer to its target. Most change nothing and write nothing.
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from attrs import define, evolve, field

from coordinators.group.assignors import ASSIGNORS
from coordinators.group.classic import ClassicGroup, State
from coordinators.group.consumer import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroup,
    ConsumerMember,
    MemberState,
)
from coordinators.group.consumer_checks import check_epoch, check_heartbeat
from coordinators.group.consumer_draft import Draft
from coordinators.group.consumer_formats import AssignedPartitions, Partitions, SubscriptionValue
from coordinators.group.consumer_reconciliation import Goal, reconcile
from coordinators.group.consumer_requests import NO_TIMEOUT, HeartbeatAnswer, HeartbeatRequest
from coordinators.group.consumer_sessions import ConsumerSessions
from coordinators.group.formats import group_record
from coordinators.group.settings import GroupSettings
from coordinators.runtime import Outcome, ShardTimers
from coordinators.topic_view import TopicView
from engine.clock import Clock
from engine.errors import GroupIdNotFound, GroupMaxSizeReached, UnreleasedInstanceId

# A member that waits for what others still hold comes back sooner than the others; nobody sooner than this.
LEAST_INTERVAL_MS = 200


@define(eq=False)
class ConsumerHeartbeats:
    """The consumer groups of one shard."""

    classic: dict[str, ClassicGroup]
    topics: TopicView
    clock: Clock
    timers: ShardTimers[Any]
    settings: GroupSettings
    random_bytes: Callable[[int], bytes]
    # How many members there are on this node, in all shards.
    population: Callable[[], int] | None = None
    groups: dict[str, ConsumerGroup] = field(factory=dict, init=False)
    sessions: ConsumerSessions = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.sessions = ConsumerSessions(self.clock, self.timers, self._session_over, self._revocation_overdue)

    def heartbeat(self, request: HeartbeatRequest) -> Outcome:
        """A HeartbeatAnswer."""
        check_heartbeat(request, self.settings.consumer_assignors)
        if request.epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            return self._leave(request)
        group = self._group(request)
        self._check_room(group, request)
        if request.epoch != JOIN_EPOCH:
            member = self._known_member(group, request)
            if not self._is_news(group, member, request):
                self.sessions.touch(group.group_id, member.member_id, self.settings.consumer_session_timeout_ms)
                return Outcome(response=self._answer(request, member, member))
        return self._update(group, request)

    def _is_news(self, group: ConsumerGroup, member: ConsumerMember, request: HeartbeatRequest) -> bool:
        """Whether the heartbeat can change anything."""
        is_settled = member.is_reconciled_to(group.assignment_epoch) and group.epoch == group.assignment_epoch
        return group.is_stale or not is_settled or _subscription(member.subscription, request) != member.subscription

    # -- a heartbeat that may change something

    def _update(self, group: ConsumerGroup, request: HeartbeatRequest) -> Outcome:
        draft = Draft(group, self.topics, self.clock.now_ms())
        if group.group_id in self.classic:
            # An empty group of the classic protocol makes way; its offsets stay.
            draft.records.append(group_record(group.group_id, None))
        before = self._member(draft, request)
        member = evolve(before, subscription=_subscription(before.subscription, request))
        draft.subscribe(member)
        subscription_changed = self._take_in(draft, before, member)
        if draft.epoch > draft.assignment_epoch:
            draft.reckon_target(self.settings.consumer_assignors[0])
        after = self._reconcile(draft, member, request, subscription_changed=subscription_changed)
        self.sessions.touch(group.group_id, member.member_id, self.settings.consumer_session_timeout_ms)
        group.is_stale = False
        answer = self._answer(request, before, after)
        return Outcome(draft.records, answer, reload_if_refused=True)

    def _take_in(self, draft: Draft, before: ConsumerMember, member: ConsumerMember) -> bool:
        """Raise the group's epoch if the member or the topics give reason to; whether it wants something else."""
        names_changed = set(member.subscription.topics) != set(before.subscription.topics)
        regex_changed = (member.subscription.regex or None) != (before.subscription.regex or None)
        if regex_changed:
            draft.forget_unused_regexes()
        resolved_anew = draft.resolve_regexes(again=draft.group.is_stale)
        changed = draft.epoch == 0 or names_changed or regex_changed or resolved_anew
        if changed or (draft.group.is_stale and draft.topics_hash() != draft.metadata_hash):
            draft.raise_epoch()
        return names_changed or regex_changed

    def _reconcile(
        self, draft: Draft, member: ConsumerMember, request: HeartbeatRequest, *, subscription_changed: bool
    ) -> ConsumerMember:
        target = draft.targets.get(member.member_id, {})
        goal = Goal(draft.assignment_epoch, target, draft.ids_of(member), draft.owner)
        after = reconcile(member, goal, request.owned, subscription_changed=subscription_changed)
        if after.current == member.current:
            return after
        draft.assign(after)
        if after.state is MemberState.UNREVOKED_PARTITIONS:
            timeout_ms = after.subscription.rebalance_timeout_ms
            self.sessions.expect_revocation(draft.group_id, after.member_id, after.epoch, timeout_ms)
        else:
            self.sessions.revoked(draft.group_id, after.member_id)
        return after

    def _answer(self, request: HeartbeatRequest, before: ConsumerMember, after: ConsumerMember) -> HeartbeatAnswer:
        assignment = None
        if request.epoch == JOIN_EPOCH or request.is_full or _places(before.assigned) != _places(after.assigned):
            assignment = _places(after.assigned)
        return HeartbeatAnswer(after.member_id, after.epoch, self._interval_ms(after), assignment)

    def _interval_ms(self, member: ConsumerMember) -> int:
        """When to come back: soon, as long as all members together do not come too often.

        A member learns of its new assignment only when it comes, so this is how long a rebalance takes.
        """
        most, rate = self.settings.consumer_heartbeat_interval_ms, self.settings.consumer_heartbeats_per_second
        if member.state is MemberState.UNRELEASED_PARTITIONS:
            return min(most, LEAST_INTERVAL_MS)
        if rate == 0:
            return most
        members = len(self.sessions) if self.population is None else self.population()
        return min(most, max(LEAST_INTERVAL_MS, members * 1000 // rate))

    # -- who it is

    def _group(self, request: HeartbeatRequest) -> ConsumerGroup:
        group = self.groups.get(request.group_id)
        if group is not None:
            return group
        classic = self.classic.get(request.group_id)
        if request.epoch != JOIN_EPOCH:
            raise GroupIdNotFound(f"Consumer group {request.group_id} not found.")
        if classic is not None and classic.state is not State.EMPTY:
            raise GroupIdNotFound(
                f"Cannot upgrade classic group {request.group_id} to consumer group because it has members."
            )
        return ConsumerGroup(request.group_id)

    def _check_room(self, group: ConsumerGroup, request: HeartbeatRequest) -> None:
        most = self.settings.consumer_max_size
        if len(group.members) >= most and request.member_id not in group.members:
            raise GroupMaxSizeReached(f"The consumer group has reached its maximum capacity of {most} members.")

    def _known_member(self, group: ConsumerGroup, request: HeartbeatRequest) -> ConsumerMember:
        if request.instance_id is None:
            member = group.member(request.member_id)
        else:
            member = group.known_static_member(request.instance_id, request.member_id)
        check_epoch(member, request.epoch, request.owned)
        return member

    def _member(self, draft: Draft, request: HeartbeatRequest) -> ConsumerMember:
        if request.epoch != JOIN_EPOCH:
            return self._known_member(draft.group, request)
        member_id = request.member_id or str(UUID(bytes=self.random_bytes(16), version=4))
        static = None if request.instance_id is None else draft.group.static_member(request.instance_id)
        if static is None or static.member_id == member_id:
            return draft.group.members.get(member_id) or ConsumerMember(member_id)
        if static.epoch != STATIC_LEAVE_EPOCH:
            raise UnreleasedInstanceId(
                f"Static member {member_id} with instance id {request.instance_id} cannot join the group because the "
                f"instance id is owned by member {static.member_id}."
            )
        self.sessions.forget(draft.group_id, static.member_id)
        return draft.replace(static, member_id)

    # -- leaving

    def _leave(self, request: HeartbeatRequest) -> Outcome:
        group = self.groups.get(request.group_id)
        if group is None:
            raise GroupIdNotFound(f"Group {request.group_id} not found.")
        answer = HeartbeatAnswer(request.member_id, request.epoch)
        if request.instance_id is None:
            return self._remove(group, group.member(request.member_id), answer)
        member = group.known_static_member(request.instance_id, request.member_id)
        if request.epoch == LEAVE_EPOCH:
            return self._remove(group, member, answer)
        # It will be back: what it has is kept for it until its session ends.
        draft = Draft(group, self.topics, self.clock.now_ms())
        draft.assign(evolve(member, epoch=STATIC_LEAVE_EPOCH, revoking={}))
        self.sessions.revoked(group.group_id, member.member_id)
        return Outcome(draft.records, answer)

    def _remove(self, group: ConsumerGroup, member: ConsumerMember, answer: HeartbeatAnswer | None = None) -> Outcome:
        """Take a member out; the others learn of it as they come."""
        draft = Draft(group, self.topics, self.clock.now_ms())
        draft.remove(member)
        draft.forget_unused_regexes()
        draft.raise_epoch()
        self.sessions.forget(group.group_id, member.member_id)
        return Outcome(draft.records, answer, reload_if_refused=True)

    def _session_over(self, group_id: str, member_id: str) -> Outcome:
        group = self.groups.get(group_id)
        member = None if group is None else group.members.get(member_id)
        return Outcome() if group is None or member is None else self._remove(group, member)

    def _revocation_overdue(self, group_id: str, member_id: str, epoch: int) -> Outcome:
        group = self.groups.get(group_id)
        member = None if group is None else group.members.get(member_id)
        if group is None or member is None or member.epoch != epoch:
            return Outcome()
        return self._remove(group, member)

    # -- life

    def loaded(self) -> None:
        """Members are given a new session, and new time to give back."""
        for group in self.groups.values():
            for member in group.members.values():
                self.sessions.touch(group.group_id, member.member_id, self.settings.consumer_session_timeout_ms)
                if member.state is MemberState.UNREVOKED_PARTITIONS:
                    timeout_ms = member.subscription.rebalance_timeout_ms
                    self.sessions.expect_revocation(group.group_id, member.member_id, member.epoch, timeout_ms)

    def topics_changed(self, name: str) -> None:
        """A topic was made, deleted, or given more partitions: who reads it, or might, looks again."""
        for group in self.groups.values():
            wants = any(name in each.subscription.topics or each.subscription.regex for each in group.members.values())
            group.is_stale = group.is_stale or wants


def _subscription(before: SubscriptionValue, request: HeartbeatRequest) -> SubscriptionValue:
    """What the member wants now: what it did not say is as before."""
    timeout_ms = request.rebalance_timeout_ms
    return before._replace(
        instance_id=before.instance_id if request.instance_id is None else request.instance_id,
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        topics=before.topics if request.topics is None else tuple(sorted(set(request.topics))),
        regex=before.regex if request.regex is None else request.regex,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == NO_TIMEOUT else timeout_ms,
        assignor=before.assignor if request.assignor is None else request.assignor,
        classic=None,
    )


def _places(partitions: AssignedPartitions) -> Partitions:
    return {topic_id: frozenset(indexes) for topic_id, indexes in partitions.items()}


assert set(GroupSettings().consumer_assignors) <= ASSIGNORS.keys()
