"""DescribeTopicPartitions (75), version 0: topics in pages of partitions (KIP-966).

Topics come sorted by name; a cursor says where the next page begins. No topics means all. Replicas that may lead though
they are not in sync (ELR) are told. There are none besides that were the last to be: the ISR keeps its last member.
"""

from coordinators.access.access import AccessControl
from coordinators.access.acls import ResourceKind
from coordinators.topic_names import check_topic_name
from coordinators.topic_view import Topic
from coordinators.topics import Topics
from engine.errors import BrokerError, InvalidRequest, UnknownTopicOrPartition
from wire.kafka.errors import error_code
from wire.kafka.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    ResponseCursor,
)
from wire.kafka.request import Context
from wire.kafka.rights import DESCRIBE_TOPIC, Rights, Within
from wire.kafka.told_nodes import ToldNodes

KEY = 75
VERSIONS = (0, 0)
RIGHTS = Rights(Within(DESCRIBE_TOPIC))

MAX_PARTITIONS_PER_PAGE = 2000
NO_LEADER = -1


def handle(
    request: DescribeTopicPartitionsRequest, context: Context, topics: Topics, nodes: ToldNodes, access: AccessControl
) -> DescribeTopicPartitionsResponse:
    """One page."""
    alive = frozenset(node.node_id for node in nodes.all(context.peer))
    response = DescribeTopicPartitionsResponse()
    room = min(max(request.response_partition_limit, 1), MAX_PARTITIONS_PER_PAGE)
    cursor = request.cursor
    for name in _names(request, topics, context, access):
        first = 0
        if cursor is not None and name == cursor.topic_name:
            first = cursor.partition_index
        if room == 0:
            response.next_cursor = ResponseCursor(topic_name=name, partition_index=first)
            break
        if request.topics and not access.allows(context.caller, DESCRIBE_TOPIC, name, "describe_topic_partitions"):
            response.topics.append(_refused(name, DESCRIBE_TOPIC.refusal(name)))
            room -= 1
            continue
        entry, following = _topic(name, first, room, topics, alive)
        if not entry.error_code:
            entry.topic_authorized_operations = access.operations(context.caller, ResourceKind.TOPIC, name)
        response.topics.append(entry)
        room -= max(1, len(entry.partitions))
        if following is not None:
            response.next_cursor = ResponseCursor(topic_name=name, partition_index=following)
            break
    return response


def _names(
    request: DescribeTopicPartitionsRequest, topics: Topics, context: Context, access: AccessControl
) -> list[str]:
    """Sorted; of all topics those that the caller may describe."""
    names = {topic.name for topic in request.topics} if request.topics else set(topics.by_name)
    start = request.cursor.topic_name if request.cursor is not None else ""
    asked = [name for name in names if name >= start]
    if not request.topics:
        asked = [name for name in asked if access.permits(context.caller, DESCRIBE_TOPIC, name)]
    return sorted(asked)


def _topic(
    name: str, first: int, room: int, topics: Topics, alive: frozenset[int]
) -> tuple[DescribeTopicPartitionsResponseTopic, int | None]:
    """The topic's partitions from `first` on, and which comes next if there was no room for all."""
    try:
        if first < 0:
            raise InvalidRequest(f"the cursor names partition {first} of {name!r}")
        topic = _find(name, topics)
    except BrokerError as error:
        return _refused(name, error), None
    last = min(first + room, len(topic.partitions))
    entry = DescribeTopicPartitionsResponseTopic(
        name=name,
        topic_id=topic.topic_id,
        is_internal=topic.hidden,
        partitions=[_partition(topic, index, alive) for index in range(first, last)],
    )
    return entry, last if last < len(topic.partitions) else None


def _refused(name: str, error: BrokerError) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(error_code=error_code(error), name=name)


def _find(name: str, topics: Topics) -> Topic:
    check_topic_name(name)
    topic = topics.by_name.get(name)
    if topic is None:
        raise UnknownTopicOrPartition(f"no topic is called {name!r}")
    return topic


def _partition(topic: Topic, index: int, alive: frozenset[int]) -> DescribeTopicPartitionsResponsePartition:
    partition = topic.partitions[index]
    return DescribeTopicPartitionsResponsePartition(
        partition_index=index,
        leader_id=partition.leader if partition.leader in alive else NO_LEADER,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.elr),
        last_known_elr=[],
        offline_replicas=[node_id for node_id in partition.replicas if node_id not in alive],
    )
