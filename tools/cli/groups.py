"""Groups of consumers by Kafka's own requests: their states, members, committed offsets, lag; of both protocols."""

from typing import Any

from attrs import frozen

from coordinators.group.consumer.protocol import read_assignment
from tools.cli.errors import NotFound, Refused
from tools.cli.kafka import Kafka, check
from tools.cli.offsets import LATEST, Place, list_offsets
from wire.kafka.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from wire.kafka.messages.describe_groups import DescribeGroupsRequest
from wire.kafka.messages.list_groups import ListGroupsRequest
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from wire.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from wire.kafka.messages.streams_group_describe import StreamsGroupDescribeRequest

# From the next version on topics are named by id, which groups of deleted topics do not have.
LAST_WITH_NAMES = 9
UNKNOWN_TOPIC, GROUP_NOT_FOUND = 3, 69
EMPTY_STATES = ("empty", "dead")


@frozen
class Member:
    """A member and the partitions it reads; None where its protocol is not the consumers'."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    places: tuple[Place, ...] | None


@frozen
class Described:
    """A group."""

    group: str
    kind: str
    state: str
    assignor: str
    members: tuple[Member, ...]


async def list_groups(kafka: Kafka) -> list[Any]:
    """All groups of all nodes, by id."""
    answers = await kafka.everywhere(ListGroupsRequest())
    return sorted((group for answer in answers for group in answer.groups), key=lambda group: group.group_id)


async def describe(kafka: Kafka, name: str) -> Described:
    """One group; an error if there is none."""
    listed = {each.group_id: each for each in await list_groups(kafka)}
    if name not in listed:
        raise NotFound(f"no group {name!r}", "'tidegate group list' shows those that there are")
    kind = (listed[name].group_type or "").lower()
    if kind == "share":
        raise Refused(f"{name!r} is a share group", f"see 'tidegate share describe {name}'")
    node = await kafka.coordinator(name)
    if kind == "consumer":
        return await kafka.patiently(lambda: _consumer(kafka, name, node))
    if (listed[name].group_type or "").lower() == "streams":
        return await kafka.patiently(lambda: _streams(kafka, name, node))
    return await kafka.patiently(lambda: _classic(kafka, name, node))


async def _consumer(kafka: Kafka, name: str, node: int) -> Described:
    (found,) = (await kafka.call(ConsumerGroupDescribeRequest(group_ids=[name]), node=node)).groups
    check(found.error_code, name, found.error_message)
    members = (
        Member(
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host,
            tuple(
                (topic.topic_name, index) for topic in each.assignment.topic_partitions for index in topic.partitions
            ),
        )
        for each in found.members
    )
    return Described(name, "consumer", found.group_state, found.assignor_name, tuple(members))


async def _streams(kafka: Kafka, name: str, node: int) -> Described:
    """What members read is what the subtopologies read whose active tasks they have."""
    (found,) = (await kafka.call(StreamsGroupDescribeRequest(group_ids=[name]), node=node)).groups
    check(found.error_code, name, found.error_message)
    subtopologies = [] if found.topology is None else found.topology.subtopologies or []
    reads = {
        each.subtopology_id: [*each.source_topics, *(topic.name for topic in each.repartition_source_topics)]
        for each in subtopologies
    }
    members = (
        Member(
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host,
            tuple(
                (topic, index)
                for tasks in each.assignment.active_tasks
                for topic in reads.get(tasks.subtopology_id, ())
                for index in tasks.partitions
            ),
        )
        for each in found.members
    )
    return Described(name, "streams", found.group_state, "sticky", tuple(members))


async def _classic(kafka: Kafka, name: str, node: int) -> Described:
    (found,) = (await kafka.call(DescribeGroupsRequest(groups=[name]), node=node)).groups
    check(found.error_code, name, found.error_message)
    is_readable = found.protocol_type in ("", "consumer")
    members = (
        Member(
            each.member_id,
            each.group_instance_id,
            each.client_id,
            each.client_host,
            _places(bytes(each.member_assignment)) if is_readable else None,
        )
        for each in found.members
    )
    return Described(name, "classic", found.group_state, found.protocol_data, tuple(members))


def _places(assignment: bytes) -> tuple[Place, ...] | None:
    try:
        places, _ = read_assignment(assignment)
    except ValueError:
        return None
    return tuple((topic, index) for topic, partitions in sorted(places.items()) for index in sorted(partitions))


async def committed(kafka: Kafka, name: str) -> dict[Place, int]:
    """The offsets that a group has committed."""
    node = await kafka.coordinator(name)

    async def ask() -> dict[Place, int]:
        group = OffsetFetchRequestGroup(group_id=name, topics=None)
        request = OffsetFetchRequest(groups=[group], group_id=name, topics=None)
        answer = await kafka.call(request, node=node, last_version=LAST_WITH_NAMES)
        found = answer.groups[0] if answer.groups else answer
        check(found.error_code, name)
        offsets = {}
        for topic in found.topics:
            for each in topic.partitions:
                check(each.error_code, f"{topic.name}-{each.partition_index}")
                if each.committed_offset >= 0:
                    offsets[topic.name, each.partition_index] = each.committed_offset
        return offsets

    return await kafka.patiently(ask)


async def commit(kafka: Kafka, name: str, offsets: dict[Place, int]) -> None:
    """Set a group's offsets; it must have no members."""
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (topic, index), offset in offsets.items():
        place = OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
        topics.setdefault(topic, []).append(place)
    request = OffsetCommitRequest(
        group_id=name,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=places) for topic, places in topics.items()],
    )
    node = await kafka.coordinator(name)

    async def ask() -> None:
        answer = await kafka.call(request, node=node, last_version=LAST_WITH_NAMES)
        for topic in answer.topics:
            for each in topic.partitions:
                check(
                    each.error_code,
                    name if each.error_code == GROUP_NOT_FOUND else f"{topic.name}-{each.partition_index}",
                )

    await kafka.patiently(ask)


async def ends(kafka: Kafka, places: list[Place]) -> dict[Place, int | None]:
    """Where partitions end; None for those whose topics are gone."""
    found: dict[Place, int | None] = {}
    for topic in sorted({topic for topic, _ in places}):
        wanted = [place for place in places if place[0] == topic]
        try:
            found.update(await list_offsets(kafka, dict.fromkeys(wanted, LATEST)))
        except Refused as error:
            if error.code != UNKNOWN_TOPIC:
                raise
            found.update(dict.fromkeys(wanted))
    return found


async def lag(kafka: Kafka, name: str) -> list[dict[str, Any]]:
    """How far behind a group is, in every partition for which it has an offset."""
    offsets = await committed(kafka, name)
    stops = await ends(kafka, sorted(offsets))
    rows = []
    for place, offset in sorted(offsets.items()):
        end = stops[place]
        behind = None if end is None else max(0, end - offset)
        topic, index = place
        rows.append({"topic": topic, "partition": index, "committed_offset": offset, "end_offset": end, "lag": behind})
    return rows
