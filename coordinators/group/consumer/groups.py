"""The consumer groups of one shard, and the steps that all requests of their members share.

A request tells what is new about its member. If that raises the group's epoch, a target assignment is computed. Then
the member is brought one step nearer to its target.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from attrs import define, field

from coordinators.group.classic.group import ClassicGroup
from coordinators.group.config import GroupSettings
from coordinators.group.consumer.draft import Draft
from coordinators.group.consumer.group import ConsumerGroup, ConsumerMember, MemberState
from coordinators.group.consumer.migration import can_downgrade, downgrade_records
from coordinators.group.consumer.reconciliation import Goal, reconcile
from coordinators.group.consumer.record_formats import Assignment
from coordinators.group.consumer.sessions import ConsumerSessions
from coordinators.group_configs import GroupConfigs
from coordinators.state_machine import ShardTimers, Verdict
from coordinators.topic_view import TopicView
from engine.clock import Clock
from engine.errors import GroupMaxSizeReached

R = TypeVar("R")
ASSIGNED_AT_ONCE = 200
"""Members and partitions: for so few, a target is computed whenever something changes."""
ASSIGNED_PER_MS = 5
"""So many for every millisecond from one target to the next: then computing takes a tenth of the time at most."""


@define(eq=False)
class ConsumerGroups:
    """Groups, and the steps that change them."""

    classic: dict[str, ClassicGroup]
    topics: TopicView
    clock: Clock
    timers: ShardTimers[Any]
    settings: GroupSettings
    # Called when a group has become a classic one.
    downgraded: Callable[[str], Verdict[None]]
    configs: GroupConfigs
    groups: dict[str, ConsumerGroup] = field(factory=dict, init=False)
    sessions: ConsumerSessions = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.sessions = ConsumerSessions(self.clock, self.timers, self._session_over, self._overdue)

    def draft(self, group: ConsumerGroup) -> Draft:
        return Draft(group, self.topics, self.clock.now_ms())

    def check_room(self, group: ConsumerGroup, member_id: str) -> None:
        most = self.settings.consumer_max_size
        if len(group.members) >= most and member_id not in group.members:
            raise GroupMaxSizeReached(f"The consumer group has reached its maximum capacity of {most} members.")

    # -- steps of a request

    def update(
        self, draft: Draft, before: ConsumerMember, member: ConsumerMember, owned: Assignment | None
    ) -> ConsumerMember:
        """A member as it is now, and where that brings it; `before` is what was known of it."""
        draft.subscribe(member)
        subscription_changed = self._take_in(draft, before, member)
        if draft.epoch > draft.assignment_epoch and self.may_assign(draft.group):
            draft.compute_target(self.settings.consumer_assignors[0])
            draft.group.assigned_at, draft.group.assigned_count = self.clock.monotonic(), draft.assigned_count
        after = self._reconcile(draft, member, owned, subscription_changed=subscription_changed)
        self.touch(draft.group_id, after)
        draft.group.is_stale = False
        return after

    def may_assign(self, group: ConsumerGroup) -> bool:
        """Whether a target may be computed now. That takes the longer the larger the group is: while many members come
        or go at once, one target is for all of them."""
        size = len(group.members) + group.assigned_count
        if group.assignment_epoch == 0 or size < ASSIGNED_AT_ONCE:
            return True
        chosen_ms = self.configs.chosen(group.group_id, "consumer.assignment.interval.ms")
        most_ms = self.settings.consumer_assignment_interval_ms if chosen_ms is None else chosen_ms
        pause_ms = min(most_ms, size // ASSIGNED_PER_MS)
        return self.clock.monotonic() >= group.assigned_at + pause_ms / 1000

    def _take_in(self, draft: Draft, before: ConsumerMember, member: ConsumerMember) -> bool:
        """Raise the group's epoch if the member or the topics give reason to; whether it wants something else."""
        names_changed = set(member.subscription.topics) != set(before.subscription.topics)
        regex_changed = (member.subscription.regex or None) != (before.subscription.regex or None)
        if regex_changed:
            draft.forget_unused_regexes()
        resolved_anew = draft.resolve_regexes(again=draft.group.is_stale) if draft.has_regexes else False
        changed = draft.epoch == 0 or names_changed or regex_changed or resolved_anew
        if changed or (draft.group.is_stale and draft.topics_hash() != draft.metadata_hash):
            draft.raise_epoch()
        return names_changed or regex_changed

    def _reconcile(
        self, draft: Draft, member: ConsumerMember, owned: Assignment | None, *, subscription_changed: bool
    ) -> ConsumerMember:
        target = draft.targets.get(member.member_id, {})
        goal = Goal(draft.assignment_epoch, target, draft.ids_of(member), draft.owner)
        after = reconcile(member, goal, owned, subscription_changed=subscription_changed)
        if after.current == member.current:
            return after
        draft.assign(after)
        if after.state is MemberState.UNREVOKED_PARTITIONS:
            self._expect_revocation(draft.group_id, after)
        else:
            self.sessions.revoked(draft.group_id, after.member_id)
        return after

    # -- timers

    def touch(self, group_id: str, member: ConsumerMember) -> None:
        """A sign of life; members of the classic protocol say how long they may be silent."""
        classic = member.subscription.classic
        timeout_ms = self._session_timeout_ms(group_id) if classic is None else classic.session_timeout_ms
        self.sessions.touch(group_id, member.member_id, timeout_ms)

    def _session_timeout_ms(self, group_id: str) -> int:
        chosen_ms = self.configs.chosen(group_id, "consumer.session.timeout.ms")
        return self.settings.consumer_session_timeout_ms if chosen_ms is None else chosen_ms

    def _expect_revocation(self, group_id: str, member: ConsumerMember) -> None:
        # A member of the classic protocol is expected to join again instead.
        if member.subscription.classic is None:
            timeout_ms = member.subscription.rebalance_timeout_ms
            self.sessions.expect_revocation(group_id, member.member_id, member.epoch, timeout_ms)

    def _session_over(self, group_id: str, member_id: str) -> Verdict[None]:
        group = self.groups.get(group_id)
        member = None if group is None else group.members.get(member_id)
        return Verdict() if group is None or member is None else self.remove(group, [member], None)

    def _overdue(self, group_id: str, member_id: str, epoch: int) -> Verdict[None]:
        """A member did not give back, or did not join again, in time; unless it has gone on since."""
        group = self.groups.get(group_id)
        member = None if group is None else group.members.get(member_id)
        if group is None or member is None or member.epoch != epoch:
            return Verdict()
        return self.remove(group, [member], None)

    # -- leaving

    def remove(self, group: ConsumerGroup, members: Sequence[ConsumerMember], answer: R) -> Verdict[R]:
        """Take members out; the others learn of it as they come."""
        draft = self.draft(group)
        gone = {member.member_id: member for member in members}
        for member in members:
            self.sessions.forget(group.group_id, member.member_id)
        if all(each.subscription.classic is not None for each in group.members.values() if each.member_id not in gone):
            left = [member for member_id, member in group.members.items() if member_id not in gone]
            if can_downgrade(left, self.settings):
                return self.downgrade(draft, left, answer)
        for member in members:
            draft.remove(member)
        draft.forget_unused_regexes()
        draft.raise_epoch()
        return Verdict(draft.records, answer, reload_if_refused=True)

    def downgrade(
        self, draft: Draft, left: Sequence[ConsumerMember], answer: R, *, is_settled: bool = False
    ) -> Verdict[R]:
        """The members that are left form a classic group; it rebalances, unless everybody has its share already."""
        group_id = draft.group_id
        for member_id in draft.members:
            self.sessions.forget(group_id, member_id)
        self.timers.set(("downgraded", group_id), 0, lambda _: self.downgraded(group_id))
        records = downgrade_records(draft.group, left, self.topics, draft.now_ms, is_settled=is_settled)
        return Verdict(records, answer, reload_if_refused=True)

    # -- life

    def loaded(self) -> None:
        """Members are given a new session, and new time to give back."""
        for group in self.groups.values():
            for member in group.members.values():
                self.touch(group.group_id, member)
                if member.state is MemberState.UNREVOKED_PARTITIONS:
                    self._expect_revocation(group.group_id, member)

    def topics_changed(self, name: str) -> None:
        """A topic was made, deleted, or given more partitions: who reads it, or might, looks again."""
        for group in self.groups.values():
            group.is_stale = group.is_stale or group.might_read(name)
