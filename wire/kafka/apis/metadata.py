"""Metadata (3), versions 0-13: nodes, topics, and who leads each partition.

No topics means all in version 0; from version 1 null means all and an empty list none. A topic that does not
exist is made where broker and client allow it (the client can say no from version 4), and the answer waits
for that instead of sending the client round. From version 10 topics may be named by id (KIP-516).

As the controller, to which clients send what makes and alters topics, the node that answers names itself: every node
takes such requests, as every broker of Kafka's does since KRaft. librdkafka, told of one that has just died, would try
to reach it for long. DescribeCluster tells which node the controller is.
"""

from collections.abc import Coroutine, Iterable, Mapping
from typing import Any

from attrs import frozen

from coordinators.access.access import AccessControl
from coordinators.access.acls import ResourceKind
from coordinators.cluster.controller import ClusterController
from coordinators.internal_topics import InternalTopics
from coordinators.topic_creation import TopicSpec
from coordinators.topic_names import check_topic_name, is_legal_topic_name
from coordinators.topic_view import Topic
from coordinators.topics import Topics
from engine.errors import BrokerError, TopicAlreadyExists, UnknownTopicId, UnknownTopicOrPartition, fresh, kept
from wire.kafka.authorized_operations import NOT_ASKED, cluster_operations
from wire.kafka.errors import ErrorCode, error_code
from wire.kafka.messages.base import ZERO_UUID
from wire.kafka.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from wire.kafka.request import Context
from wire.kafka.rights import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_CLUSTER, DESCRIBE_TOPIC, Rights, Within
from wire.kafka.steps import lazily
from wire.kafka.told_nodes import ToldNodes

KEY = 3
VERSIONS = (0, 13)
RIGHTS = Rights(Within(DESCRIBE_TOPIC), Within(CREATE_TOPIC), Within(CREATE_CLUSTER), Within(DESCRIBE_CLUSTER))

ASKED = "metadata"
FIRST_CHOICE_OF_CREATION_VERSION = 4
FIRST_LISTENER_NOT_FOUND = 6
NO_LEADER = -1


def handle(
    request: MetadataRequest,
    context: Context,
    nodes: ToldNodes,
    topics: Topics,
    controller: ClusterController,
    internal_topics: InternalTopics,
    access: AccessControl,
) -> MetadataResponse | Coroutine[Any, Any, MetadataResponse]:
    """Describe what is asked for; make missing topics first where that is wanted."""
    denied = _denied(request, context, access) if access.is_enforced else {}
    missing = _to_create(request, context, topics, denied)
    if missing and access.is_enforced:
        uncreated = {name: CREATE_TOPIC.refusal(name) for name in missing if not _may_create(name, context, access)}
        missing = [name for name in missing if name not in uncreated]
        denied |= uncreated
    if missing:
        return _create_then_describe(missing, request, context, nodes, controller, internal_topics, access, denied)
    return _describe(request, context, nodes, topics, access, denied)


def _denied(request: MetadataRequest, context: Context, access: AccessControl) -> dict[str, BrokerError]:
    """Of the topics that are named those that the caller may not describe. Whether they exist is not looked at."""
    names = {topic.name for topic in request.topics or () if topic.topic_id == ZERO_UUID and topic.name is not None}
    return {
        name: kept(DESCRIBE_TOPIC.refusal(name))
        for name in names
        if not access.allows(context.caller, DESCRIBE_TOPIC, name, ASKED)
    }


def _may_create(name: str, context: Context, access: AccessControl) -> bool:
    caller = context.caller
    return access.permits(caller, CREATE_CLUSTER) or access.allows(caller, CREATE_TOPIC, name, ASKED)


def _to_create(
    request: MetadataRequest, context: Context, topics: Topics, denied: Mapping[str, BrokerError]
) -> list[str]:
    allowed = context.version < FIRST_CHOICE_OF_CREATION_VERSION or request.allow_auto_topic_creation
    if not request.topics or not allowed or not topics.settings.flag("auto.create.topics.enable"):
        return []
    known = topics.by_name
    named = {topic.name: None for topic in request.topics if topic.topic_id == ZERO_UUID}
    return [
        name
        for name in named
        if name is not None and name not in known and name not in denied and is_legal_topic_name(name)
    ]


async def _create_then_describe(
    names: list[str],
    request: MetadataRequest,
    context: Context,
    nodes: ToldNodes,
    controller: ClusterController,
    internal_topics: InternalTopics,
    access: AccessControl,
    denied: Mapping[str, BrokerError],
) -> MetadataResponse:
    specs = [internal_topics.spec(name) or TopicSpec(name) for name in names]
    results = await controller.create_topics(specs)
    refused = {
        name: result
        for name, result in zip(names, results, strict=True)
        if isinstance(result, BrokerError) and not isinstance(result, TopicAlreadyExists)
    }
    return _describe(request, context, nodes, controller.topics, access, {**denied, **refused})


@frozen
class Known:
    """The nodes, for one client."""

    reached: frozenset[int]
    without_listener: frozenset[int]


def _describe(
    request: MetadataRequest,
    context: Context,
    nodes: ToldNodes,
    topics: Topics,
    access: AccessControl,
    refused: Mapping[str, BrokerError],
) -> MetadataResponse:
    told = nodes.known(context.peer)
    hidden = nodes.without_listener(context.peer) if context.version >= FIRST_LISTENER_NOT_FOUND else frozenset()
    known = Known(frozenset(node.node_id for node in nodes.all(context.peer)), hidden)
    asks_cluster = request.include_cluster_authorized_operations
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node.node_id, node.host, node.port, node.rack) for node in told],
        cluster_id=nodes.identity.cluster_id,
        controller_id=nodes.identity.node_id,
        topics=_topics(request, context, topics, access, refused, known),
        cluster_authorized_operations=cluster_operations(access, context.caller) if asks_cluster else NOT_ASKED,
    )


def _topics(
    request: MetadataRequest,
    context: Context,
    topics: Topics,
    access: AccessControl,
    refused: Mapping[str, BrokerError],
    known: Known,
) -> list[MetadataResponseTopic]:
    caller = context.caller

    def operations(topic: Topic) -> int:
        asked = request.include_topic_authorized_operations
        return access.operations(caller, ResourceKind.TOPIC, topic.name) if asked else NOT_ASKED

    if request.topics is None or (context.version == 0 and not request.topics):
        # Who asks for all is told of all that are the broker's own, so that no pattern takes them in; but of nothing
        # that it may not describe.
        seen: Iterable[Topic] = topics.by_name.values()
        if access.is_enforced:
            seen = [topic for topic in seen if access.permits(caller, DESCRIBE_TOPIC, topic.name)]
        return lazily(seen, lambda topic: _topic(topic, operations(topic), topic.internal, known))

    def describe(wanted: MetadataRequestTopic) -> MetadataResponseTopic:
        try:
            topic = _find(wanted, topics, refused)
            if wanted.topic_id != ZERO_UUID:
                access.require(caller, DESCRIBE_TOPIC, topic.name, ASKED)
        except BrokerError as error:
            return _missing_topic(wanted, error, context.version)
        return _topic(topic, operations(topic), topic.hidden, known)

    return lazily(_unique(request.topics), describe)


def _unique(topics: list[MetadataRequestTopic]) -> Iterable[MetadataRequestTopic]:
    """Each topic once; by its id, if it has one, and else by its name."""
    return {wanted.name if wanted.topic_id == ZERO_UUID else wanted.topic_id: wanted for wanted in topics}.values()


def _missing_topic(wanted: MetadataRequestTopic, error: BrokerError, version: int) -> MetadataResponseTopic:
    by_id = wanted.topic_id != ZERO_UUID
    return MetadataResponseTopic(
        error_code=error_code(error),
        name=None if by_id and version >= 12 else wanted.name or "",
        topic_id=wanted.topic_id,
    )


def _find(wanted: MetadataRequestTopic, topics: Topics, refused: Mapping[str, BrokerError]) -> Topic:
    if wanted.topic_id != ZERO_UUID:
        topic = topics.by_id.get(wanted.topic_id)
        if topic is None:
            raise UnknownTopicId(f"no topic has the id {wanted.topic_id.hex()}")
        return topic
    name = wanted.name or ""
    if name in refused:
        raise fresh(refused[name])
    check_topic_name(name)
    topic = topics.by_name.get(name)
    if topic is None:
        raise UnknownTopicOrPartition(f"no topic is called {name!r}")
    return topic


def _topic(topic: Topic, operations: int, is_internal: bool, known: Known) -> MetadataResponseTopic:
    reached = known.reached
    partitions = [
        MetadataResponsePartition(
            partition_index=index,
            leader_id=partition.leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=list(partition.replicas),
            isr_nodes=list(partition.isr),
        )
        for index, partition in enumerate(topic.partitions)
    ]
    for each in partitions:
        if not reached.issuperset(each.replica_nodes):
            each.offline_replicas = [node_id for node_id in each.replica_nodes if node_id not in reached]
        if each.leader_id not in reached:
            # As in Kafka: the client asks again, for another is about to lead; or is told that it came to a listener
            # that the leader does not have.
            is_hidden = each.leader_id in known.without_listener
            each.error_code = ErrorCode.LISTENER_NOT_FOUND if is_hidden else ErrorCode.LEADER_NOT_AVAILABLE
            each.leader_id = NO_LEADER
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=is_internal,
        partitions=partitions,
        topic_authorized_operations=operations,
    )
