"""`/cluster/partitions/{topic}/{partition}`: one partition with its replicas, and how far behind each is.

Any node may be asked. The leader alone knows what others lack, so it is asked in turn; where it does not answer, as
when somebody looks for what is wrong, the node tells what it knows itself.
"""

from typing import Annotated

import msgspec

from coordinators.access.rights import DESCRIBE_TOPIC
from coordinators.cluster.elections import NO_LEADER
from coordinators.cluster.nodes import NodeIdentity, Nodes
from coordinators.replication.lags import ReplicaLag, ReplicaLags
from coordinators.topics import Topics
from engine.catalogue.records import PartitionRecord
from engine.errors import UnknownTopicOrPartition
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from engine.partition.replicas import needed_in_sync
from wire.http.elsewhere import Doors
from wire.http.messages import Call, Count
from wire.http.rights import on
from wire.http.routes.topics import TopicName
from wire.http.routing import Route


class PartitionPlace(msgspec.Struct):
    """Which partition."""

    topic: TopicName
    partition: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1, description="The partition's number.")]


class StandingQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Who tells."""

    local: Annotated[bool, msgspec.Meta(description="Only what the node itself knows that is asked.")] = False


class LagDetail(msgspec.Struct):
    """What a replica lacks. `end_offset` and `stage_end_offset`: up to there it has log and stage durable, null if it
    has not told yet, or there is no stage."""

    end_offset: int | None
    stage_end_offset: int | None
    records: Count
    bytes: Count
    seconds: float


class ReplicaDetail(msgspec.Struct):
    """A node that holds the partition. `eligible`: not in sync, and has all that was acknowledged. Only the leader
    knows the `lag`; it is null where somebody else tells."""

    node_id: int
    registered: bool
    in_sync: bool
    eligible: bool
    adding: bool
    removing: bool
    lag: LagDetail | None


class PartitionEnds(msgspec.Struct):
    """What a node has of a partition. `end_offset` is that of the log, which may lie beyond what readers see:
    `high_watermark`."""

    start_offset: int
    end_offset: int
    durable_offset: int
    high_watermark: int
    last_stable_offset: int
    stage_end_offset: int | None
    size_bytes: Count


class PartitionTeller(msgspec.Struct):
    """The node that tells: the leader, wherever it can be asked. `ends` is null where it holds no replica."""

    node_id: int
    leads: bool
    ends: PartitionEnds | None


class PartitionStanding(msgspec.Struct):
    """A partition. `leader` is -1 if nobody leads it, and is to be the first of the replicas; `isr` are in sync; `elr`
    are not, and have all that was acknowledged."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    min_in_sync: Count
    isr: list[int]
    elr: list[int]
    replicas: list[ReplicaDetail]
    told_by: PartitionTeller


async def describe_partition(
    call: Call,
    topics: Topics,
    partitions: Partitions,
    nodes: Nodes,
    identity: NodeIdentity,
    lags: ReplicaLags,
    doors: Doors,
) -> PartitionStanding:
    """One partition, its replicas, and what each lacks."""
    place: PartitionPlace = call.place
    topic = topics.by_name.get(place.topic)
    if topic is None or place.partition >= topic.partition_count:
        raise UnknownTopicOrPartition(f"there is no partition {place.partition} of a topic {place.topic!r}")
    row = topic.partitions[place.partition]
    if row.leader not in (NO_LEADER, identity.node_id) and not call.query.local:
        told = await doors.told_by(row.leader, call, PartitionStanding)
        if told is not None:
            return told
    partition = partitions.get(topic.topic_id, place.partition)
    leads = partition is not None and partition.replicas.leads
    ends = None if partition is None else _ends(partition)
    behind = {} if partition is None else {lag.node_id: _lag(lag) for lag in lags.of(partition)}
    if leads and ends is not None:
        # The leader lacks nothing.
        behind[identity.node_id] = LagDetail(ends.durable_offset, ends.stage_end_offset, 0, 0, 0.0)
    return PartitionStanding(
        place.topic,
        place.partition,
        row.leader,
        row.leader_epoch,
        row.partition_epoch,
        needed_in_sync(row, topic.config.integer("min.insync.replicas")),
        list(row.isr),
        list(row.elr),
        [_replica(node_id, row, nodes, behind.get(node_id)) for node_id in row.replicas],
        PartitionTeller(identity.node_id, leads, ends),
    )


def _replica(node_id: int, row: PartitionRecord, nodes: Nodes, lag: LagDetail | None) -> ReplicaDetail:
    return ReplicaDetail(
        node_id,
        node_id in nodes.by_id,
        node_id in row.isr,
        node_id in row.elr,
        node_id in row.adding,
        node_id in row.removing,
        lag,
    )


def _lag(lag: ReplicaLag) -> LagDetail:
    return LagDetail(lag.end_offset, lag.stage_end_offset, lag.records, lag.size_bytes, lag.seconds)


def _ends(partition: Partition) -> PartitionEnds:
    stage = partition.stage_log
    return PartitionEnds(
        partition.log.start_offset,
        partition.log.end_offset,
        partition.durable_offset,
        partition.high_watermark.offset,
        partition.last_stable_offset,
        None if stage is None else stage.log.end_offset,
        sum(each.log.size_bytes for each in partition.logs),
    )


ROUTES = (
    Route(
        "GET",
        "/cluster/partitions/{topic}/{partition}",
        describe_partition,
        "One partition with its replicas, and what each of them lacks",
        answer=PartitionStanding,
        place=PartitionPlace,
        query=StandingQuery,
        problems=(404,),
        rights=on(DESCRIBE_TOPIC, "topic"),
    ),
)
