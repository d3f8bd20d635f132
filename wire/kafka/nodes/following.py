"""Requests of followers on other nodes: only those get through that have shown that they are the node they name."""

from coordinators.records.directory import PartitionDirectory
from coordinators.replication.ports import FollowerReads, ReplicaAnswer, SnapshotPiece, stage_id
from engine.deferred import Deferred, all_of
from engine.errors import BrokerError
from engine.ids import TopicId
from wire.kafka.errors import error_code
from wire.kafka.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from wire.kafka.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from wire.kafka.nodes.replica_messages import (
    FETCH_VERSION,
    IsStage,
    WantedSnapshot,
    fetch_response,
    read_fetch,
    read_snapshot_request,
    snapshot_response,
)
from wire.kafka.nodes.trust import only_nodes
from wire.kafka.request import Context


def replica_of(request: FetchRequest) -> int:
    """Which replica a fetch says it is from; -1 for a consumer's."""
    state = request.replica_state
    return request.replica_id if state is None else state.replica_id


def serve_replica(
    request: FetchRequest, context: Context, followers: FollowerReads, directory: PartitionDirectory
) -> FetchResponse | Deferred[FetchResponse]:
    """Answer a fetch that says it is a replica's."""
    node_id = context.peer.node_id
    if node_id is None or node_id != replica_of(request) or context.version < FETCH_VERSION:
        return refused_replica(request, only_nodes(), whole=True)
    answer = followers.serve(read_fetch(request, node_id, stages_among(directory)))
    return fetch_response(answer) if isinstance(answer, ReplicaAnswer) else answer.map(fetch_response)


def refused_replica(request: FetchRequest, error: BrokerError, *, whole: bool = False) -> FetchResponse:
    """Each partition, and the `whole`, of which the oldest versions have no error."""
    code = error_code(error)
    response = FetchResponse(error_code=code if whole else 0)
    for topic in request.topics:
        partitions = [PartitionData(each.partition, code, -1, records=b"") for each in topic.partitions]
        response.responses.append(FetchableTopicResponse(topic.topic_id, partitions, topic.topic))
    return response


def stages_among(directory: PartitionDirectory) -> IsStage:
    """An id that no topic has, but which is made from one's, is that of the topic's stages."""
    by_id = directory.topics.view.by_id

    def is_stage(topic_id: TopicId) -> bool:
        return topic_id not in by_id and stage_id(topic_id) in by_id

    return is_stage


def serve_snapshots(
    request: FetchSnapshotRequest, context: Context, followers: FollowerReads, directory: PartitionDirectory
) -> FetchSnapshotResponse | Deferred[FetchSnapshotResponse]:
    """Answer a follower that asks for parts of checkpoints."""
    node_id = context.peer.node_id
    if node_id is None or node_id != request.replica_id:
        return FetchSnapshotResponse(error_code=error_code(only_nodes()))
    wanted = list(read_snapshot_request(request, stages_among(directory)))

    def answer(pieces: list[SnapshotPiece | BrokerError]) -> FetchSnapshotResponse:
        return snapshot_response((*each, piece) for each, piece in zip(wanted, pieces, strict=True))

    return all_of([_piece(each, followers) for _, each in wanted]).map(answer)


def _piece(wanted: WantedSnapshot, followers: FollowerReads) -> Deferred[SnapshotPiece | BrokerError]:
    settled: Deferred[SnapshotPiece | BrokerError] = Deferred()
    try:
        piece = followers.snapshot(*wanted)
    except BrokerError as error:
        settled.resolve(error)
        return settled
    if isinstance(piece, Deferred):
        piece.when_settled(settled.resolve, settled.resolve, settled.fail)
    else:
        settled.resolve(piece)
    return settled
