"""`tidegate produce`: send records, now or later, with a priority, for a while."""

import asyncio
import random
from collections.abc import Callable, Iterator
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer
from attrs import define, field, frozen

from tools.cli.asked import Asked, header
from tools.cli.completion import topic_names
from tools.cli.errors import Refused, UsageMistake, error_name
from tools.cli.framework import Session, session
from tools.cli.inputs import NewRecord, parser, source
from tools.cli.kafka import client_options, reaching, run
from tools.cli.output import printable
from tools.cli.progress import Progress, progress
from tools.cli.times import duration_ms, moment_ms, span_text

WINDOW = 5_000
"""How many records may be on their way before the first of them is waited for."""
PRODUCE, FIRST_VERSION_WITH_REASONS = 0, 8
EXAMPLES = (
    "tidegate produce orders 'one coffee' 'one tea'",
    "tidegate produce orders --key table-4 -H source=bar 'one coffee'",
    "tidegate produce reminders --delay 15m --key bob --schedule-id call-bob 'call Bob'",
    "tidegate produce reminders --key bob --cancel call-bob",
    "tidegate produce jobs --priority critical --ttl 1h 'restart the pump'",
    "tidegate produce orders --at 2026-12-24T18:00 'the goose'",
    "cat orders.txt | tidegate produce orders -f '%k:%v'",
    "tidegate consume orders -e -o json | tidegate produce copies --json",
)


class Compression(StrEnum):
    """How batches are compressed."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Acks(StrEnum):
    """Who must have a record before it counts as sent."""

    ALL = "all"
    LEADER = "1"
    NONE = "0"


class Partitioner(StrEnum):
    """Which partition a record goes to that names none."""

    KEY = "key"
    ROUND_ROBIN = "round-robin"
    RANDOM = "random"


@define
class Sent:
    """What became of the records."""

    topic: str
    records: int = 0
    held: int = 0
    reasons: list[tuple[int, str]] = field(factory=list)
    placed: dict[int, dict[str, int]] = field(factory=dict)

    def add(self, metadata: Any) -> None:
        """One more, as the producer was told. A record that is held back has no offset yet."""
        self.records += 1
        if metadata.offset is None or metadata.offset < 0:
            self.held += 1
            return
        known = {"records": 0, "first_offset": metadata.offset, "last_offset": metadata.offset}
        place = self.placed.setdefault(metadata.partition, known)
        place["records"] += 1
        place["first_offset"] = min(place["first_offset"], metadata.offset)
        place["last_offset"] = max(place["last_offset"], metadata.offset)

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        partitions = [{"partition": number, **place} for number, place in sorted(self.placed.items())]
        return {"topic": self.topic, "records": self.records, "held": self.held, "partitions": partitions}


def produce(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Where to.", autocompletion=topic_names)],
    values: Annotated[list[str] | None, typer.Argument(metavar="[VALUE]", help="Records; else standard input.")] = None,
    key: Annotated[str | None, typer.Option("--key", "-k", help="Key of every record.")] = None,
    headers: Annotated[list[str] | None, typer.Option("--header", "-H", metavar="NAME=VALUE", help="A header.")] = None,
    delay: Annotated[str | None, typer.Option("--delay", metavar="SPAN", help="Hold back for so long: 15m.")] = None,
    deliver_at: Annotated[str | None, typer.Option("--at", metavar="TIME", help="Hold back until then.")] = None,
    priority: Annotated[
        str | None, typer.Option("--priority", metavar="NAME", help="critical, high, normal, low, background.")
    ] = None,
    ttl: Annotated[str | None, typer.Option("--ttl", metavar="SPAN", help="Not delivered after so long.")] = None,
    expires_at: Annotated[str | None, typer.Option("--expires-at", metavar="TIME", help="Not after then.")] = None,
    schedule_id: Annotated[
        str | None, typer.Option("--schedule-id", metavar="ID", help="A handle; the same again replaces it.")
    ] = None,
    cancel: Annotated[str | None, typer.Option("--cancel", metavar="ID", help="Cancel what has this handle.")] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Have the broker keep a timeline.")] = False,
    partition: Annotated[int | None, typer.Option("--partition", "-p", min=0, help="To this partition.")] = None,
    timestamp: Annotated[str | None, typer.Option("--timestamp", metavar="TIME", help="Create time.")] = None,
    null: Annotated[bool, typer.Option("--null", "-Z", help="Empty values are null: tombstones.")] = False,
    file: Annotated[Path | None, typer.Option("--file", help="Read records from this file.")] = None,
    delimiter: Annotated[str, typer.Option("--delimiter", "-D", help="Between records of the input.")] = r"\n",
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", "-K", metavar="TEXT", help="Short for -f '%kTEXT%v'.")
    ] = None,
    input_format: Annotated[
        str | None, typer.Option("--format", "-f", help="How a line is made up: %k %v %p %T %h.")
    ] = None,
    is_json: Annotated[bool, typer.Option("--json", help="A line is a JSON object.")] = False,
    acks: Annotated[Acks, typer.Option("--acks", help="Who must have it: all, the leader, nobody.")] = Acks.ALL,
    compression: Annotated[Compression, typer.Option("--compression", "-z", help="Of batches.")] = Compression.NONE,
    partitioner: Annotated[Partitioner, typer.Option("--partitioner", help="Who goes where.")] = Partitioner.KEY,
    batch_bytes: Annotated[int, typer.Option("--batch-bytes", min=1, help="Largest batch.")] = 262_144,
    linger_ms: Annotated[int, typer.Option("--linger-ms", min=0, help="How long a batch waits for more.")] = 5,
) -> None:
    """Send records: those on the command line, else one for each line of the input."""
    at = session(context)
    if key_separator is not None and input_format is not None:
        raise UsageMistake("--key-separator and --format exclude each other", "give one of them")
    asked = Asked(delay, deliver_at, priority, ttl, expires_at, schedule_id, cancel, trace)
    now_ms = at.now_ms()
    base = NewRecord(
        value=None,
        key=None if key is None else key.encode(),
        headers=(*(header(each) for each in headers or ()), *asked.headers(now_ms)),
        partition=partition,
        timestamp_ms=None if timestamp is None else moment_ms(timestamp, now_ms),
    )
    form = input_format if key_separator is None else f"%k{key_separator.replace('%', '%%')}%v"
    parse = parser(base, form, is_json=is_json, now_ms=now_ms)
    # A cancelling record is not stored: it needs no value.
    texts = iter([b""]) if cancel is not None and not values and file is None else source(values or (), file, delimiter)
    records = _nulled(map(parse, texts)) if null or cancel is not None else map(parse, texts)
    options = {
        "acks": "all" if acks is Acks.ALL else int(acks.value),
        "enable_idempotence": acks is Acks.ALL,
        "compression_type": None if compression is Compression.NONE else compression.value,
        "max_batch_size": batch_bytes,
        "linger_ms": linger_ms,
        "partitioner": _partitioner(partitioner),
    }
    with progress("sent") as shown:
        sent = run(_send(at, topic, records, options, shown))
    _report(at, sent, asked, base)


def _nulled(records: Iterator[NewRecord]) -> Iterator[NewRecord]:
    for each in records:
        yield NewRecord(each.value or None, each.key, each.headers, each.partition, each.timestamp_ms)


def _partitioner(kind: Partitioner) -> Callable[..., int]:
    from aiokafka.partitioner import DefaultPartitioner

    turns = count()

    def choose(_key: bytes | None, everyone: list[int], available: list[int]) -> int:
        among = available or everyone
        return random.choice(among) if kind is Partitioner.RANDOM else among[next(turns) % len(among)]

    return DefaultPartitioner() if kind is Partitioner.KEY else choose


async def _send(
    at: Session, topic: str, records: Iterator[NewRecord], options: dict[str, Any], shown: Progress
) -> Sent:
    from aiokafka import AIOKafkaProducer

    sent, on_their_way = Sent(topic), []
    async with reaching(at.profile):
        producer = AIOKafkaProducer(**client_options(at.profile), **options)
        _listen(producer.client, sent)
        try:
            await producer.start()
            for record in records:
                on_their_way.append(await _send_one(producer, topic, record))
                if len(on_their_way) >= WINDOW:
                    await _settle(on_their_way, sent, shown)
            await _settle(on_their_way, sent, shown)
        finally:
            await producer.stop()
    return sent


@frozen
class _WithReasons:
    """A Produce request in the first version whose answer says why records are refused.

    aiokafka has that version, and leaves it out of those that it offers.
    """

    request: Any

    def prepare(self, versions: dict[int, tuple[int, int]]) -> Any:
        from aiokafka.protocol.produce import ProduceRequest_v8

        if versions.get(PRODUCE, (0, 0))[1] < FIRST_VERSION_WITH_REASONS:
            return self.request.prepare(versions)
        return self.request.build(ProduceRequest_v8)


def _listen(client: Any, sent: Sent) -> None:
    """Note why the broker refuses: aiokafka passes on only the code, and not every code."""
    ask = client.send

    async def listening(node: int, request: Any, **named: Any) -> Any:
        if getattr(request, "API_KEY", None) != PRODUCE or request.required_acks == 0:
            return await ask(node, request, **named)
        answer = await ask(node, _WithReasons(request), **named)
        for _, partitions in answer.topics:
            for partition in partitions:
                if partition[1]:
                    reasons = partition[5:] if answer.API_VERSION >= FIRST_VERSION_WITH_REASONS else ((), None)
                    sent.reasons.append((partition[1], _reason(*reasons)))
        return answer

    client.send = listening


def _reason(of_records: Any, of_batch: str | None) -> str:
    said = [text for _, text in of_records or () if text]
    return f": {said[0] if said else of_batch}" if said or of_batch else ""


async def _send_one(producer: Any, topic: str, record: NewRecord) -> Any:
    if record.partition is not None:
        known = await producer.partitions_for(topic)
        if record.partition not in known:
            raise UsageMistake(f"topic {topic!r} has no partition {record.partition}", f"it has {len(known)}")
    return await producer.send(
        topic,
        record.value,
        key=record.key,
        partition=record.partition,
        timestamp_ms=record.timestamp_ms,
        headers=list(record.headers),
    )


async def _settle(on_their_way: list[Any], sent: Sent, shown: Progress) -> None:
    from aiokafka.errors import KafkaError

    results = await asyncio.gather(*on_their_way, return_exceptions=True)
    on_their_way.clear()
    refused = [each for each in results if isinstance(each, BaseException)]
    for metadata in results:
        if metadata is None:
            # Nobody was asked to say that it has arrived.
            sent.records += 1
        elif not isinstance(metadata, BaseException):
            sent.add(metadata)
    shown.advance(len(results) - len(refused))
    if refused:
        first = refused[0]
        if not isinstance(first, KafkaError):
            raise first
        code, reason = sent.reasons[-1] if sent.reasons else (getattr(first, "errno", 0), "")
        name = error_name(code) if code > 0 else str(first)
        raise Refused(
            f"{len(refused)} of {len(results)} records were refused by {sent.topic}: {name}{reason}", code=code
        )


def _report(at: Session, sent: Sent, asked: Asked, base: NewRecord) -> None:
    data = sent.as_data()
    traced = [str(value, "ascii")[3:35] for name, value in base.headers if name == "traceparent" and value]
    if asked.trace and traced:
        data["trace_id"] = traced[0]
    at.output.done(_sentence(sent, asked, traced), **data)


def _sentence(sent: Sent, asked: Asked, traced: list[str]) -> str:
    if asked.cancel is not None:
        return f"asked {sent.topic} to cancel {printable(asked.cancel)!r}"
    text = f"{sent.records} record{'s' * (sent.records != 1)} to {sent.topic}"
    if sent.placed:
        first = sorted(sent.placed.items())[:4]
        text += ": " + ", ".join(
            f"partition {number} at {place['first_offset']}"
            + (f"-{place['last_offset']}" if place["records"] > 1 else "")
            for number, place in first
        )
        text += ", ..." if len(sent.placed) > len(first) else ""
    if sent.held and asked.delay is not None:
        text += f"; {sent.held} held back for {span_text(duration_ms(asked.delay))}"
    elif sent.held and asked.deliver_at is not None:
        text += f"; {sent.held} held back until {asked.deliver_at}"
    elif sent.held:
        text += f"; {sent.held} in the lanes, in order of priority"
    return text + (f"; trace {traced[0]}" if asked.trace and traced else "")
