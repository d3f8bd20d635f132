"""`/cluster` and `/metadata`: the nodes, and who leads which partition."""

import msgspec

from coordinators.cluster.nodes import NodeIdentity, Nodes
from coordinators.topics import Topics
from wire.http.life import Life
from wire.http.messages import Call, Count, Page, PageQuery
from wire.http.routing import Route
from wire.kafka.listeners import parse_listener


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


async def describe_cluster(_: Call, node: NodeIdentity, nodes: Nodes, topics: Topics, life: Life) -> Cluster:
    """The cluster, and this node's load."""
    return Cluster(
        cluster_id=node.cluster_id,
        controller_id=node.node_id,
        node_id=node.node_id,
        version=life.version(),
        nodes=_nodes(node, life, nodes),
        topics=len(topics.by_name),
        partitions=sum(topic.partition_count for topic in topics.view),
        connections=life.connection_count(),
        started_ms=life.started_ms,
    )


async def describe_metadata(call: Call, node: NodeIdentity, nodes: Nodes, topics: Topics, life: Life) -> Metadata:
    """Nodes, and a page of all partitions with their leaders."""
    query: PageQuery = call.query
    items: list[PartitionLeader] = []
    position, wanted = 0, range(query.skip, query.skip + query.limit)
    for name in sorted(topics.by_name):
        topic = topics.by_name[name]
        # Of topics that lie before or after the page only the number of partitions counts.
        first, last = max(wanted.start - position, 0), min(wanted.stop - position, topic.partition_count)
        for index in range(first, last):
            held = topic.partitions[index]
            items.append(
                PartitionLeader(name, index, held.leader, held.leader_epoch, list(held.replicas), list(held.isr))
            )
        position += topic.partition_count
    return Metadata(
        node.cluster_id,
        node.node_id,
        _nodes(node, life, nodes),
        PartitionLeaderPage(items=items, total=position, limit=query.limit, skip=query.skip),
    )


def _nodes(node: NodeIdentity, life: Life, nodes: Nodes) -> list[ClusterNode]:
    own = [Address(host, port) for host, port in life.addresses]
    found = [ClusterNode(node.node_id, node.rack, own)]
    for record in nodes.by_id.values():
        if record.node_id != node.node_id:
            told = [parse_listener(listener) for listener in record.listeners]
            found.append(ClusterNode(record.node_id, record.rack, [Address(each.host, each.port) for each in told]))
    return sorted(found, key=lambda each: each.node_id)


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
