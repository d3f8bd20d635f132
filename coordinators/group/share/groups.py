"""ShareGroupHeartbeat: joining, living and leaving in share groups (KIP-932), for the groups of one shard.

A heartbeat takes in what is new about its member; if that raises the group's epoch, a new target assignment is
computed; and the member is given its target. Most heartbeats change nothing and write nothing.

Kafka gives a member a partition only once the state of the two has been initialised, which takes some heartbeats. Here
it is noted as initialised with the assignment, and the partition's leader decides where to begin when first asked.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import islice
from typing import Any

from attrs import define, evolve, field

from coordinators.group.config import GroupSettings
from coordinators.group.consumer.requests import HeartbeatAnswer
from coordinators.group.consumer.sessions import ConsumerSessions
from coordinators.group.share.checks import check_share_epoch, check_share_heartbeat
from coordinators.group.share.draft import ShareDraft
from coordinators.group.share.group import JOIN_EPOCH, LEAVE_EPOCH, ShareGroup, ShareMember
from coordinators.group.share.record_formats import ShareSubscription, StateTopics, states_record
from coordinators.group.share.requests import ShareHeartbeatRequest
from coordinators.group_configs import GroupConfigs
from coordinators.state_machine import Record, ShardTimers, Verdict
from coordinators.topic_view import TopicView
from engine.clock import Clock
from engine.errors import GroupIdNotFound, GroupMaxSizeReached
from engine.ids import TopicId

ASSIGNED_AT_ONCE = 200
"""Members and partitions: for so few, a target is computed whenever something changes."""
ASSIGNED_PER_MS = 5
"""So many for every millisecond from one target to the next: then computing takes a tenth of the time at most."""
FORGOTTEN_AT_ONCE = 500
"""Of so many groups deleted topics are forgotten in one batch."""


@define(eq=False)
class ShareGroups:
    """Groups, and the steps that change them. A name belongs to one kind of group: `others` are those of other
    kinds."""

    others: Sequence[Mapping[str, object]]
    topics: TopicView
    clock: Clock
    timers: ShardTimers[Any]
    settings: GroupSettings
    configs: GroupConfigs
    groups: dict[str, ShareGroup] = field(factory=dict, init=False)
    sessions: ConsumerSessions = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.sessions = ConsumerSessions(
            self.clock, self.timers, self._session_over, lambda _group, _member, _epoch: Verdict(), "share"
        )

    # -- members

    def heartbeat(self, request: ShareHeartbeatRequest) -> Verdict[HeartbeatAnswer]:
        """A member lives, and is told where it is now."""
        check_share_heartbeat(request)
        if request.epoch == LEAVE_EPOCH:
            return self._leave(request)
        is_joining = request.epoch == JOIN_EPOCH
        group = self.existing(request.group_id, makes=is_joining)
        self._check_room(group, request.member_id)
        if is_joining:
            before = group.members.get(request.member_id) or ShareMember(request.member_id)
        else:
            before = group.member(request.member_id)
            check_share_epoch(before, request.epoch)
        draft = ShareDraft(group, self.topics, self.clock.now_ms(), evolve(before, subscription=_said(before, request)))
        after = self._brought_on(draft, before)
        self.touch(group.group_id, request.member_id)
        assignment = None
        if is_joining or request.topics is not None or after.assigned != before.assigned:
            assignment = after.assigned
        interval_ms = self.configs.share_settings(group.group_id).heartbeat_interval_ms
        return Verdict(draft.records, HeartbeatAnswer(after.member_id, after.epoch, interval_ms, assignment))

    def existing(self, group_id: str, *, makes: bool = False) -> ShareGroup:
        """The group of that name; a new one, which no record says anything about yet, if it `makes` one."""
        group = self.groups.get(group_id)
        if group is not None:
            return group
        if any(group_id in groups for groups in self.others):
            raise GroupIdNotFound(f"Group {group_id} is not a share group.")
        if not makes:
            raise GroupIdNotFound(f"Group {group_id} not found.")
        return ShareGroup(group_id)

    def _check_room(self, group: ShareGroup, member_id: str) -> None:
        most = self.settings.share_max_size
        if len(group.members) >= most and member_id not in group.members:
            raise GroupMaxSizeReached(f"The share group has reached its maximum capacity of {most} members.")

    def _brought_on(self, draft: ShareDraft, before: ShareMember) -> ShareMember:
        group = draft.group
        draft.subscribe(before)
        is_changed = set(before.subscription.topics) != set(draft.member.subscription.topics)
        if is_changed or group.epoch == 0 or (group.is_stale and draft.topics_hash() != group.metadata_hash):
            draft.raise_epoch()
        if draft.epoch > group.assignment_epoch and self._may_assign(group):
            draft.compute_target()
            group.assigned_at, group.assigned_count = self.clock.monotonic(), draft.assigned_count
        group.is_stale = False
        return draft.reconcile()

    def _may_assign(self, group: ShareGroup) -> bool:
        """Whether a target may be computed now. That takes the longer the larger the group is: while many members come
        or go at once, one target is for all of them. A group that has chosen a pause has it, whatever its size."""
        if group.assignment_epoch == 0:
            return True
        pause_ms = self.configs.chosen(group.group_id, "share.assignment.interval.ms")
        if pause_ms is None:
            size = len(group.members) + group.assigned_count
            most_ms = self.configs.share_settings(group.group_id).assignment_interval_ms
            pause_ms = 0 if size < ASSIGNED_AT_ONCE else min(most_ms, size // ASSIGNED_PER_MS)
        return self.clock.monotonic() >= group.assigned_at + pause_ms / 1000

    def touch(self, group_id: str, member_id: str) -> None:
        """A sign of life."""
        self.sessions.touch(group_id, member_id, self.configs.share_settings(group_id).session_timeout_ms)

    # -- leaving

    def _leave(self, request: ShareHeartbeatRequest) -> Verdict[HeartbeatAnswer]:
        group = self.existing(request.group_id)
        member = group.member(request.member_id)
        return Verdict(self._removed(group, member), HeartbeatAnswer(request.member_id, LEAVE_EPOCH))

    def _session_over(self, group_id: str, member_id: str) -> Verdict[None]:
        group = self.groups.get(group_id)
        member = None if group is None else group.members.get(member_id)
        return Verdict() if group is None or member is None else Verdict(self._removed(group, member))

    def _removed(self, group: ShareGroup, member: ShareMember) -> list[Record]:
        """What takes a member out; the others learn of it as they come."""
        self.sessions.forget(group.group_id, member.member_id)
        draft = ShareDraft(group, self.topics, self.clock.now_ms(), member)
        draft.remove()
        draft.raise_epoch()
        return draft.records

    # -- topics

    def topics_changed(self, name: str) -> None:
        """A topic was made, deleted, or given more partitions: who reads it looks again."""
        for group in self.groups.values():
            group.is_stale = group.is_stale or group.is_subscribed_to(name)

    def forget_topics(self, ids: Set[TopicId]) -> Verdict[bool]:
        """Topics were deleted: no group has a state in them any more. Answers whether some are left, for another
        batch."""
        found = (group for group in self.groups.values() if not ids.isdisjoint(_state_topics(group.states)))
        some = list(islice(found, FORGOTTEN_AT_ONCE))
        records = [states_record(group.group_id, without_topics(group.states, ids)) for group in some]
        return Verdict(records, len(some) == FORGOTTEN_AT_ONCE)

    # -- life

    def loaded(self) -> None:
        """Members are given a new session: they could not be heard meanwhile."""
        for group in self.groups.values():
            for member_id in group.members:
                self.touch(group.group_id, member_id)


def without_topics(states: StateTopics, ids: Set[TopicId]) -> StateTopics:
    """The same without what is about these topics."""
    return StateTopics(
        {topic_id: topic for topic_id, topic in states.initialized.items() if topic_id not in ids},
        {topic_id: name for topic_id, name in states.deleting.items() if topic_id not in ids},
        {topic_id: topic for topic_id, topic in states.initializing.items() if topic_id not in ids},
    )


def _state_topics(states: StateTopics) -> Iterable[TopicId]:
    return (*states.initialized, *states.deleting, *states.initializing)


def _said(before: ShareMember, request: ShareHeartbeatRequest) -> ShareSubscription:
    """What the member wants now: what it did not say is as before."""
    known = before.subscription
    return known._replace(
        rack_id=known.rack_id if request.rack_id is None else request.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        topics=known.topics if request.topics is None else tuple(sorted(set(request.topics))),
    )
