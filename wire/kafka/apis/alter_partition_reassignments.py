"""AlterPartitionReassignments (45), versions 0-1: has partitions lie on other nodes (KIP-455).

Null replicas cancel a reassignment that is under way. The answer comes when the change is decided; that the records
have moved is told by ListPartitionReassignments, which no longer names the partition then. From version 1 a client may
forbid that the number of replicas changes (KIP-860).
"""

from collections.abc import Sequence

from coordinators.cluster.controller import ClusterController
from coordinators.cluster.reassigning import ReassignmentSpec
from engine.catalogue.records import PartitionRecord
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from wire.kafka.request import Context
from wire.kafka.rights import ALTER_CLUSTER, Need, Rights
from wire.kafka.slices import change_in_slices

KEY = 45
VERSIONS = (0, 1)
RIGHTS = Rights(Need(ALTER_CLUSTER), refuse=lambda request, _, error: _refused(request, error))


async def handle(
    request: AlterPartitionReassignmentsRequest, _: Context, controller: ClusterController
) -> AlterPartitionReassignmentsResponse:
    """Begin and cancel what can be; each partition for itself."""
    allowed = request.allow_replication_factor_change
    specs = [
        ReassignmentSpec(topic.name, each.partition_index, None if each.replicas is None else tuple(each.replicas))
        for topic in request.topics
        for each in topic.partitions
    ]

    async def reassign(some: Sequence[ReassignmentSpec]) -> Sequence[PartitionRecord | BrokerError]:
        return await controller.reassign_partitions(some, allow_factor_change=allowed)

    results = iter(await change_in_slices(specs, lambda spec: (spec.topic, spec.partition), reassign))
    responses = [
        ReassignableTopicResponse(
            name=topic.name, partitions=[_entry(each.partition_index, next(results)) for each in topic.partitions]
        )
        for topic in request.topics
    ]
    return AlterPartitionReassignmentsResponse(allow_replication_factor_change=allowed, responses=responses)


def _entry(index: int, result: PartitionRecord | BrokerError) -> ReassignablePartitionResponse:
    if isinstance(result, BrokerError):
        return ReassignablePartitionResponse(index, error_code(result), str(result))
    return ReassignablePartitionResponse(index)


def _refused(request: AlterPartitionReassignmentsRequest, error: BrokerError) -> AlterPartitionReassignmentsResponse:
    """The whole, and each partition, as Kafka does it."""
    responses = [
        ReassignableTopicResponse(topic.name, [_entry(each.partition_index, error) for each in topic.partitions])
        for topic in request.topics
    ]
    return AlterPartitionReassignmentsResponse(
        error_code=error_code(error), error_message=str(error), responses=responses
    )
