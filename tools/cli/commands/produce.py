"""`tidegate produce`: send records, now or later, with a priority, for a while, in a transaction."""

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from attrs import evolve

from tools.cli import over_http
from tools.cli.arrivals import arriving
from tools.cli.asked import Asked, as_given, header
from tools.cli.completion import priority_names, topic_names
from tools.cli.errors import CliError, Exit, UsageMistake
from tools.cli.framework import Session, session
from tools.cli.inputs import NewRecord, Parse, nulled, parser, records, source
from tools.cli.kafka import run
from tools.cli.output import printable
from tools.cli.partitioners import Partitioner, chooser
from tools.cli.progress import progress
from tools.cli.sending import Sent, Transactions, send
from tools.cli.times import duration_ms, moment_ms, span_text

EXAMPLES = (
    "tidegate produce orders 'one coffee' 'one tea'",
    "tidegate produce orders --key table-4 -H source=bar 'one coffee'",
    "tidegate produce reminders --delay 15m --key bob --schedule-id call-bob 'call Bob'",
    "tidegate produce reminders --key bob --cancel call-bob",
    "tidegate produce jobs --priority critical --ttl 1h 'restart the pump'",
    "tidegate produce orders --at 2026-12-24T18:00 'the goose'",
    "tail -f app.log | tidegate produce logs",
    "cat orders.txt | tidegate produce orders -f '%k:%v'",
    "tidegate produce pictures --key cat --file cat.jpg --whole",
    "tidegate produce orders --file orders.txt --transactional-id import-1",
    "tidegate produce orders --file orders.txt --transactional-id import-1 --transaction-every 1000",
    "tidegate produce orders --schema orders-value '{\"id\": 7}'",
    "tidegate consume orders -e -o json | tidegate produce copies --json",
    "tidegate produce orders --http http://127.0.0.1:8080 --key table-4 'one coffee'",
)
RECORD, WAIT, INPUT, DELIVERY = "The record", "Delay, priority, expiry", "The input", "How it is sent"


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


def _in(panel: str, *names: str, **named: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, **named)


Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="Where to.", autocompletion=topic_names)]
Values = Annotated[list[str] | None, typer.Argument(metavar="[VALUE]", help="Records; else standard input.")]
Key = Annotated[str | None, _in(RECORD, "--key", "-k", help="Key of every record.")]
Headers = Annotated[
    list[str] | None, _in(RECORD, "--header", "-H", metavar="NAME=VALUE", help="A header; may be repeated.")
]
Partition = Annotated[int | None, _in(RECORD, "--partition", "-p", min=0, help="To this partition.")]
Timestamp = Annotated[str | None, _in(RECORD, "--timestamp", metavar="TIME", help="Create time, instead of now.")]
Null = Annotated[bool, _in(RECORD, "--null", "-Z", help="Empty values are null: tombstones.")]
Trace = Annotated[bool, _in(RECORD, "--trace", help="Have the broker keep a timeline.")]
Delay = Annotated[str | None, _in(WAIT, "--delay", metavar="SPAN", help="Hold back for so long, e.g. 15m or 2d.")]
DeliverAt = Annotated[
    str | None, _in(WAIT, "--at", metavar="TIME", help="Hold back until then, e.g. 2026-12-24T18:00.")
]
Priority = Annotated[
    str | None,
    _in(
        WAIT,
        "--priority",
        metavar="NAME",
        help="critical, high, normal, low or background.",
        autocompletion=priority_names,
    ),
]
Ttl = Annotated[
    str | None,
    _in(WAIT, "--ttl", metavar="SPAN", help="Not delivered after so long, if still held back or in a lane."),
]
ExpiresAt = Annotated[
    str | None,
    _in(WAIT, "--expires-at", metavar="TIME", help="Not delivered after then, if still held back or in a lane."),
]
ScheduleId = Annotated[
    str | None,
    _in(WAIT, "--schedule-id", metavar="ID", help="A handle; the same again, with the same key, replaces it."),
]
Cancel = Annotated[
    str | None, _in(WAIT, "--cancel", metavar="ID", help="Cancel what has this handle (and the same key).")
]
SchemaName = Annotated[
    str | None,
    _in(INPUT, "--schema", metavar="SUBJECT[:N]", help="Values are JSON, written by this schema; a number is its id."),
]
MessageName = Annotated[
    str | None, _in(INPUT, "--message", metavar="NAME", help="Of a Protobuf schema; its first message by default.")
]
Registry = Annotated[
    str | None, _in(INPUT, "--registry", metavar="URL", help="Where schemas are, instead of the broker's door.")
]
Files = Annotated[list[Path] | None, _in(INPUT, "--file", help="Read records from this file; may be repeated.")]
Whole = Annotated[bool, _in(INPUT, "--whole", help="A file, or all of standard input, is one record.")]
Delimiter = Annotated[str, _in(INPUT, "--delimiter", "-D", help="What ends a record of the input.")]
KeySeparator = Annotated[
    str | None, _in(INPUT, "--key-separator", "-K", metavar="TEXT", help="Short for -f '%kTEXT%v'.")
]
InputFormat = Annotated[
    str | None, _in(INPUT, "--format", "-f", help="How a line is made up: %k %v %p %T %h, %v{base64}.")
]
IsJson = Annotated[bool, _in(INPUT, "--json", help="A line is a JSON object, as 'consume -o json' prints.")]
SamePartition = Annotated[
    bool, _in(INPUT, "--same-partition", help="With --json: a record goes to the partition that it was read from.")
]
AcksNeeded = Annotated[
    Acks, _in(DELIVERY, "--acks", help="Who must have it: all replicas, the leader (1), nobody (0).")
]
Codec = Annotated[Compression, _in(DELIVERY, "--compression", "-z", help="Of batches.")]
PartitionerName = Annotated[
    Partitioner,
    _in(DELIVERY, "--partitioner", help="By key as Java's clients (key) or as librdkafka (crc32), or not by key."),
]
BatchBytes = Annotated[int, _in(DELIVERY, "--batch-bytes", min=1, help="Largest batch.")]
LingerMs = Annotated[int, _in(DELIVERY, "--linger-ms", min=0, help="How long a batch waits for more.")]
TransactionalId = Annotated[
    str | None, _in(DELIVERY, "--transactional-id", metavar="ID", help="All records in one transaction.")
]
TransactionEvery = Annotated[
    int | None, _in(DELIVERY, "--transaction-every", metavar="N", min=1, help="A transaction for each N records.")
]
TransactionTimeout = Annotated[
    str, _in(DELIVERY, "--transaction-timeout", metavar="SPAN", help="When the broker gives one up.")
]
IsAborted = Annotated[
    bool, _in(DELIVERY, "--abort", help="Abort the transactions instead: to see what readers make of it.")
]


def produce(
    context: typer.Context,
    topic: Topic,
    values: Values = None,
    key: Key = None,
    headers: Headers = None,
    partition: Partition = None,
    timestamp: Timestamp = None,
    null: Null = False,
    trace: Trace = False,
    delay: Delay = None,
    deliver_at: DeliverAt = None,
    priority: Priority = None,
    ttl: Ttl = None,
    expires_at: ExpiresAt = None,
    schedule_id: ScheduleId = None,
    cancel: Cancel = None,
    files: Files = None,
    whole: Whole = False,
    delimiter: Delimiter = r"\n",
    key_separator: KeySeparator = None,
    input_format: InputFormat = None,
    is_json: IsJson = False,
    same_partition: SamePartition = False,
    schema: SchemaName = None,
    message: MessageName = None,
    registry: Registry = None,
    acks: AcksNeeded = Acks.ALL,
    compression: Codec = Compression.NONE,
    partitioner: PartitionerName = Partitioner.KEY,
    batch_bytes: BatchBytes = 262_144,
    linger_ms: LingerMs = 5,
    transactional_id: TransactionalId = None,
    transaction_every: TransactionEvery = None,
    transaction_timeout: TransactionTimeout = "1m",
    is_aborted: IsAborted = False,
) -> None:
    """Send records: those on the command line, else one for each line of the input.

    A line is sent as soon as it is there, so that 'tail -f' can be the input.
    Records expire (--ttl) while they wait: held back, or in a lane of a topic with priorities; not in a plain topic.
    With --transactional-id, all records become readable at once, or none.
    With --http, and no --bootstrap, they go by the HTTP door alone."""
    at = session(context)
    transactions = _transactions(transactional_id, transaction_every, transaction_timeout, is_aborted, acks)
    asked = Asked(delay, deliver_at, priority, ttl, expires_at, schedule_id, cancel, trace)
    now_ms = at.now_ms()
    base = NewRecord(
        value=None,
        key=None if key is None else as_given(key),
        headers=(*(header(each) for each in headers or ()), *asked.headers(now_ms)),
        partition=partition,
        timestamp_ms=None if timestamp is None else moment_ms(timestamp, now_ms),
    )
    form = _form(key_separator, input_format)
    parse = parser(base, form, is_json=is_json, now_ms=now_ms, same_partition=same_partition)
    if null or cancel is not None:
        parse = nulled(parse)
    parse = parse if schema is None else _with_schema(at, parse, (schema, message or ""), registry)
    is_bare = cancel is not None and not values and not files
    texts = _nothing(key) if is_bare else source(values or (), files or (), delimiter, whole=whole)
    if not is_bare and not values and not files and sys.stdin.isatty():
        at.output.note(f"a line is a record for {topic}; Ctrl-D ends")
    if over_http.is_meant(context):
        _produce_over_http(context, topic, records(texts, parse), asked, base)
        return
    options = _options(acks, compression, partitioner, batch_bytes, linger_ms)
    with progress("sent", draws=not sys.stdin.isatty() or bool(files)) as shown:
        sent = run(send(at.profile, topic, arriving(records(texts, parse)), options, shown, transactions), waits=False)
    _report(at, sent, asked, base, transactions)


def _options(
    acks: Acks, compression: Compression, partitioner: Partitioner, batch_bytes: int, linger_ms: int
) -> dict[str, Any]:
    return {
        "acks": "all" if acks is Acks.ALL else int(acks.value),
        "enable_idempotence": acks is Acks.ALL,
        "compression_type": None if compression is Compression.NONE else compression.value,
        "max_batch_size": batch_bytes,
        "linger_ms": linger_ms,
        "partitioner": chooser(partitioner),
    }


def _with_schema(at: Session, parse: Parse, schema: tuple[str, str], registry: str | None) -> Parse:
    """The same with values written by a schema, and a message of it, with its id before them."""
    from tools.cli.framing import Schemas, encoding
    from tools.cli.schema_door import registry_of

    encode = encoding(Schemas(registry_of(at.profile, registry)), *schema)

    def framed(text: bytes) -> NewRecord:
        record = parse(text)
        return record if record.value is None else evolve(record, value=encode(record.value))

    return framed


def _produce_over_http(
    context: typer.Context, topic: str, chunks: Iterator[list[NewRecord]], asked: Asked, base: NewRecord
) -> None:
    kafka_only = {"acks", "compression", "partitioner", "batch_bytes", "linger_ms", "transactional_id"}
    kafka_only |= {"transaction_every", "transaction_timeout", "is_aborted"}
    allowed = [name for name in context.params if name not in kafka_only]
    over_http.refuse_others(context, allowed, "leave it out, or send by Kafka's protocol with --bootstrap")
    at = session(context)
    with progress("sent") as shown, over_http.rest_door(at) as door:
        sent = over_http.send(door, topic, chunks, shown.advance)
    _report(at, sent, asked, base, None)


def _nothing(key: str | None) -> Iterator[list[bytes]]:
    """A cancelling record is not stored: it needs no value."""
    if key is None:
        raise UsageMistake("--cancel alone does not say whose record it is", "give the --key that the record has")
    return iter([[b""]])


def _form(key_separator: str | None, input_format: str | None) -> str | None:
    if key_separator is None:
        return input_format
    if input_format is not None:
        raise UsageMistake("--key-separator and --format exclude each other", "give one of them")
    return f"%k{key_separator.replace('%', '%%')}%v"


def _transactions(
    name: str | None, every: int | None, timeout: str, is_aborted: bool, acks: Acks
) -> Transactions | None:
    if name is None:
        if every is not None or is_aborted:
            option = "--transaction-every" if every is not None else "--abort"
            raise UsageMistake(f"{option} is about transactions", "give --transactional-id too")
        return None
    if acks is not Acks.ALL:
        raise UsageMistake("a transaction needs --acks all", "leave out --acks")
    return Transactions(name, duration_ms(timeout), every, is_aborted)


def _report(at: Session, sent: Sent, asked: Asked, base: NewRecord, transactions: Transactions | None) -> None:
    data = sent.as_data()
    traced = [str(value, "ascii")[3:35] for name, value in base.headers if name == "traceparent" and value]
    if asked.trace and traced:
        data["trace_id"] = traced[0]
    text = _sentence(at, sent, asked, traced)
    if transactions is not None:
        ended = "aborted" if transactions.is_aborted else "committed"
        data["transactions"] = {"id": transactions.transactional_id, "ended": ended, "count": sent.transactions}
        text += f"; {sent.transactions} transaction{'s' * (sent.transactions != 1)} {ended}"
    ignored = _ignored(at, sent, asked)
    at.output.done(text if ignored is None else _count(sent), **data)
    if at.output.is_for_people:
        for note in _notes(sent, asked):
            at.output.note(note)
    if ignored is not None:
        raise CliError(ignored, "it is no Tidegate, or the topic has extensions.enable=false", Exit.FAILED)


def _notes(sent: Sent, asked: Asked) -> Iterator[str]:
    """What a person may not have meant."""
    if sent.made_topic:
        yield f"(there was no topic {sent.topic}; it was made, as the broker makes topics by default)"
    if sent.placed and (asked.ttl is not None or asked.expires_at is not None):
        option = "--ttl" if asked.ttl is not None else "--expires-at"
        yield (
            f"({option} does nothing here: the records are in the log of {sent.topic} already, where nothing expires. "
            "It counts while a record is held back by --delay or --at, and in topics with priority.enable=true)"
        )


def _ignored(at: Session, sent: Sent, asked: Asked) -> str | None:
    """What the broker should have done and has not: a record that has an offset is there for everybody to read."""
    if not sent.placed:
        return None
    if asked.cancel is not None:
        return f"{sent.topic} has stored the record, and cancelled nothing"
    now_ms = at.now_ms()
    later_ms = 0 if asked.delay is None else duration_ms(asked.delay)
    if asked.deliver_at is not None:
        later_ms = moment_ms(asked.deliver_at, now_ms) - now_ms
    if later_ms > 0 and sent.held == 0:
        return f"{sent.topic} has not held the records back"
    if asked.priority is not None and sent.held == 0:
        return f"{sent.topic} has no priorities: the records are where they came"
    return None


def _count(sent: Sent) -> str:
    return f"{sent.records} record{'s' * (sent.records != 1)} to {sent.topic}"


def _sentence(at: Session, sent: Sent, asked: Asked, traced: list[str]) -> str:
    if asked.cancel is not None:
        return f"asked {sent.topic} to cancel {printable(asked.cancel)!r}"
    text = _count(sent)
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
        is_over = moment_ms(asked.deliver_at, at.now_ms()) <= at.now_ms()
        text += f"; {sent.held} " + ("due already" if is_over else f"held back until {asked.deliver_at}")
    elif sent.held:
        text += f"; {sent.held} in the lanes, in order of priority"
    return text + (f"; trace {traced[0]}" if asked.trace and traced else "")
