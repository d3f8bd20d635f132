"""WriteTxnMarkers (27), versions 1-2: write the end of a transaction into partitions.

Brokers send it to each other; administrators send it to end a transaction that its coordinator has forgotten
(KIP-664). Version 2 says of which transaction version the marker is (KIP-890).
"""

from typing import Any

from coordinators.deferred import all_of
from coordinators.transaction.transaction import ProducerIdentity
from engine.errors import BrokerError
from engine.transactions import EndMarker
from wire.kafka.errors import error_code
from wire.kafka.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from wire.kafka.request import Context, Deferred

KEY = 27
VERSIONS = (1, 2)


def handle(request: WriteTxnMarkersRequest, context: Context) -> Deferred:
    """Write each marker; answered when all are durable."""
    results: list[WritableTxnMarkerResult] = []
    entries: list[WritableTxnMarkerPartitionResult] = []
    answers: list[Deferred] = []
    for marker in request.markers:
        result = WritableTxnMarkerResult(producer_id=marker.producer_id)
        results.append(result)
        for topic in marker.topics:
            partitions = [WritableTxnMarkerPartitionResult(index) for index in topic.partition_indexes]
            result.topics.append(WritableTxnMarkerTopicResult(topic.name, partitions))
            entries += partitions
            answers += (_write(marker, topic.name, index, context) for index in topic.partition_indexes)

    def response(outcomes: list[Any]) -> WriteTxnMarkersResponse:
        for entry, outcome in zip(entries, outcomes, strict=True):
            entry.error_code = error_code(outcome) if isinstance(outcome, BrokerError) else 0
        return WriteTxnMarkersResponse(markers=results)

    return all_of(answers).map(response)


def _write(marker: WritableTxnMarker, topic: str, index: int, context: Context) -> Deferred:
    producer = ProducerIdentity(marker.producer_id, marker.producer_epoch)
    end = EndMarker(marker.transaction_result, marker.coordinator_epoch)
    return context.node.transactions.write_marker((topic, index), producer, end)
