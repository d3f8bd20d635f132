"""`/consumers/{group}` and `/consumers/{group}/instances/{instance}/...`: consumers as REST v2 has them.

A consumer lives on the node that made it: `base_uri` is where it is asked from then on.
"""

from base64 import b64encode
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from attrs import evolve

from coordinators.topics import Topics
from wire.http.config import StreamTimes
from wire.http.messages import Call, Response
from wire.http.rest import formats
from wire.http.rest.addresses import base_url
from wire.http.rest.bodies import decoded
from wire.http.rest.by_schema import SchemaFormats
from wire.http.rest.consumers import Edge, Found, Instance, Instances, InstanceWanted, Place
from wire.http.rest.refusals import (
    INVALID_SETTING,
    MEDIA_TYPE,
    NOT_ACCEPTABLE,
    REFUSALS,
    RestRefusal,
    told_so,
)
from wire.http.rights import BY_REQUESTS
from wire.http.routes.topics import TopicName
from wire.http.routing import NoParameters, Route
from wire.inner.member import Reset
from wire.inner.records import ReadRecord

TAKES = (MEDIA_TYPE, formats.PLAIN, "application/vnd.kafka+json")
LONGEST_WAIT_MS = 300_000
DEFAULT_WAIT_MS, DEFAULT_BYTES, MOST_BYTES = 1_000, 1024 * 1024, 64 * 1024 * 1024
MOST_NAMED = 1_000

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=249)]
Offset = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class RestGroupPlace(msgspec.Struct):
    """Which group."""

    group: Name


class InstancePlace(RestGroupPlace):
    """Which consumer of which group."""

    instance: Name


class NewInstance(msgspec.Struct, kw_only=True):
    """A consumer to make. Settings may be texts, as in Kafka's own files."""

    name: Name | None = None
    format: str = formats.BINARY
    auto_offset_reset: str = msgspec.field(name="auto.offset.reset", default="latest")
    auto_commit_enable: bool | str = msgspec.field(name="auto.commit.enable", default=True)
    enable_auto_commit: bool | str | None = msgspec.field(name="enable.auto.commit", default=None)


class MadeInstance(msgspec.Struct):
    """A consumer, and the address that it is asked at."""

    instance_id: str
    base_uri: str


class Subscription(msgspec.Struct):
    """What a consumer reads as a member of its group."""

    topics: Annotated[list[TopicName], msgspec.Meta(max_length=MOST_NAMED)] = []
    topic_pattern: str | None = None


class RestPartition(msgspec.Struct):
    """A partition."""

    topic: TopicName
    partition: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]

    @property
    def place(self) -> Place:
        """As others name it."""
        return self.topic, self.partition


class RestPartitions(msgspec.Struct):
    """Some partitions."""

    partitions: Annotated[list[RestPartition], msgspec.Meta(max_length=MOST_NAMED)]


class RestOffset(RestPartition):
    """An offset in a partition."""

    offset: Offset
    metadata: str | None = None


class RestOffsets(msgspec.Struct):
    """Offsets in some partitions."""

    offsets: Annotated[list[RestOffset], msgspec.Meta(max_length=MOST_NAMED)]


class RestRecord(msgspec.Struct):
    """A record that was read; `timestamp` and `headers` are Strimzi's."""

    topic: str
    key: Any
    value: Any
    partition: int
    offset: int
    timestamp: int
    headers: list[dict[str, str | None]]


class RecordsQuery(msgspec.Struct):
    """How long to wait, and how much to give."""

    timeout: Annotated[int, msgspec.Meta(ge=0, le=LONGEST_WAIT_MS)] = DEFAULT_WAIT_MS
    max_bytes: Annotated[int, msgspec.Meta(ge=1, le=MOST_BYTES)] = DEFAULT_BYTES


# -- consumers


async def create_consumer(call: Call, instances: Instances, topics: Topics) -> Response:
    """Make a consumer of a group; it ends when it was not asked for a while."""
    wanted = decoded(call.request.body or b"{}", NewInstance)
    with told_so():
        made = instances.make(call.caller, _wanted(call.place.group, wanted))
    base = f"{base_url(call, topics)}/consumers/{call.place.group}/instances/{made.name}"
    return _answer(MadeInstance(made.name, base))


def _wanted(group: str, wanted: NewInstance) -> InstanceWanted:
    try:
        reset = Reset(wanted.auto_offset_reset)
    except ValueError:
        raise RestRefusal(INVALID_SETTING, "auto.offset.reset is earliest, latest or none") from None
    commits = wanted.auto_commit_enable if wanted.enable_auto_commit is None else wanted.enable_auto_commit
    name = formats.known(wanted.format.lower(), INVALID_SETTING)
    return InstanceWanted(group, wanted.name, name, reset, str(commits).lower() == "true")


async def delete_consumer(call: Call, instances: Instances) -> None:
    """End a consumer; its partitions go to others at once."""
    instance = _instance(call, instances)
    with told_so():
        async with instance.busy:
            await instances.end(instance)


async def subscribe(call: Call, instances: Instances) -> None:
    """Read topics as a member of the group."""
    wanted = decoded(call.request.body, Subscription)
    if wanted.topic_pattern is not None:
        raise RestRefusal(INVALID_SETTING, "topic_pattern is not taken here: name the topics")
    if not wanted.topics:
        raise RestRefusal(INVALID_SETTING, "topics names none; DELETE the subscription to have none")
    instance = _instance(call, instances)
    with told_so():
        async with instance.busy:
            await instance.subscribe(wanted.topics)


async def show_subscription(call: Call, instances: Instances) -> Response:
    """The topics that a consumer reads as a member of its group."""
    return _answer(Subscription(list(_instance(call, instances).topics)))


async def unsubscribe(call: Call, instances: Instances) -> None:
    """Read nothing, and leave the group."""
    instance = _instance(call, instances)
    with told_so():
        async with instance.busy:
            await instance.unsubscribe()


async def assign(call: Call, instances: Instances) -> None:
    """Read partitions of one's own choice."""
    wanted = decoded(call.request.body, RestPartitions)
    instance = _instance(call, instances)
    with told_so():
        async with instance.busy:
            await instance.assign([each.place for each in wanted.partitions])


async def show_assignments(call: Call, instances: Instances) -> Response:
    """The partitions that a consumer reads now."""
    return _answer(RestPartitions([RestPartition(*place) for place in _instance(call, instances).assigned()]))


# -- records


async def read_records(call: Call, instances: Instances, schemas: SchemaFormats, times: StreamTimes) -> Response:
    """Records that this consumer has not had, as soon as there are some."""
    instance = _instance(call, instances)
    name = instance.wanted.format
    _check_accepted(call, name)
    query: RecordsQuery = call.query
    with told_so():
        async with instance.busy:
            found = await instance.read(query.max_bytes, min(query.timeout / 1000, times.max_wait_s))
        shown = await _shown(call, name, found, schemas)
    body = msgspec.json.encode([_record(*each, *both) for each, both in zip(found, shown, strict=True)])
    return Response(200, body, formats.media_type(name))


def _check_accepted(call: Call, name: str) -> None:
    """The format is the consumer's own: who accepts another would get what it cannot read."""
    accepted = [each.partition(";")[0].strip().lower() for each in call.request.headers.get("accept", "*/*").split(",")]
    if not {formats.media_type(name), formats.PLAIN, "application/*", "*/*"}.intersection(accepted):
        raise RestRefusal(NOT_ACCEPTABLE, f"this consumer's format is {name}: accept {formats.media_type(name)}")


async def _shown(call: Call, name: str, found: Found, schemas: SchemaFormats) -> list[tuple[Any, Any]]:
    """Keys and values as they stand in the format."""
    if name in formats.BY_SCHEMA:
        return await schemas.shown(call.caller, name, [record for _, record in found])
    shown = []
    for place, record in found:
        what = f"{place[0]}-{place[1]} at {record.offset}"
        key = formats.shown(name, record.key, f"the key of {what}")
        shown.append((key, formats.shown(name, record.value, f"the value of {what}")))
    return shown


def _record(place: Place, record: ReadRecord, key: Any, value: Any) -> RestRecord:
    return RestRecord(
        place[0],
        key,
        value,
        place[1],
        record.offset,
        record.timestamp_ms,
        [{"key": key, "value": None if value is None else b64encode(value).decode()} for key, value in record.headers],
    )


# -- offsets


async def commit_consumer_offsets(call: Call, instances: Instances) -> None:
    """Commit offsets of records that are done, or all that was read."""
    body = call.request.body.strip()
    wanted = decoded(body, RestOffsets) if body else None
    # The record's own offset is given, as the proxy has it; the group goes on behind it.
    offsets = None if wanted is None else {each.place: each.offset + 1 for each in wanted.offsets}
    instance = _instance(call, instances)
    with told_so():
        async with instance.busy:
            await instance.commit(offsets)


async def show_offsets(call: Call, instances: Instances) -> Response:
    """Where the group is in partitions that the body names."""
    wanted = decoded(call.request.body, RestPartitions)
    with told_so():
        found = await _instance(call, instances).committed([each.place for each in wanted.partitions])
    return _answer(RestOffsets([RestOffset(*place, offset, "") for place, offset in sorted(found.items())]))


async def seek(call: Call, instances: Instances) -> None:
    """Read on from these offsets."""
    wanted = decoded(call.request.body, RestOffsets)
    with told_so():
        _instance(call, instances).seek({each.place: each.offset for each in wanted.offsets})


async def seek_to_edge(call: Call, instances: Instances) -> None:
    """Read on from the beginning or the end of partitions."""
    wanted = decoded(call.request.body, RestPartitions)
    edge = Edge.BEGINNING if call.place.edge == "beginning" else Edge.END
    with told_so():
        await _instance(call, instances).seek_edge([each.place for each in wanted.partitions], edge)


class EdgePlace(InstancePlace):
    """Which end."""

    edge: Literal["beginning", "end"]


def _instance(call: Call, instances: Instances) -> Instance:
    place: InstancePlace = call.place
    return instances.find(call.caller, place.group, place.instance)


def _answer(document: Any) -> Response:
    return Response(200, msgspec.json.encode(document), MEDIA_TYPE)


_INSTANCE = "/consumers/{group}/instances/{instance}"


def _route(
    method: str,
    path: str,
    handle: Any,
    summary: str,
    *,
    answer: Any = None,
    body: Any = None,
    place: type[msgspec.Struct] = InstancePlace,
    query: type[msgspec.Struct] = NoParameters,
    problems: Sequence[int] = (404, 409),
) -> Route:
    """A route of this family; those that answer nothing have 204."""
    return Route(
        method,
        path,
        handle,
        f"{summary} (REST v2)",
        answer=answer,
        place=place,
        query=query,
        body=body,
        takes=TAKES,
        status=204 if answer is None else 200,
        media_type=MEDIA_TYPE,
        problems=tuple(problems),
        refusals=REFUSALS,
        for_tenants=True,
        rights=BY_REQUESTS,
    )


ROUTES = (
    evolve(
        _route(
            "POST",
            "/consumers/{group}",
            create_consumer,
            "Make a consumer",
            answer=MadeInstance,
            body=NewInstance,
            place=RestGroupPlace,
            problems=(409,),
        ),
        needs_body=False,
    ),
    _route("DELETE", _INSTANCE, delete_consumer, "End a consumer"),
    _route("POST", f"{_INSTANCE}/subscription", subscribe, "Read topics as a member", body=Subscription),
    _route("GET", f"{_INSTANCE}/subscription", show_subscription, "What a consumer reads", answer=Subscription),
    _route("DELETE", f"{_INSTANCE}/subscription", unsubscribe, "Read nothing"),
    _route("POST", f"{_INSTANCE}/assignments", assign, "Read partitions", body=RestPartitions),
    _route("GET", f"{_INSTANCE}/assignments", show_assignments, "What is read now", answer=RestPartitions),
    evolve(
        _route(
            "GET",
            f"{_INSTANCE}/records",
            read_records,
            "Records that were not read",
            answer=list[RestRecord],
            query=RecordsQuery,
            problems=(404, 406, 409),
        ),
        other_media_types=tuple(map(formats.media_type, formats.ALL)),
        takes_away=True,
    ),
    evolve(
        _route("POST", f"{_INSTANCE}/offsets", commit_consumer_offsets, "Commit offsets", body=RestOffsets),
        needs_body=False,
    ),
    _route(
        "GET",
        f"{_INSTANCE}/offsets",
        show_offsets,
        "What was committed",
        answer=RestOffsets,
        body=RestPartitions,
    ),
    _route("POST", f"{_INSTANCE}/positions", seek, "Read on elsewhere", body=RestOffsets),
    _route(
        "POST",
        f"{_INSTANCE}/positions/{{edge}}",
        seek_to_edge,
        "Read on from an end",
        body=RestPartitions,
        place=EdgePlace,
    ),
)
