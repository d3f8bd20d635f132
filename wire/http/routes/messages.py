"""`POST /topics/{topic}/messages`: records, written.

One record or many are written by one call, or a stream of them, a JSON document in each line, each answered by a line.
All of it is asked for in the caller's name, as Kafka's clients ask (`wire/inner/`).
"""

from functools import partial
from http import HTTPStatus
from typing import Annotated, Literal

import msgspec

from coordinators.waiting import Breathing
from engine.errors import BrokerError
from wire.http.config import HttpLimits
from wire.http.lines import Lines
from wire.http.messages import AnswerSink, Call, Count, Response
from wire.http.problems import Problem
from wire.http.records import NewMessage, WrittenMessage, one
from wire.http.rights import BY_REQUESTS
from wire.http.routes.topics import TopicPlace
from wire.http.routing import Route
from wire.inner.asking import InnerClient
from wire.inner.records import NewRecord
from wire.inner.sending import ALL, LEADER, NONE, Outcome, Sending
from wire.kafka.calls import Guest

DOOR = "http"
NDJSON = "application/x-ndjson"
ACKS = {"none": NONE, "leader": LEADER, "all": ALL}
LINES_PER_BATCH = 500
"""Of a stream: records that are written together. What comes meanwhile waits in the caller's socket."""


class WriteQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """How records are written."""

    acks: Annotated[Literal["none", "leader", "all"], msgspec.Meta(description="Whose disk to wait for.")] = "all"
    partitioner: Annotated[
        Literal["murmur2", "murmur3", "fnv1a", "round_robin"],
        msgspec.Meta(description="Who chooses partitions, where a record names none."),
    ] = "murmur2"
    timeout: Annotated[int, msgspec.Meta(ge=1, le=300_000, description="How long to try, in ms.")] = 30_000


class Written(msgspec.Struct):
    """What became of each record, in their order."""

    messages: list[WrittenMessage]
    failed: Count


async def write_messages(call: Call, inner: InnerClient, sending: Sending, limits: HttpLimits) -> Written | Response:
    """Write one record, an array of them, or a stream with one in each line (application/x-ndjson)."""
    topic, query = call.place.topic, call.query
    if call.request.pieces is not None:
        lines = Lines(call.request.pieces, limits.max_request_bytes)
        write = partial(_write_stream, call, inner, sending, lines)
        return Response(HTTPStatus.OK.value, media_type=NDJSON, write=write)
    wanted = call.body if isinstance(call.body, list) else [call.body]
    records, breathing = [], Breathing()
    for each in wanted:
        records.append(each.record())
        await breathing.did()
    with inner.guest(call.caller, DOOR) as guest:
        outcomes = await _send(sending, guest, topic, records, query)
    if not isinstance(call.body, list):
        one(outcomes[0])
    messages = []
    for outcome in outcomes:
        messages.append(WrittenMessage.of(outcome))
        await breathing.did()
    return Written(messages, sum(1 for each in messages if each.error))


async def _send(
    sending: Sending, guest: Guest, topic: str, records: list[NewRecord], query: WriteQuery
) -> list[Outcome]:
    return await sending.send(
        guest,
        topic,
        records,
        acks=ACKS[query.acks],
        partitioner=query.partitioner,
        timeout_s=query.timeout / 1000,
    )


async def _write_stream(call: Call, inner: InnerClient, sending: Sending, lines: Lines, sink: AnswerSink) -> None:
    """Each line that is answered is written, or is not and says why. Lines that come together are written together."""
    with inner.guest(call.caller, DOOR) as guest:
        try:
            while some := await lines.some():
                for first in range(0, len(some), LINES_PER_BATCH):
                    answers = await _write_lines(call, sending, guest, some[first : first + LINES_PER_BATCH])
                    await sink.send(b"".join(msgspec.json.encode(each) + b"\n" for each in answers))
        except Problem as problem:
            await sink.send(msgspec.json.encode(problem.document()) + b"\n")


async def _write_lines(call: Call, sending: Sending, guest: Guest, lines: list[bytes]) -> list[WrittenMessage]:
    read = [_parsed(line) for line in lines]
    records = [each for each in read if isinstance(each, NewRecord)]
    try:
        outcomes = iter(await _send(sending, guest, call.place.topic, records, call.query) if records else ())
    except BrokerError as error:
        outcomes = iter([error] * len(records))
    return [WrittenMessage.of(next(outcomes)) if isinstance(each, NewRecord) else each for each in read]


def _parsed(line: bytes) -> NewRecord | WrittenMessage:
    """The record in a line, or what is answered instead."""
    try:
        return msgspec.json.decode(line, type=NewMessage).record()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return WrittenMessage(error="InvalidRequest", detail=f"the line is no record: {error}")
    except Problem as problem:
        return WrittenMessage(error="InvalidRequest", detail=problem.detail)


ROUTES = (
    Route(
        "POST",
        "/topics/{topic}/messages",
        write_messages,
        "Write records: one, an array, or a stream of lines",
        answer=Written,
        place=TopicPlace,
        query=WriteQuery,
        body=NewMessage | list[NewMessage],
        problems=(403, 404, 408, 413, 429, 503),
        piecewise=(NDJSON,),
        other_media_types=(NDJSON,),
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
)
