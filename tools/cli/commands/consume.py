"""`tidegate consume`: read records, from where to where one likes, alone or as a member of a group."""

import asyncio
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from attrs import define, frozen

from tools.cli.completion import topic_names
from tools.cli.errors import CliError, UsageMistake
from tools.cli.formats import Record, as_data, compile_format
from tools.cli.framework import Session, session
from tools.cli.kafka import client_options, connected, reaching, run
from tools.cli.offsets import Place, at_time, bounds
from tools.cli.output import printable
from tools.cli.times import moment_ms

POLL_MS = 200
EXAMPLES = (
    "tidegate consume orders -e",
    "tidegate consume orders --from -10 -e -f '%p %o %k: %v\\n'",
    "tidegate consume orders --from @-1h --to @-30m",
    "tidegate consume orders --group kitchen --count 100",
    "tidegate consume orders -e -o json | jq .value",
    "tidegate consume orders --key 'table-.*' --header source=bar",
)


class Isolation(StrEnum):
    """Whether records of open and aborted transactions are read."""

    COMMITTED = "read_committed"
    UNCOMMITTED = "read_uncommitted"


@frozen
class Filter:
    """Which records are shown."""

    key: "re.Pattern[bytes] | None" = None
    value: "re.Pattern[bytes] | None" = None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    def takes(self, record: Record) -> bool:
        """Whether everything that is asked for holds."""
        if self.key is not None and (record.key is None or not self.key.search(record.key)):
            return False
        if self.value is not None and (record.value is None or not self.value.search(record.value)):
            return False
        return all(
            any(name == known and wanted in (None, value) for known, value in record.headers)
            for name, wanted in self.headers
        )


@define
class Reading:
    """How far one is, and when it is enough."""

    write: Callable[[Record], None]
    filter: Filter
    count_max: int | None
    stops: dict[Place, int] | None
    idle_s: float | None
    shown: int = 0
    last_s: float = 0.0

    @property
    def is_full(self) -> bool:
        """Whether as many were shown as were asked for."""
        return self.count_max is not None and self.shown >= self.count_max

    def take(self, record: Record) -> None:
        """Show a record, if it is one of those that are wanted."""
        self.last_s = time.monotonic()
        if self.stops is not None and record.offset >= self.stops.get((record.topic, record.partition), record.offset):
            return
        if self.filter.takes(record):
            self.write(record)
            self.shown += 1


def consume(
    context: typer.Context,
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC", help="What to read.", autocompletion=topic_names)],
    group: Annotated[str | None, typer.Option("--group", "-g", help="Read as a member; offsets are kept.")] = None,
    begin: Annotated[
        str | None,
        typer.Option("--from", metavar="WHERE", help="earliest, latest, an offset, -N for the last N, @TIME."),
    ] = None,
    stop: Annotated[
        str | None, typer.Option("--to", metavar="WHERE", help="latest, an offset, or @TIME; not included.")
    ] = None,
    partitions: Annotated[list[int] | None, typer.Option("--partition", "-p", min=0, help="These alone.")] = None,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="End after so many records.")] = None,
    exit_at_end: Annotated[bool, typer.Option("--exit", "-e", help="End where the topic ends now.")] = False,
    idle: Annotated[float | None, typer.Option("--idle", metavar="SECONDS", help="End after silence.")] = None,
    form: Annotated[
        str | None, typer.Option("--format", "-f", help=r"%t %p %o %k %v %h %T %D, \n; default '%v\n'.")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", metavar="REGEX", help="Only keys that match.")] = None,
    value: Annotated[str | None, typer.Option("--value", metavar="REGEX", help="Only values that match.")] = None,
    headers: Annotated[
        list[str] | None, typer.Option("--header", metavar="NAME[=VALUE]", help="Only records with it.")
    ] = None,
    isolation: Annotated[
        Isolation, typer.Option("--isolation", help="What of transactions is read.")
    ] = Isolation.COMMITTED,
    commit: Annotated[bool, typer.Option("--commit/--no-commit", help="Keep the group's offsets.")] = True,
    commit_interval: Annotated[
        int, typer.Option("--commit-interval", metavar="MS", min=1, help="How often offsets are kept.")
    ] = 5_000,
    fetch_bytes: Annotated[int, typer.Option("--fetch-bytes", min=1, help="Most that one fetch gives.")] = 1 << 20,
) -> None:
    """Read records; without an end (-e, --to, --count) it goes on until Ctrl-C."""
    at = session(context)
    if group is not None and (partitions or stop is not None or begin not in (None, "earliest", "latest")):
        raise UsageMistake(
            "a group decides itself what is read: with --group, --from is earliest or latest, and there is no --to "
            "and no --partition",
            "leave out --group, or move the group with 'tidegate group reset'",
        )
    chosen = Filter(_pattern(key), _pattern(value), tuple(_wanted(each) for each in headers or ()))
    reading = Reading(_writer(at, form), chosen, count, None, idle)
    options = {
        "isolation_level": isolation.value,
        "max_partition_fetch_bytes": fetch_bytes,
        "fetch_max_bytes": max(fetch_bytes, 1 << 20),
        "auto_offset_reset": begin if begin in ("earliest", "latest") else "earliest",
    }
    if group is not None:
        options |= {"group_id": group, "enable_auto_commit": commit, "auto_commit_interval_ms": commit_interval}
        run(_read_group(at, topics, options, reading, exit_at_end=exit_at_end))
        return
    run(_read_assigned(at, topics, partitions or (), begin or "earliest", stop, options, reading, exit_at_end))


def _pattern(text: str | None) -> "re.Pattern[bytes] | None":
    if text is None:
        return None
    try:
        return re.compile(text.encode())
    except re.error as error:
        raise UsageMistake(f"{text!r} is no regular expression: {error}", "quote it for the shell") from None


def _wanted(text: str) -> tuple[str, bytes | None]:
    name, equals, value = text.partition("=")
    return name, value.encode() if equals else None


def _writer(at: Session, form: str | None) -> Callable[[Record], None]:
    if form is None and not at.output.is_for_people:
        return lambda record: at.output.one(as_data(record))
    written = compile_format(r"%v\n" if form is None else form)
    out = sys.stdout.buffer
    if form is None and sys.stdout.isatty():
        # What a stranger has sent must not steer the terminal.
        return lambda record: _shown(out, written(record))
    return lambda record: _write(out, written(record))


def _shown(out: Any, data: bytes) -> None:
    _write(out, printable(data.decode("utf-8", "backslashreplace")).encode())


def _write(out: Any, data: bytes) -> None:
    out.write(data)


async def _read_assigned(
    at: Session,
    topics: Sequence[str],
    partitions: Sequence[int],
    begin: str,
    stop: str | None,
    options: Mapping[str, Any],
    reading: Reading,
    exit_at_end: bool,
) -> None:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    async with connected(at.profile) as kafka:
        found = await bounds(kafka, topics)
        wanted = {place: each for place, each in found.items() if not partitions or place[1] in partitions}
        if not wanted or any(all(place[1] != each for place in wanted) for each in partitions):
            raise UsageMistake(
                f"{', '.join(topics)}: no partition {', '.join(map(str, partitions))}", "see 'topic describe'"
            )
        starts = await _places(at, kafka, wanted, begin, "--from")
        if stop is not None or exit_at_end:
            reading.stops = await _places(at, kafka, wanted, stop or "latest", "--to")
    async with reaching(at.profile):
        consumer = AIOKafkaConsumer(**client_options(at.profile), **options)
        try:
            await consumer.start()
            consumer.assign([TopicPartition(*place) for place in wanted])
            for place, offset in starts.items():
                consumer.seek(TopicPartition(*place), offset)
            await _read(consumer, reading)
        finally:
            # A task of aiokafka's that is cancelled before its first step makes stop() fail: let them all begin.
            await asyncio.sleep(0)
            await consumer.stop()


async def _places(
    at: Session, kafka: Any, found: Mapping[Place, tuple[int, int]], where: str, option: str
) -> dict[Place, int]:
    """The offset of each partition that is meant."""
    if where in ("earliest", "latest"):
        return {place: each[0 if where == "earliest" else 1] for place, each in found.items()}
    if where.startswith("@"):
        return await at_time(kafka, found, moment_ms(where[1:], at.now_ms()))
    if where.startswith("-") and where[1:].isdecimal() and option == "--from":
        return {place: max(each[0], each[1] - int(where[1:])) for place, each in found.items()}
    if where.isdecimal():
        return {place: max(int(where), each[0]) for place, each in found.items()}
    raise UsageMistake(f"{option} cannot be {where!r}", "earliest, latest, an offset, -N, or @ and a time like @-1h")


async def _read_group(
    at: Session, topics: Sequence[str], options: Mapping[str, Any], reading: Reading, *, exit_at_end: bool
) -> None:
    from aiokafka import AIOKafkaConsumer

    async with connected(at.profile) as kafka:
        await kafka.topics(list(topics))
    async with reaching(at.profile):
        consumer = AIOKafkaConsumer(*topics, **client_options(at.profile), **options)
        try:
            await consumer.start()
            if exit_at_end:
                await _assigned(consumer, at.profile.timeout_s)
                ends = await consumer.end_offsets(list(consumer.assignment()))
                reading.stops = {(place.topic, place.partition): end for place, end in ends.items()}
            await _read(consumer, reading)
        finally:
            # A task of aiokafka's that is cancelled before its first step makes stop() fail: let them all begin.
            await asyncio.sleep(0)
            await consumer.stop()


async def _assigned(consumer: Any, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not consumer.assignment():
        if time.monotonic() > deadline:
            raise CliError(f"the group gave no partition within {timeout_s:g} s", "see 'tidegate group describe'")
        await asyncio.sleep(0.05)


async def _read(consumer: Any, reading: Reading) -> None:
    reading.last_s = time.monotonic()
    while not reading.is_full and not await _is_at_stop(consumer, reading):
        left = None if reading.count_max is None else reading.count_max - reading.shown
        found = await consumer.getmany(timeout_ms=POLL_MS, max_records=left if reading.filter == Filter() else None)
        for records in found.values():
            for each in records:
                if not reading.is_full:
                    reading.take(_record(each))
        if found:
            # Once for what came together: a record at a time would be slow, and a buffer that fills late.
            sys.stdout.flush()
        if reading.idle_s is not None and time.monotonic() - reading.last_s > reading.idle_s:
            return


async def _is_at_stop(consumer: Any, reading: Reading) -> bool:
    """Whether every partition is where it was to end: by position, since offsets may be missing at the end."""
    if reading.stops is None:
        return False
    for place in consumer.assignment():
        stop = reading.stops.get((place.topic, place.partition))
        if stop is not None and await consumer.position(place) < stop:
            return False
    return True


def _record(message: Any) -> Record:
    return Record(
        message.topic,
        message.partition,
        message.offset,
        message.timestamp,
        message.key,
        message.value,
        tuple(message.headers),
    )
