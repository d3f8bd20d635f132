"""Planning new topics and new partitions: Kafka's checks in Kafka's order, with its messages."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from attrs import Factory, frozen

from coordinators.cluster.assignments import assigned, check_replicas, new_row
from coordinators.cluster.placement import place
from coordinators.letter_rules import LetterRules
from coordinators.tenants.room import TenantRoom
from coordinators.topic_names import check_topic_name, collision_key
from coordinators.topic_view import Plan, PlanBuilder, Topic, TopicView
from engine.catalogue.catalogue import Commit, Compare, Put
from engine.catalogue.records import NodeRecord, PartitionRecord
from engine.config.resolve import BrokerSettings, TopicConfig
from engine.errors import (
    BrokerError,
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    PolicyViolation,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from engine.ids import RandomBytes, new_id

DEFAULT = -1
PARTITIONS_PER_REQUEST_MAX = 10_000
DEFAULT_FACTOR = "default.replication.factor"

Item = TypeVar("Item")
Assignment = tuple[int, Sequence[int]]


@frozen
class TopicSpec:
    """A topic that somebody wants. -1 is the broker's default; `assignments` pair partition and replicas.

    `factor_key` is the broker key that gives the default of how many replicas there are."""

    name: str
    partition_count: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: Sequence[Assignment] = ()
    configs: Mapping[str, str | None] = Factory(dict)
    factor_key: str = DEFAULT_FACTOR


@frozen
class PartitionsSpec:
    """More partitions for a topic: how many in all; `assignments`, if any, the replicas of each new one."""

    topic: str
    total_count: int
    assignments: Sequence[Sequence[int]] | None = None


@frozen
class TopicPlanner:
    """What creation is planned against: the view, the config in force, the nodes that are registered."""

    view: TopicView
    settings: BrokerSettings
    nodes: Mapping[int, NodeRecord]
    random_bytes: RandomBytes

    def plan_create(self, specs: Sequence[TopicSpec]) -> Plan[Topic]:
        """One change for all topics of a request that can be made."""
        too_many = sum(self._requested_partitions(spec) for spec in specs) > PARTITIONS_PER_REQUEST_MAX
        repeated = _repeated([spec.name for spec in specs])
        builder = PlanBuilder[Topic]()
        taken: dict[str, str] = {}
        letters, room = LetterRules(self.view), TenantRoom(self.view)
        for spec in specs:
            try:
                if too_many:
                    raise PolicyViolation("Excessively large number of partitions per request.")
                topic = self._topic(spec, repeated, taken)
                letters.check(topic)
                room.take(topic.name, topic.partition_count, is_new=True)
            except BrokerError as error:
                builder.refuse(error)
            else:
                taken[collision_key(topic.name)] = topic.name
                letters.plan(topic)
                builder.add(topic, _creation(topic))
        return builder.finish()

    def plan_partitions(self, specs: Sequence[PartitionsSpec]) -> Plan[Topic]:
        """More partitions for the topics of a request."""
        repeated = _repeated([spec.topic for spec in specs])
        builder = PlanBuilder[Topic]()
        room, tenant_room = PARTITIONS_PER_REQUEST_MAX, TenantRoom(self.view)
        for spec in specs:
            try:
                before, after = self._grown(spec, repeated, room)
                tenant_room.take(after.name, after.partition_count - before.partition_count, is_new=False)
            except BrokerError as error:
                builder.refuse(error)
            else:
                room -= after.partition_count - before.partition_count
                builder.add(after, _growth(before, after))
        return builder.finish()

    def _requested_partitions(self, spec: TopicSpec) -> int:
        if spec.assignments:
            return len(spec.assignments)
        count = spec.partition_count
        return self.settings.integer("num.partitions") if count == DEFAULT else max(count, 0)

    def _topic(self, spec: TopicSpec, repeated: set[str], taken: Mapping[str, str]) -> Topic:
        if spec.name in repeated:
            raise InvalidRequest("Duplicate topic name.")
        self._check_name(spec.name, taken)
        partitions = self._assigned(spec) if spec.assignments else self._default_partitions(spec)
        self._check_count(len(partitions))
        return Topic(spec.name, new_id(self.random_bytes), partitions, self._config(spec.configs))

    def _check_name(self, name: str, taken: Mapping[str, str]) -> None:
        check_topic_name(name)
        if name in self.view.by_name:
            raise TopicAlreadyExists(f"Topic '{name}' already exists.")
        other = self.view.colliding(name) or taken.get(collision_key(name))
        if other is not None:
            raise InvalidTopic(f"Topic '{name}' collides with existing topic: {other}")

    def _default_partitions(self, spec: TopicSpec) -> tuple[PartitionRecord, ...]:
        count, factor = spec.partition_count, spec.replication_factor
        if factor < DEFAULT or factor == 0:
            raise InvalidReplicationFactor("Replication factor must be larger than 0, or -1 to use the default value.")
        if count < DEFAULT or count == 0:
            raise InvalidPartitions("Number of partitions was set to an invalid non-positive value.")
        return self._placed(self._requested_partitions(spec), self._factor(spec))

    def _factor(self, spec: TopicSpec) -> int:
        """What was not asked for is as it can be: a cluster of two nodes has two replicas by default."""
        if spec.replication_factor != DEFAULT:
            return spec.replication_factor
        factor = self.settings.integer(spec.factor_key)
        if self.settings.is_set(spec.factor_key):
            return factor
        eligible = sum(node.is_eligible for node in self.nodes.values())
        return max(1, min(factor, eligible))

    def _placed(self, count: int, factor: int, held: Sequence[PartitionRecord] = ()) -> tuple[PartitionRecord, ...]:
        placed = place([*self.nodes.values()], count, factor, self.random_bytes, held)
        rows: dict[tuple[int, ...], PartitionRecord] = {}
        for replicas in placed:
            # Partitions that lie on the same nodes share a row in memory.
            if replicas not in rows:
                row = new_row(self.nodes, replicas)
                assert row is not None, "the first of those that were placed is eligible"
                rows[replicas] = row
        return tuple(rows[replicas] for replicas in placed)

    def _assigned(self, spec: TopicSpec) -> tuple[PartitionRecord, ...]:
        if spec.replication_factor != DEFAULT:
            raise InvalidRequest(
                "A manual partition assignment was specified, but replication factor was not set to -1."
            )
        if spec.partition_count != DEFAULT:
            raise InvalidRequest("A manual partition assignment was specified, but numPartitions was not set to -1.")
        indexes = [index for index, _replicas in spec.assignments]
        if repeated := sorted(_repeated(indexes)):
            raise InvalidReplicaAssignment(f"Found multiple manual partition assignments for partition {repeated[0]}")
        if sorted(indexes) != list(range(len(indexes))):
            raise InvalidReplicaAssignment("partitions should be a consecutive 0-based integer sequence")
        return tuple(assigned(self.nodes, sorted(spec.assignments, key=lambda each: each[0])))

    def _config(self, configs: Mapping[str, str | None]) -> TopicConfig:
        given = {name: value for name, value in configs.items() if value is not None}
        if len(given) != len(configs):
            unset = ", ".join(name for name, value in configs.items() if value is None)
            raise InvalidConfig(f"Null value not supported for topic configs: {unset}")
        return self.settings.topic_config(given)

    def _check_count(self, count: int) -> None:
        most = self.settings.integer("max.partitions.per.topic")
        if count > most:
            raise PolicyViolation(f"{count} partitions are more than max.partitions.per.topic, which is {most}.")

    def _grown(self, spec: PartitionsSpec, repeated: set[str], room: int) -> tuple[Topic, Topic]:
        if spec.topic in repeated:
            raise InvalidRequest("Duplicate topic name.")
        topic = self.view.by_name.get(spec.topic)
        if topic is None:
            raise UnknownTopicOrPartition(f"The topic '{spec.topic}' does not exist.")
        additional = spec.total_count - topic.partition_count
        _check_growth(topic, spec.total_count)
        self._check_count(spec.total_count)
        if additional > room:
            raise PolicyViolation("Excessively large number of partitions per request.")
        added = self._added(topic, spec.assignments, additional)
        return topic, Topic(topic.name, topic.topic_id, topic.partitions + added, topic.config)

    def _added(
        self, topic: Topic, assignments: Sequence[Sequence[int]] | None, additional: int
    ) -> tuple[PartitionRecord, ...]:
        first, count = topic.partitions[0], topic.partition_count
        factor = len(first.replicas) - len(first.removing)
        if assignments is None:
            return self._placed(additional, factor, topic.partitions)
        if len(assignments) != additional:
            only = "only " if len(assignments) < additional else ""
            raise InvalidReplicaAssignment(
                f"Attempted to add {additional} additional partition(s), but {only}{len(assignments)} "
                "assignment(s) were specified."
            )
        for replicas in assignments:
            check_replicas(self.nodes, replicas, factor)
        return tuple(assigned(self.nodes, list(enumerate(assignments, count))))


def _check_growth(topic: Topic, total_count: int) -> None:
    count = topic.partition_count
    if total_count == count:
        raise InvalidPartitions(f"Topic already has {count} partition(s).")
    if total_count < count:
        raise InvalidPartitions(
            f"The topic {topic.name} currently has {count} partition(s); {total_count} would not be an increase."
        )


def _creation(topic: Topic) -> Commit:
    record = topic.record
    rows = [Put(record.key, record.encode())]
    rows += [Put(record.partition_key(index), each.encode()) for index, each in enumerate(topic.partitions)]
    return Commit((Compare(record.key, 0),), tuple(rows))


def _growth(before: Topic, after: Topic) -> Commit:
    record = after.record
    rows = [Put(record.key, record.encode())]
    for index in range(before.partition_count, after.partition_count):
        rows.append(Put(record.partition_key(index), after.partitions[index].encode()))
    return Commit((Compare(record.key, before.revision),), tuple(rows))


def _repeated(items: Sequence[Item]) -> set[Item]:
    return {item for item, count in Counter(items).items() if count > 1}
