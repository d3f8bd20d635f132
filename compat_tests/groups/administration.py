"""The administrators' requests about groups, by hand."""

from typing import Any

from kafka.protocol.admin import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import OffsetDeleteRequest, OffsetFetchRequest

from compat_tests.wire.connection import Wire


def described(wire: Wire, *groups: str, version: int = 6, authorized_operations: bool = False) -> list[Any]:
    request = DescribeGroupsRequest(
        version=version, groups=list(groups), include_authorized_operations=authorized_operations
    )
    return list(wire.ask(request).groups)


def listed(
    wire: Wire, *, version: int = 5, states: tuple[str, ...] = (), types: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The groups by their ids."""
    answer = wire.ask(ListGroupsRequest(version=version, states_filter=list(states), types_filter=list(types)))
    assert answer.error_code == 0
    return {group.group_id: group for group in answer.groups}


def deleted(wire: Wire, *groups: str, version: int = 2) -> list[tuple[str, int]]:
    answer = wire.ask(DeleteGroupsRequest(version=version, groups_names=list(groups)))
    return [(result.group_id, result.error_code) for result in answer.results]


def offset_deleted(wire: Wire, group: str, topic: str, partition: int = 0) -> tuple[int, int | None]:
    """The error of the request, and of the one partition."""
    of_topic = OffsetDeleteRequest.OffsetDeleteRequestTopic
    one = of_topic.OffsetDeleteRequestPartition(partition_index=partition)
    request = OffsetDeleteRequest(version=0, group_id=group, topics=[of_topic(name=topic, partitions=[one])])
    answer = wire.ask(request)
    return answer.error_code, answer.topics[0].partitions[0].error_code if answer.topics else None


def all_offsets(wire: Wire, *groups: str, version: int = 9) -> dict[str, dict[tuple[str, int], int]]:
    """Every committed offset of the groups."""
    of_group = OffsetFetchRequest.OffsetFetchRequestGroup
    asked = [of_group(group_id=group, member_id=None, member_epoch=-1, topics=None) for group in groups]
    answer = wire.ask(OffsetFetchRequest(version=version, groups=asked, require_stable=False))
    return {
        group.group_id: {
            (topic.name or str(topic.topic_id), each.partition_index): each.committed_offset
            for topic in group.topics
            for each in topic.partitions
        }
        for group in answer.groups
    }
