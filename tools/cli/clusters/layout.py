"""How the partitions of a cluster lie on its nodes, asked of any Kafka broker."""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from attrs import Factory, frozen

from tools.cli.errors import CannotReach, NotFound
from tools.cli.kafka import Kafka, check
from wire.kafka.messages.describe_cluster import DescribeClusterRequest
from wire.kafka.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from wire.kafka.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    RequestCursor,
    TopicRequest,
)
from wire.kafka.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
)

TopicPartition = tuple[str, int]
NODE_S = 5.0
"""So long a single node is waited for: one that hangs is what somebody may be looking for."""


@frozen
class LayoutNode:
    """A node that answers clients."""

    node_id: int
    host: str
    port: int
    rack: str | None = None

    @property
    def place(self) -> str:
        """What it shares with others of its rack; a node without one is a rack of its own."""
        return f"node {self.node_id}" if self.rack is None else f"rack {self.rack}"


@frozen
class PartitionLayout:
    """A partition: the first of the replicas is to lead it."""

    topic: str
    partition: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    leader_epoch: int = -1
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    size_bytes: int = 0
    """Of its largest replica."""

    @property
    def key(self) -> TopicPartition:
        """Topic and number."""
        return self.topic, self.partition

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas that it has when no reassignment is under way any more."""
        return tuple(node for node in self.replicas if node not in self.removing)

    @property
    def lacks(self) -> bool:
        """Whether it has no leader, or replicas that are not in sync."""
        return self.leader < 0 or not set(self.replicas).difference(self.adding).issubset(self.isr)


@frozen
class Layout:
    """All of it, at one moment."""

    cluster_id: str
    controller: int
    nodes: Mapping[int, LayoutNode]
    partitions: Sequence[PartitionLayout]
    sizes: Mapping[tuple[TopicPartition, int], int] = Factory(dict)
    """Bytes on disk, by partition and node."""

    def of_topics(self, names: Collection[str]) -> list[PartitionLayout]:
        """The partitions of these topics; of all that are not internal, without names."""
        known = {each.topic for each in self.partitions}
        for name in names:
            if name not in known:
                raise NotFound(f"there is no topic {name!r}", "'tidegate topic list' shows those that there are")
        return [each for each in self.partitions if not names or each.topic in names]


async def read_layout(kafka: Kafka, topics: list[str] | None = None) -> Layout:
    """Of all topics, the broker's own too, or of these."""
    cluster = await kafka.call(DescribeClusterRequest())
    check(cluster.error_code, "the cluster", cluster.error_message)
    described = (await kafka.metadata()).topics if topics is None else await kafka.topics(topics)
    nodes = {each.broker_id: LayoutNode(each.broker_id, each.host, each.port, each.rack) for each in cluster.brokers}
    sizes = await read_sizes(kafka, sorted(nodes))
    moving = await read_moving(kafka)
    eligible = await _read_eligible(kafka, [topic.name or "" for topic in described])
    partitions = []
    for topic in sorted(described, key=lambda each: each.name or ""):
        for each in sorted(topic.partitions, key=lambda each: each.partition_index):
            key = topic.name or "", each.partition_index
            move = moving.get(key)
            partitions.append(
                PartitionLayout(
                    *key,
                    each.leader_id,
                    tuple(each.replica_nodes),
                    tuple(each.isr_nodes),
                    eligible.get(key, ()),
                    each.leader_epoch,
                    tuple(move.adding_replicas) if move is not None else (),
                    tuple(move.removing_replicas) if move is not None else (),
                    max((sizes.get((key, node), 0) for node in each.replica_nodes), default=0),
                )
            )
    return Layout(cluster.cluster_id, cluster.controller_id, dict(sorted(nodes.items())), partitions, sizes)


async def read_sizes(kafka: Kafka, nodes: Collection[int]) -> dict[tuple[TopicPartition, int], int]:
    """Bytes on disk of every replica on these nodes; of one that does not answer nothing is known."""
    sizes: dict[tuple[TopicPartition, int], int] = {}
    for node, folders in zip(nodes, await asyncio.gather(*(_folders(kafka, node) for node in nodes)), strict=True):
        for folder in folders:
            for topic in folder.topics:
                for each in topic.partitions:
                    sizes[(topic.name, each.partition_index), node] = each.partition_size
    return sizes


async def _folders(kafka: Kafka, node: int) -> Sequence[DescribeLogDirsResult]:
    asking = kafka.call(DescribeLogDirsRequest(topics=None), node=node)
    try:
        answer: DescribeLogDirsResponse = await asyncio.wait_for(asking, min(NODE_S, kafka.profile.timeout_s))
    except (CannotReach, TimeoutError):
        return ()
    return answer.results


async def read_moving(kafka: Kafka) -> dict[TopicPartition, OngoingPartitionReassignment]:
    """The reassignments that are under way, as any node knows: one may be a moment behind another."""
    found: dict[TopicPartition, OngoingPartitionReassignment] = {}
    for answer in await asyncio.gather(*(_moving(kafka, node) for node in kafka.nodes)):
        if answer is not None:
            check(answer.error_code, "reassignments", answer.error_message)
            found |= {(topic.name, each.partition_index): each for topic in answer.topics for each in topic.partitions}
    return found


async def _moving(kafka: Kafka, node: int) -> ListPartitionReassignmentsResponse | None:
    request = ListPartitionReassignmentsRequest(timeout_ms=round(kafka.profile.timeout_s * 1_000), topics=None)
    try:
        answer: ListPartitionReassignmentsResponse = await asyncio.wait_for(
            kafka.call(request, node=node), min(NODE_S, kafka.profile.timeout_s)
        )
    except (CannotReach, TimeoutError):
        return None
    return answer


async def _read_eligible(kafka: Kafka, topics: Sequence[str]) -> dict[TopicPartition, tuple[int, ...]]:
    """Who is not in sync and may lead all the same, by partition."""
    found: dict[TopicPartition, tuple[int, ...]] = {}
    cursor: RequestCursor | None = None
    names = [TopicRequest(name) for name in sorted(topics)]
    while names:
        answer = await kafka.call(DescribeTopicPartitionsRequest(topics=names, cursor=cursor))
        for topic in answer.topics:
            for each in topic.partitions:
                found[topic.name or "", each.partition_index] = tuple(each.eligible_leader_replicas or ())
        if answer.next_cursor is None:
            break
        cursor = RequestCursor(answer.next_cursor.topic_name, answer.next_cursor.partition_index)
    return found
