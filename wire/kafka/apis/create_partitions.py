"""CreatePartitions (37), versions 0-3: adds partitions to topics (KIP-195); every topic asked for is answered."""

from collections.abc import Sequence

from coordinators.access.quotas.quotas import Quotas
from coordinators.cluster.controller import ClusterController
from coordinators.topic_creation import PartitionsSpec
from coordinators.topic_view import Topic
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from wire.kafka.mutations import mutate, mutation_charge
from wire.kafka.request import Context
from wire.kafka.rights import ALTER_TOPIC, Each, Rights, by_name

KEY = 37
VERSIONS = (0, 3)
RIGHTS = Rights(
    Each(
        ALTER_TOPIC,
        "topics",
        by_name,
        "results",
        lambda topic, error: CreatePartitionsTopicResult(topic.name, error_code(error), str(error)),
        CreatePartitionsResponse,
    )
)

FIRST_STRICT_VERSION = 3
"""From here on clients know that a quota may be exceeded (KIP-599)."""


async def handle(
    request: CreatePartitionsRequest, context: Context, controller: ClusterController, quotas: Quotas
) -> CreatePartitionsResponse:
    """Add what can be added."""
    specs = [_spec(topic) for topic in request.topics]

    async def create(some: Sequence[PartitionsSpec], validate_only: bool) -> Sequence[Topic | BrokerError]:
        return await controller.create_partitions(some, validate_only=validate_only)

    def added(spec: PartitionsSpec, topic: Topic) -> int:
        before = controller.topics.by_name.get(spec.topic)
        return topic.partition_count - (0 if before is None else before.partition_count)

    charge = mutation_charge(quotas, context, FIRST_STRICT_VERSION)
    results = await mutate(charge, specs, create, added, validate_only=request.validate_only)
    entries = {}
    for spec, result in zip(specs, results, strict=True):
        entry = CreatePartitionsTopicResult(name=spec.topic)
        if isinstance(result, BrokerError):
            entry.error_code, entry.error_message = error_code(result), str(result)
        entries[spec.topic] = entry
    wait_ms = 0 if charge is None else charge.wait_ms
    return CreatePartitionsResponse(throttle_time_ms=wait_ms, results=list(entries.values()))


def _spec(topic: CreatePartitionsTopic) -> PartitionsSpec:
    assignments = topic.assignments
    replicas = None if assignments is None else [assignment.broker_ids for assignment in assignments]
    return PartitionsSpec(topic.name, topic.count, replicas)
