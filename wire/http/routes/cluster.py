"""`/cluster`, `/cluster/nodes`, `/cluster/events` and `/metadata`: the nodes, what happened to them, who leads what."""

from collections import Counter
from typing import Literal

import msgspec

from coordinators.cluster.events import ClusterEvents
from coordinators.cluster.nodes import NodeIdentity, Nodes
from coordinators.cluster.partition_states import PartitionCounts, counts_of
from coordinators.topics import Topics
from coordinators.waiting import Breathing
from wire.http.life import Life
from wire.http.messages import Call, Count, Page, PageQuery
from wire.http.rights import DESCRIBE_THE_CLUSTER
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


class NodeLoad(msgspec.Struct):
    """How many partitions a node leads, is the first replica of, holds, and is in sync with."""

    leaders: Count
    preferred: Count
    replicas: Count
    in_sync: Count


class ClusterNodeDetail(msgspec.Struct):
    """A node and what it has. `state`: `fenced` has not entered yet, `stopping` hands over what it leads. `epoch` is of
    this life of the node, 0 where it is alone."""

    node_id: int
    rack: str | None
    addresses: list[Address]
    state: Literal["serving", "fenced", "stopping"]
    is_controller: bool
    epoch: int
    version: str
    load: NodeLoad


class ClusterNodes(msgspec.Struct):
    """The nodes that are registered, by number. `absent` hold replicas, and are not registered."""

    items: list[ClusterNodeDetail]
    absent: list[int]


class ClusterEventDetail(msgspec.Struct):
    """What happened. `what`: `registered`, `entered`, `stopping` and `gone` of nodes, `controller`, and `leader` and
    `leaderless` of partitions. `node_id` is -1 where it is about nobody."""

    number: int
    at_ms: int
    what: str
    node_id: int
    detail: str
    topic: str | None
    partition: int | None


class ClusterEventPage(Page):
    """The last things that happened, as this node saw them, the newest first."""

    items: list[ClusterEventDetail]


class LackingPartitions(msgspec.Struct):
    """Partitions of the whole cluster, as this node knows: `leaderless` are not served, `under_min_isr` refuse
    `acks=all`, `under_replicated` have replicas that are not in sync, `reassigning` are being moved."""

    leaderless: Count
    under_min_isr: Count
    under_replicated: Count
    reassigning: Count


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
    lacking: LackingPartitions


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


class TopicPartitions(msgspec.Struct):
    """A topic, and how many partitions it has."""

    name: str
    partitions: Count


class Metadata(msgspec.Struct):
    """What Kafka's clients are told by Metadata: nodes, and a page of partitions with the topics that are theirs."""

    cluster_id: str
    controller_id: int
    nodes: list[ClusterNode]
    partitions: PartitionLeaderPage
    topics: list[TopicPartitions]


async def describe_cluster(_: Call, node: NodeIdentity, nodes: Nodes, topics: Topics, life: Life) -> Cluster:
    """The cluster, and this node's load."""
    counts = await partition_counts(topics, nodes)
    return Cluster(
        cluster_id=node.cluster_id,
        controller_id=_controller_id(node, nodes),
        node_id=node.node_id,
        version=life.version(),
        nodes=_nodes(node, life, nodes),
        topics=len(topics.by_name),
        partitions=counts.partitions,
        connections=life.connection_count(),
        started_ms=life.started_ms,
        lacking=LackingPartitions(counts.leaderless, counts.under_min_isr, counts.under_replicated, counts.reassigning),
    )


async def partition_counts(topics: Topics, nodes: Nodes) -> PartitionCounts:
    """How all partitions are; others have their turn meanwhile."""
    counts, serving = PartitionCounts(), nodes.serving
    breathing = Breathing()
    for topic in list(topics.view):
        counts.add(counts_of(topic, serving))
        await breathing.did(topic.partition_count)
    return counts


async def list_nodes(_: Call, node: NodeIdentity, nodes: Nodes, topics: Topics, life: Life) -> ClusterNodes:
    """The nodes, with how much each leads and holds."""
    led, first, held, in_sync = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    breathing = Breathing()
    for topic in list(topics.view):
        for row in topic.partitions:
            led[row.leader] += 1
            first[row.replicas[0]] += 1
            held.update(row.replicas)
            in_sync.update(row.isr)
        await breathing.did(topic.partition_count)
    controller = _controller_id(node, nodes)
    items = []
    for each in _nodes(node, life, nodes):
        record, number = nodes.by_id.get(each.node_id), each.node_id
        state: Literal["serving", "fenced", "stopping"] = "serving"
        if record is not None and not record.is_eligible:
            state = "fenced" if record.fenced else "stopping"
        items.append(
            ClusterNodeDetail(
                number,
                each.rack,
                each.addresses,
                state,
                number == controller,
                0 if record is None else record.epoch,
                (record.version if record is not None else "") or life.version(),
                NodeLoad(led[number], first[number], held[number], in_sync[number]),
            )
        )
    return ClusterNodes(items, sorted(set(held) - {each.node_id for each in items}))


async def list_events(call: Call, events: ClusterEvents) -> ClusterEventPage:
    """What happened lately, as this node saw it."""
    query: PageQuery = call.query
    latest = events.latest()
    items = [
        ClusterEventDetail(each.number, each.at_ms, each.what, each.node_id, each.detail, each.topic, each.partition)
        for each in query.of(latest)
    ]
    return ClusterEventPage(items=items, total=len(latest), limit=query.limit, skip=query.skip)


async def describe_metadata(call: Call, node: NodeIdentity, nodes: Nodes, topics: Topics, life: Life) -> Metadata:
    """Nodes, and a page of all partitions with their leaders."""
    query: PageQuery = call.query
    items: list[PartitionLeader] = []
    named: list[TopicPartitions] = []
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
        if first < last:
            named.append(TopicPartitions(name, topic.partition_count))
        position += topic.partition_count
    return Metadata(
        node.cluster_id,
        _controller_id(node, nodes),
        _nodes(node, life, nodes),
        PartitionLeaderPage(items=items, total=position, limit=query.limit, skip=query.skip),
        named,
    )


def _controller_id(node: NodeIdentity, nodes: Nodes) -> int:
    """This node while there is none, or where it is alone."""
    controller = nodes.present_controller
    return node.node_id if controller is None else controller.node_id


def _nodes(node: NodeIdentity, life: Life, nodes: Nodes) -> list[ClusterNode]:
    own = [Address(host, port) for host, port in life.addresses]
    found = [ClusterNode(node.node_id, node.rack, own)]
    for record in nodes.by_id.values():
        if record.node_id != node.node_id:
            told = [parse_listener(listener) for listener in record.listeners]
            found.append(ClusterNode(record.node_id, record.rack, [Address(each.host, each.port) for each in told]))
    return sorted(found, key=lambda each: each.node_id)


ROUTES = (
    Route(
        "GET",
        "/cluster",
        describe_cluster,
        "The cluster, and this node's load",
        answer=Cluster,
        rights=DESCRIBE_THE_CLUSTER,
    ),
    Route(
        "GET",
        "/cluster/nodes",
        list_nodes,
        "The nodes, with how much each leads and holds",
        answer=ClusterNodes,
        rights=DESCRIBE_THE_CLUSTER,
    ),
    Route(
        "GET",
        "/cluster/events",
        list_events,
        "What happened lately to nodes and leaders",
        answer=ClusterEventPage,
        query=PageQuery,
        rights=DESCRIBE_THE_CLUSTER,
    ),
    Route(
        "GET",
        "/metadata",
        describe_metadata,
        "Nodes, and who leads which partition",
        answer=Metadata,
        query=PageQuery,
        rights=DESCRIBE_THE_CLUSTER,
    ),
)
