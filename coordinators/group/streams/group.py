"""A streams group (KIP-1071): its topology, its epochs, its members, what each shall have and what each has.

The broker assigns tasks. Whenever members, topics or configs change, the group's epoch is raised, and a target
assignment is computed for that epoch; each member then moves to its target on its own, as in consumer groups.

All of this is hard state: records make it, and nothing else does. Soft are the topology as it is with the topics that
there are (`configured`), what has to be looked at again (`is_stale`), who asked the application to stop, and the count
of changes of where processes answer questions.
"""

from collections.abc import Iterator
from enum import Enum, IntEnum

from attrs import define, evolve, field, frozen

from coordinators.group.streams.configuring import ConfiguredTopology
from coordinators.group.streams.record_formats import (
    NOT_VALIDATED,
    StreamsCurrentValue,
    StreamsEpochValue,
    StreamsMemberValue,
    streams_current_record,
    streams_epoch_record,
    streams_member_record,
    streams_target_epoch_record,
    streams_target_record,
    topology_record,
)
from coordinators.group.streams.requests import EndpointPartitions
from coordinators.group.streams.tasks import HeldTasks, Task, Tasks, each_task
from coordinators.group.streams.topology import Topology
from coordinators.state_machine import Record
from engine.errors import UnknownMemberId

FIRST_EPOCH = 1
"""Of a group in which nothing has happened yet: its members have no tasks, and yet an epoch of their own, for one that
is told 0 would have to join again."""


class StreamsMemberState(IntEnum):
    """By the numbers that records have."""

    STABLE = 1
    UNREVOKED_TASKS = 2
    UNRELEASED_TASKS = 3
    UNKNOWN = 127


class StreamsGroupState(Enum):
    """By the names that clients see."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


@frozen
class StreamsMember:
    """A member; never altered, always replaced."""

    member_id: str
    said: StreamsMemberValue = field(factory=StreamsMemberValue)
    epoch: int = 0
    previous_epoch: int = 0
    state: StreamsMemberState = StreamsMemberState.STABLE
    assigned: HeldTasks = field(factory=HeldTasks)
    revoking: HeldTasks = field(factory=HeldTasks)

    @property
    def process_id(self) -> str:
        return self.said.process_id

    @property
    def current(self) -> StreamsCurrentValue:
        """What a record of its assignment says."""
        return StreamsCurrentValue(self.epoch, self.previous_epoch, int(self.state), self.assigned, self.revoking)

    def with_current(self, value: StreamsCurrentValue | None) -> "StreamsMember":
        """The member as such a record says; without one, as it was made."""
        if value is None:
            return StreamsMember(self.member_id, self.said)
        known = value.state in StreamsMemberState.__members__.values()
        return evolve(
            self,
            epoch=value.epoch,
            previous_epoch=value.previous_epoch,
            state=StreamsMemberState(value.state) if known else StreamsMemberState.UNKNOWN,
            assigned=value.assigned,
            revoking=value.revoking,
        )

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is StreamsMemberState.STABLE and self.epoch == epoch

    def active(self) -> Iterator[Task]:
        """Every task that nobody else may do actively yet."""
        yield from each_task(self.assigned.active)
        yield from each_task(self.revoking.active)

    def passive(self) -> Iterator[Task]:
        """Every task that it keeps the state of without doing it."""
        for held in (self.assigned, self.revoking):
            yield from each_task(held.standby)
            yield from each_task(held.warmup)


@define(eq=False)
class StreamsGroup:
    """One group."""

    group_id: str
    epoch: int = field(default=FIRST_EPOCH, init=False)
    metadata_hash: int = field(default=0, init=False)
    validated_topology_epoch: int = field(default=NOT_VALIDATED, init=False)
    assignment_configs: tuple[tuple[str, str], ...] = field(default=(), init=False)
    assignment_epoch: int = field(default=FIRST_EPOCH, init=False)
    assigned_at_ms: int = field(default=0, init=False)
    topology: Topology | None = field(default=None, init=False)
    members: dict[str, StreamsMember] = field(factory=dict, init=False)
    targets: dict[str, Tasks] = field(factory=dict, init=False)
    is_stale: bool = field(default=True, init=False)
    configured: ConfiguredTopology | None = field(default=None, init=False)
    stopped_by: str | None = field(default=None, init=False)
    endpoint_epoch: int = field(default=0, init=False)
    # What members were told last of where processes answer, and in which of these epochs.
    told_endpoints: tuple[int, tuple[EndpointPartitions, ...]] | None = field(default=None, init=False)
    # Who does a task, and who keeps its state besides.
    _active: dict[Task, str] = field(factory=dict, init=False)
    _passive: dict[Task, set[str]] = field(factory=dict, init=False)

    def tombstones(self) -> list[Record]:
        """Records that forget all of the group but its offsets; the last one ends it."""
        group_id = self.group_id
        records = [streams_current_record(group_id, member_id, None) for member_id in self.members]
        records += [streams_target_record(group_id, member_id, None) for member_id in self.targets]
        records.append(streams_target_epoch_record(group_id, None))
        records += [streams_member_record(group_id, member_id, None) for member_id in self.members]
        records.append(topology_record(group_id, None))
        records.append(streams_epoch_record(group_id, None))
        return records

    # -- replay

    def replay_epoch(self, value: StreamsEpochValue) -> None:
        self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
        self.validated_topology_epoch = value.validated_topology_epoch
        self.assignment_configs = value.assignment_configs

    def replay_topology(self, value: Topology | None) -> None:
        self.topology, self.configured, self.is_stale = value, None, True

    def replay_member(self, member_id: str, value: StreamsMemberValue | None) -> None:
        """A member is there, or says something new; or is gone."""
        if value is None:
            self._disown(self.members.pop(member_id, None))
            if not self.members:
                self.stopped_by = None
            return
        self.members[member_id] = evolve(self.members.get(member_id) or StreamsMember(member_id), said=value)

    def replay_current(self, member_id: str, value: StreamsCurrentValue | None) -> None:
        """What a member has now. It is known already, unless compaction took the first record that told of it."""
        before = self.members.get(member_id)
        if before is None:
            if value is None:
                return
            before = StreamsMember(member_id)
        self._disown(before)
        member = self.members[member_id] = before.with_current(value)
        self._active.update(dict.fromkeys(member.active(), member_id))
        for task in member.passive():
            self._passive.setdefault(task, set()).add(member_id)

    def replay_target(self, member_id: str, value: Tasks | None) -> None:
        if value is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = value

    def replay_target_epoch(self, epoch: int = FIRST_EPOCH, timestamp_ms: int = 0) -> None:
        self.assignment_epoch, self.assigned_at_ms = epoch, timestamp_ms

    def _disown(self, member: StreamsMember | None) -> None:
        if member is None:
            return
        for task in member.active():
            # Another may have it by now: records of two members may come in either order.
            if self._active.get(task) == member.member_id:
                del self._active[task]
        for task in member.passive():
            keepers = self._passive.get(task)
            if keepers is not None:
                keepers.discard(member.member_id)
                if not keepers:
                    del self._passive[task]

    # -- looking

    @property
    def state(self) -> StreamsGroupState:
        if not self.members:
            return StreamsGroupState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_topology_epoch:
            return StreamsGroupState.NOT_READY
        if self.epoch > self.assignment_epoch:
            return StreamsGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return StreamsGroupState.STABLE
        return StreamsGroupState.RECONCILING

    @property
    def is_forgettable(self) -> bool:
        """Whether nothing would be lost with it, but offsets."""
        return not self.members

    def doer(self, task: Task) -> str | None:
        """The member that does a task, or still has to give it back."""
        return self._active.get(task)

    def keepers(self, task: Task) -> frozenset[str]:
        """The members that keep its state besides, or still have to give that back."""
        return frozenset(self._passive.get(task, ()))

    def member(self, member_id: str) -> StreamsMember:
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId(f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether members read a topic."""
        return bool(self.members) and self.topology is not None and topic in self.topology.readers

    def needs(self, topic: str) -> bool:
        """Whether it cannot run without a topic."""
        return self.topology is not None and topic in self.topology.needed_names

    def hard_state(self) -> object:
        """Everything that records say."""
        epochs = (self.epoch, self.metadata_hash, self.validated_topology_epoch, self.assignment_configs)
        assignment = (self.assignment_epoch, self.assigned_at_ms)
        return epochs, assignment, self.topology, self.members, self.targets, self._active, self._passive
