"""Planning the reassignments that clients ask for: Kafka's checks with its messages.

Each row is compared with the revision that it was planned against. It is read from the catalogue itself: leaders change
rows all the time, and what this node knows of them may be old.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from attrs import Factory, define, frozen

from coordinators.cluster.assignments import check_replicas
from coordinators.cluster.reassignments import begin, cancel, target_of
from coordinators.cluster.rows import PartitionRow, read_row, read_rows
from coordinators.topic_view import Plan, PlanBuilder, Topic, TopicView
from engine.catalogue.catalogue import Catalogue, Commit, Compare, Put
from engine.catalogue.records import NodeRecord, PartitionRecord
from engine.errors import (
    BrokerError,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    UnknownTopicOrPartition,
)

READ_SINGLY = 5
"""From so many partitions of a topic on all of its rows are read."""


@frozen
class ReassignmentSpec:
    """The nodes that a partition is to lie on; None cancels a reassignment that is under way."""

    topic: str
    partition: int
    replicas: tuple[int, ...] | None


@frozen
class ReassignmentPlanner:
    """What reassignments are planned against."""

    catalogue: Catalogue
    view: TopicView
    allow_factor_change: bool = True

    def plan(self, specs: Sequence[ReassignmentSpec], nodes: Mapping[int, NodeRecord]) -> Plan[PartitionRecord]:
        """[thread] One change for all partitions of a request that can be moved."""
        times = Counter((spec.topic, spec.partition) for spec in specs)
        rows = _Rows(self.catalogue, Counter(spec.topic for spec in specs))
        builder = PlanBuilder[PartitionRecord]()
        for spec in specs:
            try:
                if times[spec.topic, spec.partition] > 1:
                    raise InvalidRequest("Each partition must appear at most once.")
                builder.add(*self._planned(spec, nodes, rows))
            except BrokerError as error:
                builder.refuse(error)
        return builder.finish()

    def _planned(
        self, spec: ReassignmentSpec, nodes: Mapping[int, NodeRecord], rows: "_Rows"
    ) -> tuple[PartitionRecord, Commit]:
        topic = self.view.by_name.get(spec.topic)
        if topic is None:
            raise UnknownTopicOrPartition(f"Unable to find a topic named {spec.topic}.")
        row = rows.get(topic, spec.partition)
        if row is None:
            raise UnknownTopicOrPartition(f"Unable to find partition {spec.topic}:{spec.partition}.")
        after = self._after(spec, topic, row.record, nodes)
        if after == row.record:
            return after, Commit()
        return after, Commit((Compare(row.key, row.revision),), (Put(row.key, after.encode()),))

    def _after(
        self, spec: ReassignmentSpec, topic: Topic, row: PartitionRecord, nodes: Mapping[int, NodeRecord]
    ) -> PartitionRecord:
        eligible = {node_id for node_id, node in nodes.items() if node.is_eligible}
        if spec.replicas is None:
            try:
                return cancel(row, eligible, unclean=topic.config["unclean.leader.election.enable"] is True)
            except InvalidReplicaAssignment:
                raise InvalidReplicaAssignment(
                    f"Unable to revert partition assignment for {spec.topic}:{spec.partition} because it would require "
                    "an unclean leader election."
                ) from None
        check_replicas(nodes, spec.replicas)
        before, wanted = len(target_of(row)), len(spec.replicas)
        if not self.allow_factor_change and before != wanted:
            raise InvalidReplicationFactor(f"The replication factor is changed from {before} to {wanted}")
        return begin(row, spec.replicas, eligible)


@define
class _Rows:
    """The rows that a request asks for: those of a topic at once, if there are many."""

    _catalogue: Catalogue
    _wanted: Mapping[str, int]
    _known: dict[str, dict[int, PartitionRow]] = Factory(dict)

    def get(self, topic: Topic, index: int) -> PartitionRow | None:
        if not 0 <= index < topic.partition_count:
            return None
        if self._wanted[topic.name] < READ_SINGLY:
            return read_row(self._catalogue, topic.topic_id, index)
        if topic.name not in self._known:
            self._known[topic.name] = {row.index: row for row in read_rows(self._catalogue, topic.topic_id)}
        return self._known[topic.name].get(index)
