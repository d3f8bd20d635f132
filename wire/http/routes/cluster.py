"""`/cluster` and `/metadata`: the nodes, and who leads which partition."""

import msgspec

from wire.http.messages import Call
from wire.http.paging import Count, Page, PageQuery
from wire.http.routing import Route
from wire.http.surroundings import Surroundings


class Address(msgspec.Struct):
    """Where Kafka's clients are told to connect."""

    host: str
    port: int


class ClusterNode(msgspec.Struct):
    """A node."""

    node_id: int
    rack: str | None
    addresses: list[Address]


class Cluster(msgspec.Struct):
    """The cluster, and this node's load."""

    cluster_id: str
    controller_id: int
    node_id: int
    version: str
    nodes: list[ClusterNode]
    topics: Count
    partitions: Count
    connections: Count
    started_ms: int


class PartitionLeader(msgspec.Struct):
    """Who leads and holds a partition."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]


class PartitionLeaderPage(Page):
    """Partitions by topic and number."""

    items: list[PartitionLeader]


class Metadata(msgspec.Struct):
    """What Kafka's clients are told by Metadata."""

    cluster_id: str
    controller_id: int
    nodes: list[ClusterNode]
    partitions: PartitionLeaderPage


async def describe_cluster(call: Call) -> Cluster:
    """The cluster, and this node's load."""
    broker = call.broker
    return Cluster(
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
        node_id=broker.node_id,
        version=broker.version(),
        nodes=_nodes(broker),
        topics=len(broker.topics.by_name),
        partitions=sum(topic.partition_count for topic in broker.topics.view),
        connections=broker.connection_count(),
        started_ms=broker.started_ms,
    )


async def describe_metadata(call: Call) -> Metadata:
    """Nodes, and a page of all partitions with their leaders."""
    broker, query = call.broker, call.query
    items: list[PartitionLeader] = []
    position, wanted = 0, range(query.skip, query.skip + query.limit)
    for name in sorted(broker.topics.by_name):
        topic = broker.topics.by_name[name]
        # Of topics that lie before or after the page only the number of partitions counts.
        first, last = max(wanted.start - position, 0), min(wanted.stop - position, topic.partition_count)
        for index in range(first, last):
            held = topic.partitions[index]
            items.append(
                PartitionLeader(name, index, held.leader, held.leader_epoch, list(held.replicas), list(held.isr))
            )
        position += topic.partition_count
    return Metadata(
        broker.cluster_id,
        broker.node_id,
        _nodes(broker),
        PartitionLeaderPage(items=items, total=position, limit=query.limit, skip=query.skip),
    )


def _nodes(broker: Surroundings) -> list[ClusterNode]:
    return [ClusterNode(broker.node_id, broker.rack, [Address(host, port) for host, port in broker.addresses])]


ROUTES = (
    Route("GET", "/cluster", describe_cluster, "The cluster, and this node's load", answer=Cluster),
    Route(
        "GET",
        "/metadata",
        describe_metadata,
        "Nodes, and who leads which partition",
        answer=Metadata,
        query=PageQuery,
    ),
)
