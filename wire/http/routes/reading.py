"""`GET /topics/{topic}/messages` and `/topics/{topic}/partitions/{partition}/messages`: records, read.

They are given as one JSON document, as lines, or as server-sent events, which follow the topic for as long as the
caller listens. All of it is asked for in the caller's name, as Kafka's clients ask (`wire/inner/`).
"""

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from itertools import repeat
from typing import Annotated, Any, Literal

import msgspec
import trio
from attrs import evolve, frozen

from engine.errors import BrokerError
from wire.http.config import StreamTimes
from wire.http.decoding import Decoding
from wire.http.messages import AnswerSink, Call, Response
from wire.http.problems import of_broker_error
from wire.http.record_filters import parse_filter
from wire.http.records import NOT_DECODED, DecodedPart, Format, Message, Milliseconds, PartitionNumber, message
from wire.http.rights import BY_REQUESTS
from wire.http.routes.messages import DOOR, NDJSON
from wire.http.routes.topics import TopicName, TopicPlace
from wire.http.routing import Route
from wire.http.topic_readers import EARLIEST_TEXT, LATEST_TEXT, Located, TopicReader, TopicReaders
from wire.inner.asking import InnerClient
from wire.kafka.calls import Guest

EVENTS = "text/event-stream"
SCAN_S = 5.0
"""How long one call looks for records that a filter wants; the answer says where to go on."""
RETRY_MS = 1000
MOST_AT_ONCE = 500
FOR_EVER = 2**63


class PartitionPlace(msgspec.Struct):
    """Which partition."""

    topic: TopicName
    partition: PartitionNumber


class ReadQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Which records, and how."""

    offset: Annotated[
        str, msgspec.Meta(description="Where to begin: earliest, latest, an offset, or `next` of an answer.")
    ] = ""
    time: Annotated[Milliseconds, msgspec.Meta(description="Begin with records of then or later.")] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000, description="How many records at most.")] | None = None
    max_bytes: Annotated[int, msgspec.Meta(ge=1, le=8 * 2**20, description="About how many bytes at most.")] = 2**20
    wait: Annotated[Milliseconds, msgspec.Meta(description="How long to wait for the first record, in ms.")] = 0
    filter: Annotated[str, msgspec.Meta(max_length=1_000, description="Which ones, like `key = a`.")] = ""
    format: Annotated[Format, msgspec.Meta(description="How values are given.")] = "text"
    isolation: Annotated[
        Literal["committed", "uncommitted"], msgspec.Meta(description="Whether aborted records are left out.")
    ] = "committed"
    follow: Annotated[bool, msgspec.Meta(description="Of lines: go on when the end is reached.")] = False
    decode: Annotated[
        bool, msgspec.Meta(description="Give keys and values also as JSON, by the schemas that they name.")
    ] = False


class Messages(msgspec.Struct):
    """Records, and where the next call goes on: give `next` as its `offset`."""

    messages: list[Message]
    next: str


@frozen
class _Showing:
    """How records are shown to a caller."""

    call: Call
    decoding: Decoding

    async def encoded(self, some: list[Located]) -> Iterator[tuple[Located, bytes]]:
        """Each in JSON. They are taken out of the list: they would be held twice for as long as the caller does not
        take them."""
        taken, some[:] = some[:], []
        decoded = await self._decoded(taken)
        form = self.call.query.format
        return (
            (located, msgspec.json.encode(message(*located, form, both)))
            for located, both in zip(taken, decoded, strict=False)
        )

    async def messages(self, some: list[Located]) -> list[Message]:
        """All of them, for one document."""
        decoded = await self._decoded(some)
        form = self.call.query.format
        return [message(*located, form, both) for located, both in zip(some, decoded, strict=False)]

    async def _decoded(self, some: list[Located]) -> Iterable[tuple[DecodedPart, DecodedPart]]:
        if not self.call.query.decode:
            return repeat(NOT_DECODED)
        return await self.decoding.of(self.call.caller, self.call.place.topic, some, self.call.query.format)


async def read_topic(
    call: Call, inner: InnerClient, readers: TopicReaders, times: StreamTimes, decoding: Decoding
) -> Any:
    """Records of all partitions: as a document, as lines (application/x-ndjson) or as events (text/event-stream)."""
    return await _read(_Showing(call, decoding), None, inner, readers, times)


async def read_partition(
    call: Call, inner: InnerClient, readers: TopicReaders, times: StreamTimes, decoding: Decoding
) -> Any:
    """Records of one partition, in the same forms."""
    return await _read(_Showing(call, decoding), call.place.partition, inner, readers, times)


async def _read(
    showing: _Showing, partition: int | None, inner: InnerClient, readers: TopicReaders, times: StreamTimes
) -> Messages | Response:
    call = showing.call
    kind = _wanted_type(call.request.headers.get("accept", ""))
    with inner.guest(call.caller, DOOR) as guest:
        reader = await _begin(call, partition, kind, readers, guest)
        if kind is None:
            return await _document(reader, showing, min(call.query.wait / 1000, times.max_wait_s))

    async def write(sink: AnswerSink) -> None:
        writes = _write_events if kind == EVENTS else _write_records
        with inner.guest(call.caller, DOOR) as guest:
            await writes(evolve(reader, guest=guest), showing, times, sink)

    return Response(HTTPStatus.OK.value, media_type=kind, write=write, headers={"X-Accel-Buffering": "no"})


def _wanted_type(accepted: str) -> str | None:
    """The first of the forms that the caller names, apart from the usual one."""
    for each in accepted.split(","):
        kind = each.partition(";")[0].strip().lower()
        if kind in (NDJSON, EVENTS):
            return kind
        if kind in ("application/json", "*/*"):
            return None
    return None


async def _begin(
    call: Call, partition: int | None, kind: str | None, readers: TopicReaders, guest: Guest
) -> TopicReader:
    query: ReadQuery = call.query
    at = query.offset
    if kind == EVENTS:
        # A browser that comes again says by itself where it was.
        at = call.request.headers.get("last-event-id") or at or LATEST_TEXT
    return await readers.begin(
        guest,
        call.place.topic,
        partition,
        at or EARLIEST_TEXT,
        query.time if not call.request.headers.get("last-event-id") else None,
        committed=query.isolation == "committed",
        wanted=parse_filter(query.filter) if query.filter else None,
        goes_on=kind == EVENTS or query.follow,
    )


async def _document(reader: TopicReader, showing: _Showing, wait_s: float) -> Messages:
    query: ReadQuery = showing.call.query
    limit, room = query.limit or 100, query.max_bytes
    found: list[Located] = []
    deadline = trio.current_time() + max(wait_s, SCAN_S if reader.wanted is not None else 0.0)
    waits_until = trio.current_time() + wait_s
    while len(found) < limit and room > 0:
        before = reader.place
        left_s = 0.0 if found else max(waits_until - trio.current_time(), 0.0)
        some = await reader.next(left_s, limit - len(found), room)
        found += some
        room -= sum(_size(located) for located in some)
        is_over = trio.current_time() >= deadline
        if (reader.place == before and (found or left_s <= 0)) or (is_over and not some):
            break
    return Messages(await showing.messages(found), reader.place)


def _size(located: Located) -> int:
    _, record = located
    return len(record.key or b"") + len(record.value or b"") + sum(len(value or b"") for _, value in record.headers)


async def _write_records(reader: TopicReader, showing: _Showing, times: StreamTimes, sink: AnswerSink) -> None:
    """A record in each line: up to the end as it is now, or for ever if the caller follows. An empty line is a sign of
    life; one with `status` says why nothing more comes."""
    query: ReadQuery = showing.call.query
    left = query.limit if query.limit is not None else FOR_EVER
    try:
        while left > 0:
            before = reader.place
            wait_s = times.heartbeat_s if query.follow else 0.0
            some = await reader.next(wait_s, min(left, MOST_AT_ONCE), sink.at_a_time())
            left -= len(some)
            is_silent = not some and reader.place == before
            if is_silent and not query.follow:
                return
            await sink.send(b"\n" if is_silent else await _lines(some, showing))
    except BrokerError as error:
        await sink.send(msgspec.json.encode(of_broker_error(error).document()) + b"\n")


async def _write_events(reader: TopicReader, showing: _Showing, times: StreamTimes, sink: AnswerSink) -> None:
    """A record in each event, whose id is where to go on. A comment is a sign of life; an event `error` says why
    nothing more comes."""
    query: ReadQuery = showing.call.query
    left = query.limit if query.limit is not None else FOR_EVER
    await sink.send(f"retry: {RETRY_MS}\nid: {reader.place}\n\n".encode())
    try:
        while left > 0:
            before = dict(reader.positions)
            some = await reader.next(times.heartbeat_s, min(left, MOST_AT_ONCE), sink.at_a_time())
            left -= len(some)
            await sink.send(await _events(some, before, showing) or b": \n\n")
    except BrokerError as error:
        told = msgspec.json.encode(of_broker_error(error).document())
        await sink.send(b"event: error\ndata: " + told + b"\n\n")


async def _lines(some: list[Located], showing: _Showing) -> bytes:
    return b"".join([data + b"\n" for _, data in await showing.encoded(some)])


async def _events(some: list[Located], positions: dict[int, int], showing: _Showing) -> bytes:
    """`positions` are those before; each event's id is the place behind its record."""
    events = []
    for (partition, record), data in await showing.encoded(some):
        positions[partition] = record.offset + 1
        place = ",".join(f"{each}:{offset}" for each, offset in sorted(positions.items()))
        events.append(b"id: " + place.encode() + b"\ndata: " + data + b"\n\n")
    return b"".join(events)


ROUTES = (
    Route(
        "GET",
        "/topics/{topic}/messages",
        read_topic,
        "Read records of all partitions, or follow them",
        answer=Messages,
        place=TopicPlace,
        query=ReadQuery,
        problems=(403, 404, 416, 503),
        other_media_types=(NDJSON, EVENTS),
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
    Route(
        "GET",
        "/topics/{topic}/partitions/{partition}/messages",
        read_partition,
        "Read records of one partition, or follow it",
        answer=Messages,
        place=PartitionPlace,
        query=ReadQuery,
        problems=(403, 404, 416, 503),
        other_media_types=(NDJSON, EVENTS),
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
)
