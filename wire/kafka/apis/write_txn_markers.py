"""WriteTxnMarkers (27), versions 1-2: write the end of a transaction into partitions.

Nodes send it to each other, and administrators send it to end a transaction that its coordinator has forgotten
(KIP-664): as in Kafka, whoever may act for the cluster, which is everybody as long as nobody is authorised. Version 2
says of which transaction version the marker is: from transaction version 2 on each raises the producer's epoch, and one
that comes after its producer has begun the next transaction is refused with INVALID_PRODUCER_EPOCH (KIP-890).
Before that the epoch does not tell two transactions apart. A node whose connection broke asks again over another: what
still arrives over the one before is refused. So is what was meant for this node in an earlier epoch of its leadership:
meanwhile another leader may have written the marker.
"""

import struct
from collections.abc import Sequence
from typing import Any

from coordinators.transaction.markers import ANY_EPOCH, LocalMarkers
from coordinators.transaction.transaction import V2, ProducerIdentity
from engine.errors import BrokerError, InvalidRequest
from engine.log.transactions import EndMarker
from wire.kafka.codec import WireError
from wire.kafka.errors import error_code
from wire.kafka.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from wire.kafka.nodes.trust import NodeTrust
from wire.kafka.request import Context, Deferred
from wire.kafka.rights import ALTER_CLUSTER, CLUSTER_ACTION, Need, Rights
from wire.kafka.slices import for_each
from wire.kafka.steps import Steps

KEY = 27
VERSIONS = (1, 2)
EPOCH_BYTES = 4
RIGHTS = Rights(Need((CLUSTER_ACTION, ALTER_CLUSTER)), refuse=lambda request, _, error: _refused(request, error))

Marker = tuple[ProducerIdentity, EndMarker]


def handle(request: WriteTxnMarkersRequest, context: Context, markers: LocalMarkers, trust: NodeTrust) -> Steps[Any]:
    """Write each marker, once where a partition is named twice; answered when all are durable."""
    link = context.peer.link
    if link is not None and trust.is_replaced(link):
        raise WireError(f"markers of node {link.node_id} over a connection that it has replaced")
    results: list[WritableTxnMarkerResult] = []
    wanted: list[tuple[Marker, str, int, WritableTxnMarkerPartitionResult]] = []
    try:
        merged = _merged(request)
    except InvalidRequest as error:
        return _refused(request, error)
    for marker, places in merged.items():
        result = WritableTxnMarkerResult(producer_id=marker[0].producer_id)
        results.append(result)
        for name, epochs in places.items():
            partitions = [WritableTxnMarkerPartitionResult(index) for index in epochs]
            result.topics.append(WritableTxnMarkerTopicResult(name, partitions))
            wanted += [(marker, name, epochs[entry.partition_index], entry) for entry in partitions]
            yield

    return for_each(wanted, lambda each: _write(*each, markers), lambda _: WriteTxnMarkersResponse(markers=results))


def _merged(request: WriteTxnMarkersRequest) -> dict[Marker, dict[str, dict[int, int]]]:
    """The partitions of each marker by topic, each once, with the epoch of the leader that is meant."""
    merged: dict[Marker, dict[str, dict[int, int]]] = {}
    for each in request.markers:
        producer = ProducerIdentity(each.producer_id, each.producer_epoch)
        raises_epoch = each.transaction_version >= V2
        marker = (producer, EndMarker(each.transaction_result, each.coordinator_epoch, raises_epoch))
        places = merged.setdefault(marker, {})
        for topic in each.topics:
            places.setdefault(topic.name, {}).update(zip(topic.partition_indexes, _epochs(topic), strict=True))
    return merged


def _epochs(topic: WritableTxnMarkerTopic) -> Sequence[int]:
    """One for each partition. Administrators and other brokers do not tell them."""
    count, packed = len(topic.partition_indexes), topic.tidegate_leader_epochs
    if packed is None:
        return [ANY_EPOCH] * count
    if len(packed) != count * EPOCH_BYTES:
        raise InvalidRequest(f"{len(packed)} bytes of leader epochs for {count} partitions")
    return struct.unpack(f">{count}i", packed)


def _write(
    marker: Marker, topic: str, leader_epoch: int, entry: WritableTxnMarkerPartitionResult, markers: LocalMarkers
) -> Deferred[None]:
    producer, end = marker

    def refuse(error: BrokerError) -> None:
        entry.error_code = error_code(error)

    return markers.write((topic, entry.partition_index), producer, end, leader_epoch).map(lambda _: None, refuse)


def _refused(request: WriteTxnMarkersRequest, error: BrokerError) -> WriteTxnMarkersResponse:
    code = error_code(error)
    markers = [
        WritableTxnMarkerResult(
            each.producer_id,
            [
                WritableTxnMarkerTopicResult(
                    topic.name, [WritableTxnMarkerPartitionResult(index, code) for index in topic.partition_indexes]
                )
                for topic in each.topics
            ],
        )
        for each in request.markers
    ]
    return WriteTxnMarkersResponse(markers=markers)
