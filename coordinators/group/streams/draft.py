"""A streams group as it will be after an operation: the records gathered so far, and the state that they make.

An operation changes nothing itself, but each of its steps has to see what the steps before it decided.
"""

import logging

from attrs import define, field

from coordinators.group.consumer.draft import Overlay, hash_of_topics
from coordinators.group.streams.assignor import TaskCandidate, TaskSource, assign_sticky
from coordinators.group.streams.configuring import ConfiguredTopology
from coordinators.group.streams.group import StreamsGroup, StreamsMember
from coordinators.group.streams.reconciliation import StreamsGoal, reconcile_tasks
from coordinators.group.streams.record_formats import (
    StreamsEpochValue,
    streams_current_record,
    streams_epoch_record,
    streams_member_record,
    streams_target_epoch_record,
    streams_target_record,
    topology_record,
)
from coordinators.group.streams.tasks import Task, Tasks
from coordinators.group.streams.topology import Topology
from coordinators.state_machine import Record
from coordinators.topic_view import TopicView

logger = logging.getLogger("tidegate.groups")

STANDBYS = "num.standby.replicas"
"""By this name the group keeps what it was assigned with."""


@define(eq=False)
class StreamsDraft:
    """What would be."""

    group: StreamsGroup
    now_ms: int
    records: list[Record] = field(factory=list)
    members: Overlay[str, StreamsMember] = field(init=False)
    targets: Overlay[str, Tasks] = field(init=False)
    topology: Topology | None = field(init=False)
    value: StreamsEpochValue = field(init=False)
    assignment_epoch: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        group = self.group
        self.members, self.targets = Overlay(group.members), Overlay(group.targets)
        self.topology, self.assignment_epoch = group.topology, group.assignment_epoch
        self.value = StreamsEpochValue(
            group.epoch, group.metadata_hash, group.validated_topology_epoch, group.assignment_configs
        )

    @property
    def group_id(self) -> str:
        return self.group.group_id

    @property
    def epoch(self) -> int:
        return self.value.epoch

    # -- members

    def introduce(self, member: StreamsMember) -> bool:
        """A member is there; whether it is new, or says something new."""
        before = self.members.get(member.member_id)
        self.members[member.member_id] = member
        if before is not None and before.said == member.said:
            return False
        self.records.append(streams_member_record(self.group_id, member.member_id, member.said))
        return True

    def assign(self, member: StreamsMember) -> None:
        """A member has something else now."""
        self.members[member.member_id] = member
        self.records.append(streams_current_record(self.group_id, member.member_id, member.current))

    def remove(self, member: StreamsMember) -> None:
        """A member is gone, with all it had."""
        group_id, member_id = self.group_id, member.member_id
        self.records += [
            streams_current_record(group_id, member_id, None),
            streams_target_record(group_id, member_id, None),
            streams_member_record(group_id, member_id, None),
        ]
        del self.members[member_id]
        self.targets.pop(member_id, None)

    def reconcile(self, member: StreamsMember, target: Tasks, owned: Tasks | None) -> StreamsMember:
        """The member one step nearer to its target."""
        group, own_id = self.group, member.member_id

        def doing_process(task: Task) -> str | None:
            doer = group.doer(task)
            return None if doer is None or doer == own_id else group.members[doer].process_id

        def keeping_processes(task: Task) -> frozenset[str]:
            return frozenset(group.members[each].process_id for each in group.keepers(task) if each != own_id)

        goal = StreamsGoal(self.assignment_epoch, target, doing_process, keeping_processes)
        after = reconcile_tasks(member, goal, owned)
        if after.current != member.current:
            self.assign(after)
        return after

    # -- the group

    def begin(self, topology: Topology) -> None:
        """The first member tells the topology."""
        self.topology = topology
        self.records.append(topology_record(self.group_id, topology))

    def topics_hash(self, topics: TopicView) -> int:
        """Tells whether the topics that the group needs are the same, with the same partitions."""
        assert self.topology is not None, "a group begins with its topology"
        return hash_of_topics(self.topology.needed_names, topics)

    def raise_epoch(self, value: StreamsEpochValue | None = None) -> None:
        """Something about the group has changed: a new assignment is due."""
        self.value = (value or self.value)._replace(epoch=self.epoch + 1)
        logger.info("group rebalances", extra={"group": self.group_id, "epoch": self.epoch})
        self.records.append(streams_epoch_record(self.group_id, self.value))

    # -- the target

    def compute_target(self, configured: ConfiguredTopology) -> None:
        """Who shall have what, as of the group's epoch; nobody has anything while topics are not as they should be."""
        shares: dict[str, Tasks] = dict.fromkeys(self.members, Tasks())
        if configured.is_ready:
            candidates = {
                member_id: TaskCandidate(member.process_id, self.targets.get(member_id, Tasks()))
                for member_id, member in self.members.items()
            }
            sources = {
                each.subtopology_id: TaskSource(
                    configured.task_counts[each.subtopology_id], bool(each.changelog_topics)
                )
                for each in configured.topology.subtopologies
            }
            shares |= assign_sticky(candidates, sources, int(dict(self.value.assignment_configs).get(STANDBYS, "0")))
        for member_id, share in shares.items():
            if self.targets.get(member_id) != share:
                self.targets[member_id] = share
                self.records.append(streams_target_record(self.group_id, member_id, share))
        self.assignment_epoch = self.epoch
        self.records.append(streams_target_epoch_record(self.group_id, self.epoch, self.now_ms))
