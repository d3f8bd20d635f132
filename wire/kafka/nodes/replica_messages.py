"""What followers and leaders say to each other (`coordinators/replication/ports.py`) as Kafka's messages: Fetch of
version 17, and FetchSnapshot. Both directions of both are here, so that they do not drift apart.

As Kafka's followers do it, but for these. A stage goes under an id of its own. `min_bytes`, which a follower has no use
for, says how much it takes of one log. `last_stable_offset` says where the segment of a stage begins. FetchSnapshot has
names where Fetch has ids: the name is the id's text.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from coordinators.replication.ports import (
    NO_SNAPSHOT,
    Asked,
    Given,
    Replica,
    ReplicaAnswer,
    ReplicaFetch,
    SnapshotPiece,
    stage_id,
)
from engine.errors import BrokerError, StaleLeader
from engine.ids import TopicId
from wire.kafka.codec import WireError
from wire.kafka.errors import broker_error, error_code
from wire.kafka.messages import fetch as wire
from wire.kafka.messages import fetch_snapshot as snapshot_wire

FETCH_VERSION = 17
SNAPSHOT_VERSION = 1
FETCH_VERSIONS, SNAPSHOT_VERSIONS = (FETCH_VERSION, FETCH_VERSION), (SNAPSHOT_VERSION, SNAPSHOT_VERSION)
"""What followers can ask in."""

IsStage = Callable[[TopicId], bool]
"""Whether an id on the wire is a stage's."""


def wire_id(replica: Replica) -> TopicId:
    """The id under which it is fetched."""
    return stage_id(replica.topic_id) if replica.is_stage else replica.topic_id


def _replica(topic_id: TopicId, partition: int, is_stage: IsStage) -> Replica:
    return Replica(stage_id(topic_id), partition, True) if is_stage(topic_id) else Replica(topic_id, partition)


# -- a follower's fetch


def fetch_request(fetch: ReplicaFetch) -> wire.FetchRequest:
    """[follower]"""
    return wire.FetchRequest(
        replica_state=wire.ReplicaState(fetch.node_id, fetch.node_epoch),
        max_wait_ms=fetch.wait_ms,
        min_bytes=fetch.max_partition_bytes,
        max_bytes=fetch.max_bytes,
        session_id=fetch.session,
        session_epoch=fetch.number,
        topics=[
            wire.FetchTopic(topic_id, [_wanted(each, fetch.max_partition_bytes) for each in some])
            for topic_id, some in groupby(fetch.asked, lambda asked: wire_id(asked.replica))
        ],
        forgotten_topics_data=[
            wire.ForgottenTopic(topic_id, [each.partition for each in some])
            for topic_id, some in groupby(fetch.dropped, wire_id)
        ],
    )


def _wanted(asked: Asked, max_bytes: int) -> wire.FetchPartition:
    return wire.FetchPartition(
        asked.replica.partition,
        asked.leader_epoch,
        asked.offset,
        asked.last_epoch,
        asked.start_offset,
        max_bytes,
    )


def read_fetch(request: wire.FetchRequest, node_id: int, is_stage: IsStage) -> ReplicaFetch:
    """[leader] Of the node that it is known to be from."""
    state = request.replica_state
    return ReplicaFetch(
        node_id,
        -1 if state is None else state.replica_epoch,
        request.session_id,
        request.session_epoch,
        [_asked(topic, each, is_stage) for topic in request.topics for each in topic.partitions],
        [
            _replica(topic.topic_id, index, is_stage)
            for topic in request.forgotten_topics_data
            for index in topic.partitions
        ],
        request.max_wait_ms,
        request.max_bytes,
        request.min_bytes,
    )


def _asked(topic: wire.FetchTopic, wanted: wire.FetchPartition, is_stage: IsStage) -> Asked:
    return Asked(
        _replica(topic.topic_id, wanted.partition, is_stage),
        wanted.fetch_offset,
        wanted.current_leader_epoch,
        wanted.last_fetched_epoch,
        wanted.log_start_offset,
    )


# -- a leader's answer to it


def fetch_response(answer: ReplicaAnswer) -> wire.FetchResponse:
    """[leader]"""
    return wire.FetchResponse(
        error_code=0 if answer.error is None else error_code(answer.error),
        session_id=answer.session,
        responses=[
            wire.FetchableTopicResponse(topic_id, [_data(each) for each in some])
            for topic_id, some in groupby(answer.given, lambda given: wire_id(given.replica))
        ],
    )


def _data(given: Given) -> wire.PartitionData:
    records = given.records
    data = wire.PartitionData(
        given.replica.partition,
        0,
        given.high_watermark,
        given.segment,
        given.start_offset,
        aborted_transactions=None,
        records=bytes(records) if isinstance(records, bytearray) else records,
    )
    if given.error is not None:
        data.error_code = error_code(given.error)
        if isinstance(given.error, StaleLeader):
            data.current_leader = wire.LeaderIdAndEpoch(given.error.leader, given.error.leader_epoch)
    if given.divergence is not None:
        data.diverging_epoch = wire.EpochEndOffset(*given.divergence)
    if given.snapshot != NO_SNAPSHOT:
        data.snapshot_id = wire.SnapshotId(given.snapshot, 0)
    return data


def read_answer(response: wire.FetchResponse, is_stage: IsStage) -> ReplicaAnswer:
    """[follower]"""
    return ReplicaAnswer(
        broker_error(response.error_code) if response.error_code else None,
        response.session_id,
        [_given(topic, each, is_stage) for topic in response.responses for each in topic.partitions],
    )


def _given(topic: wire.FetchableTopicResponse, data: wire.PartitionData, is_stage: IsStage) -> Given:
    diverging, snapshot, records = data.diverging_epoch, data.snapshot_id, data.records
    assert records is None or isinstance(records, bytes | memoryview), "what was decoded names no files"
    return Given(
        _replica(topic.topic_id, data.partition_index, is_stage),
        _refusal(data.error_code, data.current_leader),
        data.high_watermark,
        data.log_start_offset,
        data.last_stable_offset,
        # The epoch is -1 where nothing of it agrees: the log is to be cut to the beginning that is named.
        None if diverging is None or diverging.end_offset < 0 else (diverging.epoch, diverging.end_offset),
        NO_SNAPSHOT if snapshot is None else snapshot.end_offset,
        b"" if records is None else records,
    )


def _refusal(code: int, leader: wire.LeaderIdAndEpoch | snapshot_wire.LeaderIdAndEpoch | None) -> BrokerError | None:
    if not code:
        return None
    error = broker_error(code)
    if isinstance(error, StaleLeader) and leader is not None:
        return type(error)(str(error), leader.leader_id, leader.leader_epoch)
    return error


# -- a stage's checkpoint


def snapshot_request(
    node_id: int, replica: Replica, leader_epoch: int, offset: int, position: int
) -> snapshot_wire.FetchSnapshotRequest:
    """[follower]"""
    wanted = snapshot_wire.RequestPartitionSnapshot(
        replica.partition, leader_epoch, snapshot_wire.RequestSnapshotId(offset, 0), position
    )
    topic = snapshot_wire.RequestTopicSnapshot(wire_id(replica).hex(), [wanted])
    return snapshot_wire.FetchSnapshotRequest(replica_id=node_id, topics=[topic])


WantedSnapshot = tuple[Replica, int, int, int]
"""Of which log, in which leader epoch, of which offset, from which position on."""


def read_snapshot_request(
    request: snapshot_wire.FetchSnapshotRequest, is_stage: IsStage
) -> Iterator[tuple[str, WantedSnapshot]]:
    """[leader] With the names under which they are answered."""
    for topic in request.topics:
        try:
            topic_id = bytes.fromhex(topic.name)
        except ValueError:
            raise WireError("a snapshot is asked for by an id that is none") from None
        for each in topic.partitions:
            replica = _replica(topic_id, each.partition, is_stage)
            yield topic.name, (replica, each.current_leader_epoch, each.snapshot_id.end_offset, each.position)


def snapshot_response(
    answers: Iterable[tuple[str, WantedSnapshot, SnapshotPiece | BrokerError]],
) -> snapshot_wire.FetchSnapshotResponse:
    """[leader]"""
    response = snapshot_wire.FetchSnapshotResponse()
    for name, (replica, _, offset, _), found in answers:
        entry = snapshot_wire.ResponsePartitionSnapshot(
            replica.partition, 0, snapshot_wire.ResponseSnapshotId(offset, 0), unaligned_records=b""
        )
        if isinstance(found, BrokerError):
            entry.error_code = error_code(found)
            if isinstance(found, StaleLeader):
                entry.current_leader = snapshot_wire.LeaderIdAndEpoch(found.leader, found.leader_epoch)
        else:
            entry.size, entry.position, entry.unaligned_records = found.size, found.position, bytes(found.data)
        response.topics.append(snapshot_wire.ResponseTopicSnapshot(name, [entry]))
    return response


def read_snapshot_response(response: snapshot_wire.FetchSnapshotResponse) -> SnapshotPiece:
    """[follower] Raises the leader's refusal."""
    if response.error_code:
        raise broker_error(response.error_code)
    if len(response.topics) != 1 or len(response.topics[0].partitions) != 1:
        raise WireError("an answer about other snapshots than the one that was asked for")
    (entry,) = response.topics[0].partitions
    refusal = _refusal(entry.error_code, entry.current_leader)
    if refusal is not None:
        raise refusal
    data = entry.unaligned_records
    assert data is None or isinstance(data, bytes | memoryview), "what was decoded names no files"
    return SnapshotPiece(entry.size, entry.position, b"" if data is None else data)
