"""The streams groups of one shard, and the steps that follow from time: sessions, delays, members that stay silent."""

from typing import Any, TypeVar

from attrs import define, field

from coordinators.group.classic.group import ClassicGroup
from coordinators.group.consumer.sessions import ConsumerSessions
from coordinators.group.streams.configuring import ConfiguredTopology, configure
from coordinators.group.streams.draft import STANDBYS, StreamsDraft
from coordinators.group.streams.group import StreamsGroup, StreamsMember, StreamsMemberState
from coordinators.group.streams.requests import StreamsStatus, StreamsStatusCode
from coordinators.group_configs import GroupConfigs
from coordinators.state_machine import ShardTimers, Verdict
from coordinators.topic_view import TopicView
from engine.clock import Clock
from engine.errors import GroupMaxSizeReached

R = TypeVar("R")
ASSIGNED_AT_ONCE = 1_000
"""Members and tasks: from so many on, computing a target takes a while."""
ASSIGNED_PER_MS = 15
"""So many for every millisecond from one target to the next."""


@define(eq=False)
class StreamsGroups:
    """Groups, and the steps that change them."""

    classic: dict[str, ClassicGroup]
    topics: TopicView
    clock: Clock
    timers: ShardTimers[Any]
    configs: GroupConfigs
    max_size: int
    groups: dict[str, StreamsGroup] = field(factory=dict, init=False)
    sessions: ConsumerSessions = field(init=False)
    # New groups that still wait for more members before their first assignment.
    _waiting: set[str] = field(factory=set, init=False)

    def __attrs_post_init__(self) -> None:
        self.sessions = ConsumerSessions(self.clock, self.timers, self._session_over, self._overdue, "streams")

    def draft(self, group: StreamsGroup) -> StreamsDraft:
        return StreamsDraft(group, self.clock.now_ms())

    def check_room(self, group: StreamsGroup, member_id: str) -> None:
        most = self.max_size
        if len(group.members) >= most and member_id not in group.members:
            raise GroupMaxSizeReached(f"The streams group has reached its maximum capacity of {most} members.")

    # -- steps of a request

    def take_in(self, draft: StreamsDraft, *, changed: bool) -> ConfiguredTopology:
        """Raise the group's epoch if the member, the topics or the configs give reason to; the topics as they are."""
        group, value = draft.group, draft.value
        assert draft.topology is not None, "a group begins with its topology"
        configured, metadata_hash = group.configured, value.metadata_hash
        if configured is None or group.is_stale:
            metadata_hash = draft.topics_hash(self.topics)
            configured = configure(draft.topology, self.topics)
        validated = draft.topology.epoch if configured.is_ready else -1
        standbys = self.configs.streams_settings(draft.group_id).num_standby_replicas
        wanted = value._replace(
            metadata_hash=metadata_hash,
            validated_topology_epoch=validated,
            assignment_configs=((STANDBYS, str(standbys)),),
        )
        if changed or wanted != value:
            draft.raise_epoch(wanted)
        group.configured, group.is_stale = configured, False
        return configured

    def update_target(self, draft: StreamsDraft, configured: ConfiguredTopology) -> StreamsStatus | None:
        """Compute a target if one is due; why not, if it has to wait."""
        if not draft.group.members:
            self._wait_for_more(draft.group_id)
        if draft.group_id in self._waiting:
            return _delayed("initial rebalance delay")
        if draft.assignment_epoch >= draft.epoch:
            return None
        if not self._may_assign(draft.group):
            return _delayed("assignment interval")
        draft.compute_target(configured)
        return None

    def _may_assign(self, group: StreamsGroup) -> bool:
        """Whether the last target is old enough; one from the future is of a clock that was set back. However short
        the interval, computing takes a tenth of the time at most."""
        interval_ms = self.configs.streams_settings(group.group_id).assignment_interval_ms
        tasks = sum(group.configured.task_counts.values()) if group.configured is not None else 0
        if tasks + len(group.members) >= ASSIGNED_AT_ONCE:
            interval_ms = max(interval_ms, (tasks + len(group.members)) // ASSIGNED_PER_MS)
        age_ms = self.clock.now_ms() - group.assigned_at_ms
        return group.assigned_at_ms == 0 or age_ms >= interval_ms or age_ms < 0

    def _wait_for_more(self, group_id: str) -> None:
        delay_ms = self.configs.streams_settings(group_id).initial_rebalance_delay_ms
        if delay_ms == 0 or group_id in self._waiting:
            return

        def over(_: object) -> Verdict[None]:
            self._waiting.discard(group_id)
            return self._assign_first(group_id)

        self._waiting.add(group_id)
        self.timers.set(("streams delay", group_id), delay_ms, over)

    def _assign_first(self, group_id: str) -> Verdict[None]:
        group = self.groups.get(group_id)
        if group is None or not group.members or group.topology is None or group.assignment_epoch >= group.epoch:
            return Verdict()
        draft = self.draft(group)
        draft.compute_target(self.take_in(draft, changed=False))
        return Verdict(draft.records, reload_if_refused=True)

    def follow_up(self, group_id: str, member: StreamsMember) -> None:
        """A sign of life; and whoever has to give back is given time."""
        self.sessions.touch(group_id, member.member_id, self.configs.streams_settings(group_id).session_timeout_ms)
        if member.state is not StreamsMemberState.UNREVOKED_TASKS:
            self.sessions.revoked(group_id, member.member_id)

    def expect_revocation(self, group_id: str, member: StreamsMember) -> None:
        """The member was told to give tasks back."""
        timeout_ms = member.said.rebalance_timeout_ms
        self.sessions.expect_revocation(group_id, member.member_id, member.epoch, timeout_ms)

    # -- timers

    def _session_over(self, group_id: str, member_id: str) -> Verdict[None]:
        group = self.groups.get(group_id)
        member = None if group is None else group.members.get(member_id)
        return Verdict() if group is None or member is None else self.remove(group, member, None)

    def _overdue(self, group_id: str, member_id: str, epoch: int) -> Verdict[None]:
        """A member did not give back in time; unless it has gone on since."""
        group = self.groups.get(group_id)
        member = None if group is None else group.members.get(member_id)
        if group is None or member is None or member.epoch != epoch:
            return Verdict()
        return self.remove(group, member, None)

    # -- leaving

    def remove(self, group: StreamsGroup, member: StreamsMember, answer: R) -> Verdict[R]:
        """Take a member out; the others learn of it as they come."""
        self.sessions.forget(group.group_id, member.member_id)
        draft = self.draft(group)
        draft.remove(member)
        draft.raise_epoch()
        return Verdict(draft.records, answer, reload_if_refused=True)

    # -- life

    def loaded(self) -> None:
        """Members are given a new session, and new time to give back."""
        for group in self.groups.values():
            for member in group.members.values():
                self.follow_up(group.group_id, member)
                if member.state is StreamsMemberState.UNREVOKED_TASKS:
                    self.expect_revocation(group.group_id, member)

    def topics_changed(self, name: str) -> None:
        """A topic was made, deleted, or given more partitions: who needs it looks again."""
        for group in self.groups.values():
            group.is_stale = group.is_stale or group.needs(name)


def _delayed(reason: str) -> StreamsStatus:
    return StreamsStatus(StreamsStatusCode.ASSIGNMENT_DELAYED, f"Assignment delayed due to the configured {reason}.")
