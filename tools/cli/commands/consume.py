"""`tidegate consume`: read records, from where to where one likes, alone or as a member of a group."""

import asyncio
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from attrs import frozen

from tools.cli import over_http
from tools.cli.asked import as_given
from tools.cli.completion import group_names, topic_names
from tools.cli.errors import NotFound, UsageMistake
from tools.cli.formats import Record, as_data, compile_format
from tools.cli.framework import Session, session
from tools.cli.kafka import client_options, connected, reaching, run, stopped
from tools.cli.offsets import LATEST, Place, at_time, bounds, list_offsets
from tools.cli.output import printable
from tools.cli.progress import Progress, progress, waiting
from tools.cli.reading import Filter, Reading, joined, pattern, read, set_out
from tools.cli.share_work import Settling, ShareWork
from tools.cli.times import duration_ms, moment_ms

EXAMPLES = (
    "tidegate consume orders -e",
    "tidegate consume orders --from -10 -e -f '%p %o %k: %v\\n'",
    "tidegate consume orders --since -1h --until -30m",
    "tidegate consume orders --since 2026-11-16T08:00 -e -f '%d{strftime[%H:%M:%S]} %v\\n'",
    "tidegate consume orders --partition 0 --from 17 --count 1 -o json",
    "tidegate consume orders --group kitchen --count 100",
    "tidegate consume orders --group kitchen --exit --commit-interval 1000",
    "tidegate consume 'orders-.*' --regex -e -f '%t %v\\n'",
    "tidegate consume orders -e -o json | jq .value",
    "tidegate consume orders -e --decode",
    "tidegate consume orders --key 'table-.*' --header source=bar",
    "tidegate consume orders --http http://127.0.0.1:8080 --partition 0 --from 17 --count 1",
    "tidegate consume orders --http http://127.0.0.1:8080 --group kitchen --count 100 --commit-interval 1000",
    "tidegate consume jobs --share mail --count 10",
    "tidegate consume jobs --share mail --exec ./send-mail --workers 4",
)
STOP_S = 2.0
"""How long a member that has failed may take to leave its group."""
FROM, WHICH, PRINT, GROUP = "From where to where", "Which records", "How they are printed", "As a member of a group"
SHARE = "As a worker of a share group"
GROUP_DECIDES = (
    "a group decides itself what is read: with --group, --from is earliest or latest, and there is no --to and no "
    "--partition",
    "leave out --group, or move the group with 'tidegate group reset GROUP --to WHERE'",
)


class Isolation(StrEnum):
    """Whether records of open and aborted transactions are read."""

    COMMITTED = "read_committed"
    UNCOMMITTED = "read_uncommitted"


def _in(panel: str, *names: str, **named: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, **named)


Topics = Annotated[list[str], typer.Argument(metavar="TOPIC", help="What to read.", autocompletion=topic_names)]
Begin = Annotated[
    str | None,
    _in(FROM, "--from", metavar="WHERE", help="earliest, latest, an offset, -N for the last N, @TIME."),
]
Stop = Annotated[str | None, _in(FROM, "--to", metavar="WHERE", help="latest, an offset, or @TIME; not included.")]
Since = Annotated[str | None, _in(FROM, "--since", metavar="TIME", help="Short for --from @TIME.")]
Until = Annotated[str | None, _in(FROM, "--until", metavar="TIME", help="Short for --to @TIME.")]
ExitAtEnd = Annotated[bool, _in(FROM, "--exit", "-e", help="End where the topic ends now.")]
Count = Annotated[int | None, _in(FROM, "--count", "-n", min=1, help="End after so many records.")]
Idle = Annotated[float | None, _in(FROM, "--idle", metavar="SECONDS", help="End after silence.")]
Partitions = Annotated[
    list[int] | None, _in(WHICH, "--partition", "-p", min=0, help="Of this partition; may be repeated.")
]
IsRegex = Annotated[bool, _in(WHICH, "--regex", "-r", help="TOPIC is a regular expression for whole names.")]
Key = Annotated[str | None, _in(WHICH, "--key", metavar="REGEX", help="Only keys in which this is found.")]
Value = Annotated[str | None, _in(WHICH, "--value", metavar="REGEX", help="Only values in which this is found.")]
Headers = Annotated[list[str] | None, _in(WHICH, "--header", metavar="NAME[=VALUE]", help="Only records with it.")]
IsolationLevel = Annotated[
    Isolation, _in(WHICH, "--isolation", help="Without open and aborted transactions, or with them.")
]
Form = Annotated[
    str | None,
    _in(PRINT, "--format", "-f", help=r"%t %p %o %k %v %h %T %D %v{hex} %d{strftime[%H:%M]}; default '%v\n'."),
]
Decode = Annotated[bool, _in(PRINT, "--decode", help="Show as JSON what was written by a schema of the registry.")]
Registry = Annotated[
    str | None, _in(PRINT, "--registry", metavar="URL", help="Where schemas are, instead of the broker's door.")
]
GroupName = Annotated[
    str | None,
    _in(GROUP, "--group", "-g", help="Its name; offsets are kept, members share.", autocompletion=group_names),
]
Commit = Annotated[bool, _in(GROUP, "--commit/--no-commit", help="Keep the group's offsets.")]
CommitInterval = Annotated[
    int, _in(GROUP, "--commit-interval", metavar="MS", min=1, help="How often offsets are kept.")
]
Share = Annotated[
    str | None,
    _in(SHARE, "--share", help="Its name; each record is settled on its own.", autocompletion=group_names),
]
Settle = Annotated[
    Settling | None,
    _in(SHARE, "--settle", help="What becomes of each record: accept unless told otherwise.", show_default=False),
]
Accepts = Annotated[bool, _in(SHARE, "--accept", help="Each is done.")]
Releases = Annotated[bool, _in(SHARE, "--release", help="Each is given back, to be tried again.")]
Rejects = Annotated[bool, _in(SHARE, "--reject", help="Each goes to the dead letters.")]
Renews = Annotated[
    bool, _in(SHARE, "--renew", help="Each is kept in hand, its lock renewed, until the end; then given back.")
]
RetryIn = Annotated[
    str | None,
    _in(SHARE, "--retry-in", metavar="SPAN", help="How long what is given back waits; else as the group's keys say."),
]
Exec = Annotated[
    str | None,
    _in(
        SHARE,
        "--exec",
        metavar="COMMAND",
        help="Run this for each record, value as input; exit status 0 accepts, 75 tries again, others reject.",
    ),
]
Workers = Annotated[int, _in(SHARE, "--workers", min=1, max=1000, help="So many records at once.")]
FetchBytes = Annotated[int, _in(FROM, "--fetch-bytes", min=1, help="Most that one fetch gives.")]


def consume(
    context: typer.Context,
    topics: Topics,
    begin: Begin = None,
    stop: Stop = None,
    since: Since = None,
    until: Until = None,
    exit_at_end: ExitAtEnd = False,
    count: Count = None,
    idle: Idle = None,
    partitions: Partitions = None,
    is_regex: IsRegex = False,
    key: Key = None,
    value: Value = None,
    headers: Headers = None,
    isolation: IsolationLevel = Isolation.COMMITTED,
    form: Form = None,
    decode: Decode = False,
    registry: Registry = None,
    group: GroupName = None,
    commit: Commit = True,
    commit_interval: CommitInterval = 5_000,
    share: Share = None,
    settle: Settle = None,
    accepts: Accepts = False,
    releases: Releases = False,
    rejects: Rejects = False,
    renews: Renews = False,
    retry_in: RetryIn = None,
    command: Exec = None,
    workers: Workers = 1,
    fetch_bytes: FetchBytes = 1 << 20,
) -> None:
    """Read records, from and up to wherever you like.

    Without an end (--exit, --to, --until, --count, --idle) it goes on until Ctrl-C.
    With --http, and no --bootstrap, one topic is read by the HTTP door alone.
    Format strings are those of kcat and rpk; docs/cli.md lists the letters."""
    at = session(context)
    write = _decoding(at, _writer(at, form), registry) if decode else _writer(at, form)
    if over_http.is_meant(context) and share is None:
        _consume_over_http(context, write)
        return
    if share is not None:
        settling = _settling(settle, accepts, releases, rejects, renews)
        shared = ShareWork(at.profile, topics, share, settling, command, workers, write, count, idle)
        _work(context, shared, retry_in)
        return
    begin, stop = _bound(begin, since, "--from", "--since"), _bound(stop, until, "--to", "--until")
    if group is not None and (partitions or stop is not None or begin not in (None, "earliest", "latest")):
        raise UsageMistake(*GROUP_DECIDES)
    chosen = Filter(pattern(key), pattern(value), tuple(_wanted(each) for each in headers or ()))
    options = _options(isolation, fetch_bytes, begin)
    # A bar beside records on the same terminal would only be in the way.
    with progress("read", draws=not sys.stdout.isatty()) as shown:
        reading = _reading(at, write, chosen, shown, count, idle, topics)
        work = _Work(at, topics, is_regex, options, reading, exit_at_end, isolation is Isolation.COMMITTED)
        if group is not None:
            options |= {"group_id": group, "enable_auto_commit": commit, "auto_commit_interval_ms": commit_interval}
            run(work.as_member(), waits=False)
        else:
            run(work.alone(partitions or (), begin or "earliest", stop), waits=False)
    if not reading.shown:
        _nothing_note(at, chosen)


def _reading(
    at: Session,
    write: Callable[[Record], None],
    chosen: Filter,
    shown: Progress,
    count: int | None,
    idle_s: float | None,
    topics: Sequence[str],
) -> Reading:
    return Reading(
        write,
        chosen,
        shown,
        count,
        idle_s=idle_s,
        on_end=_waiting_note(at, topics),
        on_lost=lambda: at.output.note(f"the broker at {at.profile.bootstrap} has gone; trying again"),
        timeout_s=at.profile.timeout_s,
    )


def _nothing_note(at: Session, chosen: Filter) -> None:
    if at.output.is_for_people and sys.stderr.isatty():
        at.output.note("no records" if chosen == Filter() else "no record matches")


OVER_HTTP = (
    *("topics", "begin", "exit_at_end", "count", "idle", "partitions", "key", "value", "headers", "form"),
    *("group", "commit", "commit_interval", "fetch_bytes", "decode", "registry"),
)


def _consume_over_http(context: typer.Context, write: Callable[[Record], None]) -> None:
    over_http.refuse_others(context, OVER_HTTP, "leave it out, or read by Kafka's protocol with --bootstrap")
    given = context.params
    if len(given["topics"]) > 1:
        raise UsageMistake("over HTTP one topic is read at a time", "name one, or read by --bootstrap")
    headers = tuple(_wanted(each) for each in given["headers"] or ())
    wanted = over_http.HttpReading(
        given["topics"][0],
        write,
        Filter(pattern(given["key"]), pattern(given["value"]), headers),
        given["group"],
        given["partitions"] or (),
        given["begin"],
        given["fetch_bytes"],
        given["count"],
        given["idle"],
        given["exit_at_end"],
        given["commit_interval"] / 1000 if given["commit"] else None,
    )
    if wanted.begin is not None and not (wanted.begin in ("earliest", "latest") or wanted.begin.isdecimal()):
        raise UsageMistake(f"--from cannot be {wanted.begin!r} over HTTP", "earliest, latest or an offset")
    if wanted.group is not None and (wanted.partitions or (wanted.begin or "").isdecimal()):
        raise UsageMistake(*GROUP_DECIDES)
    with over_http.rest_door(session(context)) as door:
        over_http.HttpConsumer(door, wanted).run()


def _options(isolation: Isolation, fetch_bytes: int, begin: str | None) -> dict[str, Any]:
    return {
        "isolation_level": isolation.value,
        "max_partition_fetch_bytes": fetch_bytes,
        "fetch_max_bytes": max(fetch_bytes, 1 << 20),
        "auto_offset_reset": begin if begin in ("earliest", "latest") else "earliest",
    }


def _work(context: typer.Context, shared: ShareWork, retry_in: str | None) -> None:
    _check_alone(context)
    at = session(context)
    shared.delay_s = None if retry_in is None else duration_ms(retry_in) / 1000
    run(shared.work(), waits=False)
    if shared.command is not None and at.output.is_for_people:
        at.output.note(", ".join(f"{number} {what}" for what, number in shared.handled.items()) or "no records")


def _settling(settle: Settling | None, *flags: bool) -> Settling:
    given = [each for each, is_given in zip(Settling, flags, strict=True) if is_given] + ([settle] if settle else [])
    if len(set(given)) > 1:
        raise UsageMistake(
            f"--{given[0]} and --{given[1]} exclude each other", "each record is settled in one way; --exec decides it"
        )
    return given[0] if given else Settling.ACCEPT


def _check_alone(context: typer.Context) -> None:
    """A share group decides what is read, and remembers what was."""
    allowed = {"topics", "share", "settle", "accepts", "releases", "rejects", "renews", "retry_in"}
    allowed |= {"command", "workers", "form", "decode", "registry", "count", "idle"}
    sources = {name: context.get_parameter_source(name) for name in context.params if name not in allowed}
    wrong = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    options = {each.name: each.opts[0] for each in context.command.params}
    if wrong:
        raise UsageMistake(
            f"--share and {options[wrong[0]]} exclude each other",
            "a share group decides that itself: see 'tidegate share reset GROUP --to WHERE'; --count or --idle ends it",
        )


def _bound(where: str | None, moment: str | None, option: str, short: str) -> str | None:
    if moment is None:
        return where
    if where is not None:
        raise UsageMistake(f"{option} and {short} exclude each other", "give one of them")
    return f"@{moment}"


def _waiting_note(at: Session, topics: Sequence[str]) -> Callable[[], None] | None:
    """Whoever looks at a terminal is told why nothing comes."""
    if not (sys.stdout.isatty() and sys.stderr.isatty() and at.output.is_for_people):
        return None
    return lambda: at.output.note(f"(that is all of {', '.join(topics)} now; waiting for more, Ctrl-C ends)")


def _wanted(text: str) -> tuple[str, bytes | None]:
    name, equals, value = text.partition("=")
    return name, as_given(value) if equals else None


def _writer(at: Session, form: str | None) -> Callable[[Record], None]:
    if form is None and not at.output.is_for_people:
        return lambda record: at.output.one(as_data(record))
    written = compile_format(r"%v\n" if form is None else form)
    out = sys.stdout.buffer
    if form is None and sys.stdout.isatty():
        # What a stranger has sent must not steer the terminal.
        return lambda record: _shown(out, written(record))
    return lambda record: _write(out, written(record))


def _decoding(at: Session, write: Callable[[Record], None], registry: str | None) -> Callable[[Record], None]:
    from tools.cli.framing import Schemas, decoding
    from tools.cli.schema_door import registry_of

    return decoding(Schemas(registry_of(at.profile, registry)), write)


def _shown(out: Any, data: bytes) -> None:
    _write(out, printable(data.decode("utf-8", "backslashreplace"), keeps_lines=True).encode())


def _write(out: Any, data: bytes) -> None:
    out.write(data)


@frozen
class _Work:
    """What is to be read, and how."""

    at: Session
    topics: Sequence[str]
    is_regex: bool
    options: Mapping[str, Any]
    reading: Reading
    exit_at_end: bool
    is_committed: bool

    async def alone(self, partitions: Sequence[int], begin: str, stop: str | None) -> None:
        """Read partitions without a group."""
        from aiokafka import AIOKafkaConsumer, TopicPartition

        profile = self.at.profile
        with waiting("looking up offsets"):
            async with connected(profile) as kafka:
                topics = await self._names(kafka)
                found = await bounds(kafka, topics, committed=self.is_committed)
                wanted = {place: each for place, each in found.items() if not partitions or place[1] in partitions}
                if not wanted or any(all(place[1] != each for place in wanted) for each in partitions):
                    missing = ", ".join(map(str, partitions))
                    raise UsageMistake(
                        f"{', '.join(topics)}: no partition {missing}", "see 'tidegate topic describe TOPIC'"
                    )
                starts = await _places(self.at, kafka, wanted, begin, "--from")
                if stop is not None or self.exit_at_end:
                    self.reading.stops = await _places(self.at, kafka, wanted, stop or "latest", "--to")
        set_out(self.reading, starts)
        async with reaching(profile):
            consumer = AIOKafkaConsumer(**client_options(profile), **self.options)
            self.reading.answers.listen(consumer._client)
            try:
                await consumer.start()
                consumer.assign([TopicPartition(*place) for place in wanted])
                for place, offset in starts.items():
                    consumer.seek(TopicPartition(*place), offset)
                await read(consumer, self.reading)
            finally:
                await _stop(consumer, profile.timeout_s)

    async def as_member(self) -> None:
        """Read as a member of a group."""
        from aiokafka import AIOKafkaConsumer

        profile = self.at.profile
        async with connected(profile) as kafka, reaching(profile):
            topics = await self._names(kafka)
            consumer = AIOKafkaConsumer(*topics, **client_options(profile), **self.options)
            answers = self.reading.answers
            answers.listen(consumer._client)
            stop_s = STOP_S
            try:
                with waiting("joining the group"):
                    what = f"group {self.options['group_id']!r} has not taken us in"
                    await answers.within(profile.timeout_s, consumer.start(), what)
                    if self.exit_at_end:
                        await joined(consumer, profile.timeout_s)
                        places = {(each.topic, each.partition): LATEST for each in consumer.assignment()}
                        self.reading.stops = await list_offsets(kafka, places, committed=self.is_committed)
                await read(consumer, self.reading)
                stop_s = profile.timeout_s
            finally:
                is_over = await _stop(consumer, stop_s)
        if not is_over and self.options["enable_auto_commit"]:
            raise answers.given_up("the last offsets were not kept", profile.timeout_s)

    async def _names(self, kafka: Any) -> list[str]:
        """The topics that are meant, all of which are there."""
        if not self.is_regex:
            names = list(dict.fromkeys(self.topics))
            await kafka.topics(names)
            return names
        try:
            patterns = [re.compile(each) for each in self.topics]
        except re.error as error:
            raise UsageMistake(f"{error.pattern!r} is no regular expression: {error}", "quote it") from None
        known = [topic.name or "" for topic in (await kafka.metadata()).topics if not topic.is_internal]
        found = sorted(name for name in known if any(each.fullmatch(name) for each in patterns))
        if not found:
            raise NotFound(f"no topic matches {', '.join(self.topics)}", "'tidegate topic list' shows those there are")
        return found


async def _stop(consumer: Any, patience_s: float) -> bool:
    # A task of aiokafka's that is cancelled before its first step makes stop() fail: let them all begin.
    await asyncio.sleep(0)
    return await stopped(consumer._client, consumer.stop(), patience_s)


async def _places(
    at: Session, kafka: Any, found: Mapping[Place, tuple[int, int]], where: str, option: str
) -> dict[Place, int]:
    """The offset of each partition that is meant."""
    if where in ("earliest", "latest"):
        return {place: each[0 if where == "earliest" else 1] for place, each in found.items()}
    if where.startswith("@"):
        times = await at_time(kafka, found, moment_ms(where[1:], at.now_ms()))
        # Nobody reads committed records beyond the first open transaction: that is the end, then.
        return {place: min(offset, found[place][1]) for place, offset in times.items()}
    if where.startswith("-") and where[1:].isdecimal() and option == "--from":
        return {place: max(each[0], each[1] - int(where[1:])) for place, each in found.items()}
    if where.isdecimal():
        return {place: max(int(where), each[0]) for place, each in found.items()}
    raise UsageMistake(f"{option} cannot be {where!r}", "earliest, latest, an offset, -N, or @ and a time like @-1h")
