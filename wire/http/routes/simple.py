"""`/topics/events`, `/messages` and `/consumer-groups/offsets/commit`: the least that a script needs, one record at a
time.

Keys are routed by 32-bit FNV-1a here, as scripts that know these paths expect it; times are nanoseconds.
"""

from base64 import b64encode
from typing import Annotated, Any, Literal

import msgspec

from engine.errors import UnknownMemberId
from wire.http.messages import Call
from wire.http.pending import as_text
from wire.http.records import INT64, PartitionNumber, one, stored
from wire.http.rights import BY_REQUESTS
from wire.http.routes.messages import DOOR
from wire.http.routes.topics import TopicName
from wire.http.routing import Route
from wire.inner.asking import GROUP, InnerClient, error_codes
from wire.inner.reading import RecordReading
from wire.inner.records import NewRecord, ReadRecord
from wire.inner.sending import Sending
from wire.kafka.errors import broker_error, code_name
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

NANOSECONDS_PER_MS = 1_000_000
Offset = Annotated[int, msgspec.Meta(ge=0, le=INT64)]


class EventQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Where to write."""

    topic: TopicName


class Event(msgspec.Struct, forbid_unknown_fields=True):
    """A record: its key, and its value, as text or as any other JSON."""

    payload: Any
    key: str | None = None


class EventPlace(msgspec.Struct):
    """Where it was written; `offset` is -1 where the topic's records wait for a reader first."""

    partition: int
    offset: int


class MessagesQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which records."""

    topic: TopicName
    partition: PartitionNumber = 0
    offset: Offset = 0
    max_bytes: Annotated[int, msgspec.Meta(ge=1, le=8 * 2**20)] = 1024 * 1024


class SimpleMessage(msgspec.Struct):
    """A record: `timestamp` in nanoseconds since 1970, the key as text, the payload in base64."""

    offset: int
    timestamp: int
    key: str | None
    payload: str | None


class SimpleMessages(msgspec.Struct, rename="camel"):
    """Records, and where the next call goes on."""

    messages: list[SimpleMessage]
    next_offset: int


class CommitQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Whose offset."""

    group: Annotated[str, msgspec.Meta(min_length=1, max_length=249)]


class NewCommit(msgspec.Struct, forbid_unknown_fields=True):
    """What the group has read: the offset of the record that comes next."""

    topic: TopicName
    partition: PartitionNumber
    offset: Offset


class CommittedOffset(msgspec.Struct):
    """It is durable."""

    status: Literal["committed"] = "committed"


async def write_event(call: Call, inner: InnerClient, sending: Sending) -> EventPlace:
    """Write one record."""
    event: Event = call.body
    record = NewRecord(key=None if event.key is None else event.key.encode(), value=stored(event.payload))
    with inner.guest(call.caller, DOOR) as guest:
        (outcome,) = await sending.send(guest, call.query.topic, [record], partitioner="fnv1a")
    sent = one(outcome)
    return EventPlace(sent.partition, sent.offset)


async def read_messages(call: Call, inner: InnerClient, reading: RecordReading) -> SimpleMessages:
    """Read records of one partition from an offset on."""
    query: MessagesQuery = call.query
    with inner.guest(call.caller, DOOR) as guest:
        found = await reading.read(guest, query.topic, query.partition, query.offset, max_bytes=query.max_bytes)
    return SimpleMessages([_message(record) for record in found.records], found.next_offset)


async def commit_offset(call: Call, inner: InnerClient) -> CommittedOffset:
    """Commit an offset of a group that has no members."""
    group, wanted = call.query.group, call.body
    partition = OffsetCommitRequestPartition(wanted.partition, wanted.offset)
    request = OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic(name=wanted.topic, partitions=[partition])])
    with inner.guest(call.caller, DOOR) as guest:
        await inner.known_topic(guest, wanted.topic)
        inner.leader(guest, wanted.topic, wanted.partition)
        answer = await inner.ask_coordinator(guest, GROUP, group, request)
    for code in error_codes(answer):
        error = broker_error(code, f"group {group}: {code_name(code)}")
        if isinstance(error, UnknownMemberId):
            error = UnknownMemberId(f"group {group} has members: they commit, or leave first")
        raise error
    return CommittedOffset()


def _message(record: ReadRecord) -> SimpleMessage:
    key = None if record.key is None else as_text(record.key)
    payload = None if record.value is None else b64encode(record.value).decode()
    return SimpleMessage(record.offset, record.timestamp_ms * NANOSECONDS_PER_MS, key, payload)


ROUTES = (
    Route(
        "POST",
        "/topics/events",
        write_event,
        "Write one record",
        answer=EventPlace,
        query=EventQuery,
        body=Event,
        problems=(403, 404, 413, 429, 503),
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
    Route(
        "GET",
        "/messages",
        read_messages,
        "Read records of one partition",
        answer=SimpleMessages,
        query=MessagesQuery,
        problems=(403, 404, 416, 503),
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
    Route(
        "POST",
        "/consumer-groups/offsets/commit",
        commit_offset,
        "Commit an offset of a group that has no members",
        answer=CommittedOffset,
        query=CommitQuery,
        body=NewCommit,
        problems=(403, 404, 409, 503),
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
)
