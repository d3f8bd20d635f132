"""Share groups by Kafka's own requests: their members, where they are and how far behind, and letting them begin
elsewhere. What their members have in hand only the operations door tells."""

from collections.abc import Mapping
from typing import Any

from tools.cli.errors import NotFound
from tools.cli.groups import list_groups
from tools.cli.kafka import Kafka, check
from tools.cli.offsets import Place
from wire.kafka.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from wire.kafka.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from wire.kafka.messages.share_group_describe import ShareGroupDescribeRequest

SHARE = "share"
NOT_BEGUN = -1


async def list_shares(kafka: Kafka) -> list[Any]:
    """All share groups of all nodes, by id."""
    return [each for each in await list_groups(kafka) if (each.group_type or "").lower() == SHARE]


async def describe(kafka: Kafka, name: str) -> Any:
    """One group; an error if there is none."""
    if name not in {each.group_id for each in await list_shares(kafka)}:
        raise NotFound(f"no share group {name!r}", "'tidegate share list' shows those that there are")
    node = await kafka.coordinator(name)

    async def ask() -> Any:
        (found,) = (await kafka.call(ShareGroupDescribeRequest(group_ids=[name]), node=node)).groups
        check(found.error_code, name, found.error_message)
        return found

    return await kafka.patiently(ask)


def members(described: Any) -> list[dict[str, Any]]:
    """The members of a group, with what each was assigned."""
    return [
        {
            "member_id": each.member_id,
            "client_id": each.client_id,
            "host": each.client_host,
            "partitions": [
                f"{topic.topic_name}-{index}"
                for topic in each.assignment.topic_partitions
                for index in topic.partitions
            ],
        }
        for each in described.members
    ]


async def offsets(kafka: Kafka, name: str) -> list[dict[str, Any]]:
    """Where a group is, in every partition that it has begun with."""
    node = await kafka.coordinator(name)

    async def ask() -> list[dict[str, Any]]:
        asked = DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None)
        (found,) = (await kafka.call(DescribeShareGroupOffsetsRequest(groups=[asked]), node=node)).groups
        check(found.error_code, name, found.error_message)
        rows = []
        for topic in found.topics:
            for each in topic.partitions:
                check(each.error_code, f"{topic.topic_name}-{each.partition_index}", each.error_message)
                begun = each.start_offset != NOT_BEGUN
                rows.append(
                    {
                        "topic": topic.topic_name,
                        "partition": each.partition_index,
                        "start_offset": each.start_offset if begun else None,
                        "lag": each.lag if begun and each.lag >= 0 else None,
                    }
                )
        return sorted(rows, key=lambda row: (row["topic"], row["partition"]))

    return await kafka.patiently(ask)


async def begin_at(kafka: Kafka, name: str, starts: Mapping[Place, int]) -> None:
    """Let a group without members begin there."""
    topics: dict[str, list[AlterShareGroupOffsetsRequestPartition]] = {}
    for (topic, index), offset in starts.items():
        topics.setdefault(topic, []).append(AlterShareGroupOffsetsRequestPartition(index, offset))
    request = AlterShareGroupOffsetsRequest(
        name, [AlterShareGroupOffsetsRequestTopic(topic, places) for topic, places in topics.items()]
    )
    node = await kafka.coordinator(name)

    async def ask() -> None:
        answer = await kafka.call(request, node=node)
        check(answer.error_code, name, answer.error_message)
        for topic in answer.responses:
            for each in topic.partitions:
                check(each.error_code, f"{topic.topic_name}-{each.partition_index}", each.error_message)

    await kafka.patiently(ask)
