"""CreateTopics (19), versions 2-7: makes topics, or only says whether it would.

From version 5 the answer carries the topic's configuration (KIP-525), from 7 its id. Where a request makes more than
200 topics the configurations are left out, as that KIP allows: they would be most of a very long answer. Each topic
succeeds or fails for itself; those of one request are made in one step. The answer comes when the topics can be used.
What exceeds a client's quota is refused from version 6 (KIP-599); clients of before are kept waiting.
"""

from collections.abc import Sequence

from coordinators.access.access import AccessControl
from coordinators.access.quotas.quotas import Quotas
from coordinators.cluster.controller import ClusterController
from coordinators.topic_creation import TopicSpec
from coordinators.topic_view import Topic
from coordinators.topics import Topics
from engine.config.resolve import describe_topic
from engine.errors import BrokerError
from wire.kafka.errors import ErrorCode, error_code
from wire.kafka.letter_rights import letters_of_new, new_letters_of_new
from wire.kafka.messages.base import ZERO_UUID
from wire.kafka.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from wire.kafka.mutations import mutate, mutation_charge
from wire.kafka.request import Context
from wire.kafka.rights import (
    CREATE_CLUSTER,
    CREATE_TOPIC,
    DESCRIBE_TOPIC_CONFIGS,
    WRITE_TOPIC,
    Each,
    Rights,
    Within,
    by_name,
)

KEY = 19
VERSIONS = (2, 7)
RIGHTS = Rights(
    Each(
        (CREATE_TOPIC, CREATE_CLUSTER),
        "topics",
        by_name,
        "topics",
        lambda topic, error: _denied(topic, error),
        CreateTopicsResponse,
    ),
    Each(
        WRITE_TOPIC,
        "topics",
        letters_of_new,
        "topics",
        lambda topic, error: _denied(topic, error),
        CreateTopicsResponse,
    ),
    Each(
        (CREATE_TOPIC, CREATE_CLUSTER),
        "topics",
        new_letters_of_new,
        "topics",
        lambda topic, error: _denied(topic, error),
        CreateTopicsResponse,
    ),
    Within(DESCRIBE_TOPIC_CONFIGS),
)

FIRST_STRICT_VERSION = 6
"""From here on clients know that a quota may be exceeded."""
DESCRIBED_TOPICS = 200


async def handle(
    request: CreateTopicsRequest,
    context: Context,
    controller: ClusterController,
    topics: Topics,
    access: AccessControl,
    quotas: Quotas,
) -> CreateTopicsResponse:
    """Make what can be made."""
    specs = [_spec(topic) for topic in request.topics]

    async def create(some: Sequence[TopicSpec], validate_only: bool) -> Sequence[Topic | BrokerError]:
        return await controller.create_topics(some, validate_only=validate_only)

    charge = mutation_charge(quotas, context, FIRST_STRICT_VERSION)
    results = await mutate(charge, specs, create, _partitions, validate_only=request.validate_only)
    entries: dict[str, CreatableTopicResult] = {}
    described = len(results) <= DESCRIBED_TOPICS
    for spec, result in zip(specs, results, strict=True):
        # A name that was given twice is refused twice and answered once.
        entry = entries[spec.name] = _entry(spec.name, result, request.validate_only, described, topics)
        if not entry.error_code and not access.permits(context.caller, DESCRIBE_TOPIC_CONFIGS, spec.name):
            entry.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            entry.num_partitions, entry.replication_factor, entry.configs = -1, -1, None
    wait_ms = 0 if charge is None else charge.wait_ms
    return CreateTopicsResponse(throttle_time_ms=wait_ms, topics=list(entries.values()))


def _denied(topic: CreatableTopic, error: BrokerError) -> CreatableTopicResult:
    return CreatableTopicResult(name=topic.name, error_code=error_code(error), error_message=str(error))


def _partitions(_: TopicSpec, topic: Topic) -> int:
    return topic.partition_count


def _spec(topic: CreatableTopic) -> TopicSpec:
    return TopicSpec(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        [(assignment.partition_index, assignment.broker_ids) for assignment in topic.assignments],
        {config.name: config.value for config in topic.configs},
    )


def _entry(
    name: str, result: Topic | BrokerError, validate_only: bool, described: bool, topics: Topics
) -> CreatableTopicResult:
    if isinstance(result, BrokerError):
        return CreatableTopicResult(name=name, error_code=error_code(result), error_message=str(result))
    return CreatableTopicResult(
        name=name,
        topic_id=ZERO_UUID if validate_only else result.topic_id,
        topic_config_error_code=ErrorCode.NONE if described else ErrorCode.POLICY_VIOLATION,
        num_partitions=result.partition_count,
        replication_factor=len(result.partitions[0].replicas),
        configs=_configs(result, topics) if described else None,
    )


def _configs(topic: Topic, topics: Topics) -> list[CreatableTopicConfigs]:
    return [
        CreatableTopicConfigs(
            name=entry.key.name,
            value=entry.text,
            read_only=entry.read_only,
            config_source=entry.source,
            is_sensitive=entry.key.sensitive,
        )
        for entry in describe_topic(topic.config, topics.settings)
    ]
