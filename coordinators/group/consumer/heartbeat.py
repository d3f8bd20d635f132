"""ConsumerGroupHeartbeat: joining, living and leaving in groups of the new protocol (KIP-848).

A heartbeat does three things. It takes in what is new about the member; if that raises the group's epoch, a new target
assignment is computed; and it brings the member one step nearer to its target. Most heartbeats change nothing and
write nothing.
"""

from collections.abc import Callable
from uuid import UUID

from attrs import define, evolve

from coordinators.group.classic.group import ClassicGroup, GroupState
from coordinators.group.config import GroupSettings
from coordinators.group.consumer.checks import check_epoch, check_heartbeat
from coordinators.group.consumer.draft import Draft
from coordinators.group.consumer.group import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroup,
    ConsumerMember,
    MemberState,
)
from coordinators.group.consumer.groups import ConsumerGroups
from coordinators.group.consumer.migration import check_upgrade, upgrade_records
from coordinators.group.consumer.record_formats import AssignedPartitions, Assignment, SubscriptionValue
from coordinators.group.consumer.replay import ConsumerReplay
from coordinators.group.consumer.requests import NO_TIMEOUT, HeartbeatAnswer, HeartbeatRequest
from coordinators.group.offsets import Offsets
from coordinators.group.pace import HeartbeatPace
from coordinators.group.record_formats import group_record
from coordinators.state_machine import Effects, Verdict
from engine.errors import GroupIdNotFound, RebalanceInProgress, UnreleasedInstanceId


@define(eq=False)
class ConsumerHeartbeats:
    """Answers the members of one shard's consumer groups."""

    consumers: ConsumerGroups
    random_bytes: Callable[[int], bytes]
    pace: HeartbeatPace

    @property
    def settings(self) -> GroupSettings:
        return self.consumers.settings

    def heartbeat(self, request: HeartbeatRequest) -> Verdict[HeartbeatAnswer]:
        """A HeartbeatAnswer."""
        check_heartbeat(request, self.settings.consumer_assignors)
        if request.epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            return self._leave(request)
        group = self.consumers.groups.get(request.group_id)
        if group is None:
            return self._join_other(request)
        self.consumers.check_room(group, request.member_id)
        if request.epoch != JOIN_EPOCH:
            member = self._known_member(group, request)
            if not self._is_news(group, member, request):
                self.consumers.touch(group.group_id, member)
                return Verdict(response=self._answer(request, member, member))
        return self._update(self.consumers.draft(group), request, Effects())

    def _is_news(self, group: ConsumerGroup, member: ConsumerMember, request: HeartbeatRequest) -> bool:
        """Whether the heartbeat can change anything."""
        is_settled = member.is_reconciled_to(group.assignment_epoch)
        is_due = group.epoch > group.assignment_epoch and self.consumers.may_assign(group)
        return (
            group.is_stale
            or is_due
            or not is_settled
            or _subscription(member.subscription, request) != member.subscription
        )

    def _update(self, draft: Draft, request: HeartbeatRequest, effects: Effects) -> Verdict[HeartbeatAnswer]:
        draft.sees = request.sees
        before = self._member(draft, request)
        member = evolve(before, subscription=_subscription(before.subscription, request))
        after = self.consumers.update(draft, before, member, request.owned)
        effects.records += draft.records
        effects.reload_if_refused = True
        return effects.verdict(self._answer(request, before, after))

    def _answer(self, request: HeartbeatRequest, before: ConsumerMember, after: ConsumerMember) -> HeartbeatAnswer:
        assignment = None
        if request.epoch == JOIN_EPOCH or request.is_full or _places(before.assigned) != _places(after.assigned):
            assignment = _places(after.assigned)
        return HeartbeatAnswer(after.member_id, after.epoch, self._interval_ms(request.group_id, after), assignment)

    def _interval_ms(self, group_id: str, member: ConsumerMember) -> int:
        """When to come back: as the group has chosen; else soon, as long as there are not too many members."""
        chosen_ms = self.consumers.configs.chosen(group_id, "consumer.heartbeat.interval.ms")
        if chosen_ms is not None:
            return chosen_ms
        waits = member.state is MemberState.UNRELEASED_PARTITIONS
        return self.pace.interval_ms(self.settings.consumer_heartbeat_interval_ms, waits=waits)

    # -- who it is

    def _join_other(self, request: HeartbeatRequest) -> Verdict[HeartbeatAnswer]:
        """Join a group that is new, or that was one of the classic protocol so far."""
        if request.epoch != JOIN_EPOCH:
            raise GroupIdNotFound(f"Consumer group {request.group_id} not found.")
        classic = self.consumers.classic.get(request.group_id)
        effects = Effects()
        if classic is None:
            group = ConsumerGroup(request.group_id)
        elif classic.state is GroupState.EMPTY:
            # It makes way; its offsets stay.
            effects.records.append(group_record(request.group_id, None))
            group = ConsumerGroup(request.group_id)
        else:
            group = self._upgraded(classic, effects)
        self.consumers.check_room(group, request.member_id)
        return self._update(self.consumers.draft(group), request, effects)

    def _upgraded(self, classic: ClassicGroup, effects: Effects) -> ConsumerGroup:
        """A group with members goes on in the new protocol; who waits for an answer joins again."""
        check_upgrade(classic, self.settings)
        records = upgrade_records(classic, self.consumers.topics)
        groups: dict[str, ConsumerGroup] = {}
        replays = ConsumerReplay(groups, {}, Offsets()).by_key()
        for record in records[1:]:
            replays[int.from_bytes(record.key[:2], "big")](record, -1)
        group = groups[classic.group_id]
        effects.records += records
        again = RebalanceInProgress(f"group {classic.group_id!r} goes on in the new consumer protocol")
        for member in classic.members.values():
            effects.refuse(member.join, again)
            effects.refuse(member.sync, again)
            self.consumers.touch(group.group_id, group.members[member.member_id])
        return group

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
        if static.epoch != STATIC_LEAVE_EPOCH and static.subscription.classic is None:
            raise UnreleasedInstanceId(
                f"Static member {member_id} with instance id {request.instance_id} cannot join the group because the "
                f"instance id is owned by member {static.member_id}."
            )
        self.consumers.sessions.forget(draft.group_id, static.member_id)
        return draft.replace(static, member_id)

    # -- leaving

    def _leave(self, request: HeartbeatRequest) -> Verdict[HeartbeatAnswer]:
        group = self.consumers.groups.get(request.group_id)
        if group is None:
            raise GroupIdNotFound(f"Group {request.group_id} not found.")
        answer = HeartbeatAnswer(request.member_id, request.epoch)
        if request.instance_id is None:
            return self.consumers.remove(group, [group.member(request.member_id)], answer)
        member = group.known_static_member(request.instance_id, request.member_id)
        if request.epoch == LEAVE_EPOCH:
            return self.consumers.remove(group, [member], answer)
        # It will be back: what it has is kept for it until its session ends.
        draft = self.consumers.draft(group)
        draft.assign(evolve(member, epoch=STATIC_LEAVE_EPOCH, revoking={}))
        self.consumers.sessions.revoked(group.group_id, member.member_id)
        return Verdict(draft.records, answer)


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


def _places(partitions: AssignedPartitions) -> Assignment:
    return {topic_id: frozenset(indexes) for topic_id, indexes in partitions.items()}
