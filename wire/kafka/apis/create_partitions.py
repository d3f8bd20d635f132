"""CreatePartitions (37), versions 0-3: adds partitions to topics (KIP-195); every topic asked for is answered."""

from coordinators.cluster.controller import ClusterController
from coordinators.topic_creation import PartitionsSpec
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
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


async def handle(
    request: CreatePartitionsRequest, _: Context, controller: ClusterController
) -> CreatePartitionsResponse:
    """Add what can be added."""
    specs = [_spec(topic) for topic in request.topics]
    results = await controller.create_partitions(specs, validate_only=request.validate_only)
    entries = {}
    for spec, result in zip(specs, results, strict=True):
        entry = CreatePartitionsTopicResult(name=spec.topic)
        if isinstance(result, BrokerError):
            entry.error_code, entry.error_message = error_code(result), str(result)
        entries[spec.topic] = entry
    return CreatePartitionsResponse(results=list(entries.values()))


def _spec(topic: CreatePartitionsTopic) -> PartitionsSpec:
    assignments = topic.assignments
    replicas = None if assignments is None else [assignment.broker_ids for assignment in assignments]
    return PartitionsSpec(topic.name, topic.count, replicas)
