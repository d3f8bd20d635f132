"""`/topics` and `/topics/{topic}`: what there is, how large, from where to where; creating and deleting."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated

import msgspec

from coordinators.access.access import AccessControl
from coordinators.access.letter_targets import require_letter_target
from coordinators.access.rights import CREATE_CLUSTER, CREATE_TOPIC, DELETE_TOPIC, DESCRIBE_TOPIC
from coordinators.cluster.controller import ClusterController
from coordinators.configs import ConfigResource, ResourceType
from coordinators.topics import Topic, Topics, TopicSpec
from coordinators.waiting import Breathing
from engine.errors import BrokerError, PolicyViolation, UnknownTopicOrPartition
from engine.ids import id_text
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from wire.http.messages import Call, Count, Page, PageQuery, Response
from wire.http.rest.topics_v2 import PartitionV2, ReplicaV2, TopicV2, answer_v2, is_wanted
from wire.http.rights import described, each_of, on
from wire.http.routing import Route
from wire.inner.namespaces import Names

DEFAULT = -1
INT_MAX = 2**31 - 1

TopicName = Annotated[
    str, msgspec.Meta(pattern=r"^[a-zA-Z0-9._-]+$", min_length=1, max_length=249, description="The topic's name.")
]


class TopicPlace(msgspec.Struct):
    """Which topic."""

    topic: TopicName


class TopicsQuery(PageQuery, kw_only=True):
    """Which topics."""

    prefix: Annotated[str, msgspec.Meta(description="Only topics whose names begin so.")] = ""
    internal: Annotated[bool, msgspec.Meta(description="Whether the broker's own topics are listed too.")] = True


class TopicSummary(msgspec.Struct):
    """A topic in a list. `size_bytes` is what its logs take on disk, `end_offsets` the sum of where they end: what that
    grows by is what was written meanwhile."""

    name: str
    topic_id: str
    internal: bool
    partitions: Count
    size_bytes: Count
    end_offsets: Count


class TopicPage(Page):
    """Topics by name."""

    items: list[TopicSummary]


class PartitionDetail(msgspec.Struct):
    """A partition; readers find the offsets from `start_offset` up to `end_offset`."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    start_offset: int
    end_offset: int
    last_stable_offset: int
    size_bytes: Count
    offline: bool


class PartitionPage(Page):
    """Partitions by number."""

    items: list[PartitionDetail]


class ConfigValue(msgspec.Struct):
    """A key in force. `value` is null where it is unset or may not be shown; `source` says who set it."""

    name: str
    value: str | None
    source: str


class TopicDetail(msgspec.Struct):
    """A topic with its settings and a page of its partitions."""

    name: str
    topic_id: str
    internal: bool
    size_bytes: Count
    configs: list[ConfigValue]
    partitions: PartitionPage


class NewTopic(msgspec.Struct, forbid_unknown_fields=True):
    """A topic to make; what is left out is as the broker's settings say."""

    name: TopicName
    partitions: Annotated[int, msgspec.Meta(ge=1, le=INT_MAX)] | None = None
    replication_factor: Annotated[int, msgspec.Meta(ge=1, le=2**15 - 1)] | None = None
    configs: dict[str, str] = {}


async def list_topics(
    call: Call, topics: Topics, partitions: Partitions, access: AccessControl
) -> TopicPage | Response:
    """Topics by name, a page of those that the caller may describe; all their names, if it wants it as REST v2 has it
    (docs/rest.md)."""
    query: TopicsQuery = call.query
    names = call.names
    named = [
        topic
        for topic in topics.view
        if names.told(topic.name).startswith(query.prefix) and (query.internal or not topic.internal)
    ]
    breathing = Breathing()
    found = await described(call, access, DESCRIBE_TOPIC, named, attrgetter("name"), breathing)
    found.sort(key=attrgetter("name"))
    if is_wanted(call.request):
        return answer_v2([names.told(topic.name) for topic in found])
    items = []
    for topic in query.of(found):
        items.append(_summary(topic, partitions, names))
        await breathing.did(1 + topic.partition_count)
    return TopicPage(items=items, total=len(found), limit=query.limit, skip=query.skip)


async def describe_topic(call: Call, topics: Topics, partitions: Partitions) -> TopicDetail | Response:
    """One topic: its settings, and a page of its partitions; as REST v2 has it, if the caller wants that."""
    query: PageQuery = call.query
    topic = _topic(call, topics)
    if is_wanted(call.request):
        settings = {each.name: each.value for each in _configs(topic, topics, call.names)}
        shown = [_partition_v2(topic, each) for each in range(topic.partition_count)]
        return answer_v2(TopicV2(call.names.told(topic.name), settings, shown))
    held = partitions.of_topic(topic.topic_id)
    summary = _summary(topic, partitions, call.names)
    return TopicDetail(
        name=summary.name,
        topic_id=summary.topic_id,
        internal=topic.internal,
        size_bytes=summary.size_bytes,
        configs=_configs(topic, topics, call.names),
        partitions=PartitionPage(
            items=[_partition(topic, partition) for partition in query.of(held)],
            total=len(held),
            limit=query.limit,
            skip=query.skip,
        ),
    )


async def create_topic(
    call: Call, controller: ClusterController, partitions: Partitions, access: AccessControl
) -> Response:
    """Make a topic; where it is found is in the header Location."""
    wanted: NewTopic = call.body
    names = call.names
    name, configs = (
        names.meant(wanted.name),
        {key: names.config_meant(key, each) for key, each in wanted.configs.items()},
    )
    require_letter_target(access, call.caller, name, configs.items(), "POST /topics")
    spec = TopicSpec(
        name,
        wanted.partitions or DEFAULT,
        wanted.replication_factor or DEFAULT,
        configs=configs,
    )
    topic = _done(await controller.create_topics([spec]))
    location = {"Location": f"/topics/{names.told(topic.name)}"}
    return Response(201, msgspec.json.encode(_summary(topic, partitions, names)), headers=location)


async def delete_topic(call: Call, controller: ClusterController, topics: Topics) -> None:
    """Delete a topic with all its records."""
    topic = _topic(call, topics)
    if topic.internal:
        raise PolicyViolation(f"{topic.name} is the broker's own and is not deleted from here")
    _done(await controller.delete_topics([topic.topic_id]))


def _topic(call: Call, topics: Topics) -> Topic:
    place: TopicPlace = call.place
    topic = topics.by_name.get(call.names.meant(place.topic))
    if topic is None:
        raise UnknownTopicOrPartition(f"no topic is called {place.topic!r}")
    return topic


def _done(results: Sequence[Topic | BrokerError]) -> Topic:
    (result,) = results
    if isinstance(result, BrokerError):
        raise result
    return result


def _summary(topic: Topic, partitions: Partitions, names: Names) -> TopicSummary:
    here = partitions.of_topic(topic.topic_id)
    return TopicSummary(
        name=names.told(topic.name),
        topic_id=id_text(topic.topic_id),
        internal=topic.internal,
        partitions=topic.partition_count,
        size_bytes=sum(partition.log.size_bytes for partition in here),
        end_offsets=sum(partition.log.end_offset for partition in here),
    )


def _configs(topic: Topic, topics: Topics, names: Names) -> list[ConfigValue]:
    entries = topics.describe_configs(ConfigResource(ResourceType.TOPIC, topic.name))
    return [
        ConfigValue(entry.key.name, names.config_told(entry.key.name, entry.text), entry.source.name.lower())
        for entry in entries
    ]


def _partition(topic: Topic, partition: Partition) -> PartitionDetail:
    held = topic.partitions[partition.index]
    return PartitionDetail(
        partition=partition.index,
        leader=held.leader,
        leader_epoch=held.leader_epoch,
        replicas=list(held.replicas),
        isr=list(held.isr),
        start_offset=partition.log.start_offset,
        end_offset=partition.reported_end,
        last_stable_offset=partition.last_stable_offset,
        size_bytes=partition.log.size_bytes,
        offline=partition.offline is not None,
    )


def _partition_v2(topic: Topic, index: int) -> PartitionV2:
    held = topic.partitions[index]
    replicas = [ReplicaV2(each, each == held.leader, each in held.isr) for each in held.replicas]
    return PartitionV2(index, held.leader, replicas)


ROUTES = (
    Route(
        "GET",
        "/topics",
        list_topics,
        "Topics by name",
        answer=TopicPage,
        query=TopicsQuery,
        for_tenants=True,
        rights=each_of(DESCRIBE_TOPIC),
    ),
    Route(
        "POST",
        "/topics",
        create_topic,
        "Make a topic",
        answer=TopicSummary,
        body=NewTopic,
        status=201,
        problems=(403, 409),
        for_tenants=True,
        rights=on((CREATE_TOPIC, CREATE_CLUSTER), body="name"),
    ),
    Route(
        "GET",
        "/topics/{topic}",
        describe_topic,
        "One topic: settings, partitions with offsets and sizes",
        answer=TopicDetail,
        place=TopicPlace,
        query=PageQuery,
        problems=(404,),
        for_tenants=True,
        rights=on(DESCRIBE_TOPIC, "topic"),
    ),
    Route(
        "DELETE",
        "/topics/{topic}",
        delete_topic,
        "Delete a topic with all its records",
        place=TopicPlace,
        status=204,
        problems=(403, 404),
        for_tenants=True,
        rights=on(DELETE_TOPIC, "topic"),
    ),
)
