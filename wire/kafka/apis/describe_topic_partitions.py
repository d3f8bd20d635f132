"""DescribeTopicPartitions (75), version 0: topics in pages of partitions (KIP-966).

Topics come sorted by name; a cursor says where the next page begins. No topics means all. Replicas that may lead though
they are not in sync (ELR) are told. There are none besides that were the last to be: the ISR keeps its last member.
"""

from coordinators.topic_names import check_topic_name
from coordinators.topic_view import Topic
from coordinators.topics import Topics
from engine.errors import BrokerError, InvalidRequest, UnknownTopicOrPartition
from wire.kafka.authorized_operations import TOPIC_OPERATIONS
from wire.kafka.errors import error_code
from wire.kafka.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    ResponseCursor,
)
from wire.kafka.request import Context
from wire.kafka.told_nodes import ToldNodes

KEY = 75
VERSIONS = (0, 0)

MAX_PARTITIONS_PER_PAGE = 2000
NO_LEADER = -1


def handle(
    request: DescribeTopicPartitionsRequest, context: Context, topics: Topics, nodes: ToldNodes
) -> DescribeTopicPartitionsResponse:
    """One page."""
    alive = frozenset(node.node_id for node in nodes.all(context.peer))
    response = DescribeTopicPartitionsResponse()
    room = min(max(request.response_partition_limit, 1), MAX_PARTITIONS_PER_PAGE)
    cursor = request.cursor
    for name in _names(request, topics):
        first = 0
        if cursor is not None and name == cursor.topic_name:
            first = cursor.partition_index
        if room == 0:
            response.next_cursor = ResponseCursor(topic_name=name, partition_index=first)
            break
        entry, following = _topic(name, first, room, topics, alive)
        response.topics.append(entry)
        room -= max(1, len(entry.partitions))
        if following is not None:
            response.next_cursor = ResponseCursor(topic_name=name, partition_index=following)
            break
    return response


def _names(request: DescribeTopicPartitionsRequest, topics: Topics) -> list[str]:
    names = {topic.name for topic in request.topics} if request.topics else set(topics.by_name)
    start = request.cursor.topic_name if request.cursor is not None else ""
    return sorted(name for name in names if name >= start)


def _topic(
    name: str, first: int, room: int, topics: Topics, alive: frozenset[int]
) -> tuple[DescribeTopicPartitionsResponseTopic, int | None]:
    """The topic's partitions from `first` on, and which comes next if there was no room for all."""
    try:
        if first < 0:
            raise InvalidRequest(f"the cursor names partition {first} of {name!r}")
        topic = _find(name, topics)
    except BrokerError as error:
        return DescribeTopicPartitionsResponseTopic(error_code=error_code(error), name=name), None
    last = min(first + room, len(topic.partitions))
    entry = DescribeTopicPartitionsResponseTopic(
        name=name,
        topic_id=topic.topic_id,
        is_internal=topic.hidden,
        partitions=[_partition(topic, index, alive) for index in range(first, last)],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )
    return entry, last if last < len(topic.partitions) else None


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
