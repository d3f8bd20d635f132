"""ListPartitionReassignments (46), version 0: the partitions that are on their way to other nodes (KIP-455).

Null topics mean all. A partition that is asked for and lies where it should, or does not exist, is not told of.
"""

from collections.abc import Iterable

from coordinators.cluster.reassignments import is_moving
from coordinators.topics import Topics
from wire.kafka.errors import error_code
from wire.kafka.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from wire.kafka.request import Context
from wire.kafka.rights import DESCRIBE_CLUSTER, Need, Rights
from wire.kafka.steps import Steps

KEY = 46
VERSIONS = (0, 0)
RIGHTS = Rights(
    Need(DESCRIBE_CLUSTER),
    refuse=lambda _request, _version, error: ListPartitionReassignmentsResponse(
        error_code=error_code(error), error_message=str(error)
    ),
)


def handle(
    request: ListPartitionReassignmentsRequest, _: Context, topics: Topics
) -> Steps[ListPartitionReassignmentsResponse]:
    """As this node knows them."""
    wanted: dict[str, Iterable[int] | None] = dict.fromkeys(topics.by_name)
    if request.topics is not None:
        wanted = {topic.name: topic.partition_indexes for topic in request.topics}
    response = ListPartitionReassignmentsResponse()
    for name, indexes in wanted.items():
        yield
        partitions = _moving(name, indexes, topics)
        if partitions:
            response.topics.append(OngoingTopicReassignment(name, partitions))
    return response


def _moving(name: str, indexes: Iterable[int] | None, topics: Topics) -> list[OngoingPartitionReassignment]:
    topic = topics.by_name.get(name)
    if topic is None:
        return []
    named = range(topic.partition_count) if indexes is None else dict.fromkeys(indexes)
    return [
        OngoingPartitionReassignment(index, list(row.replicas), list(row.adding), list(row.removing))
        for index in named
        if 0 <= index < topic.partition_count and is_moving(row := topic.partitions[index])
    ]
