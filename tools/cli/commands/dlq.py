"""`tidegate dlq`: dead letters looked at, sent again, discarded; each exactly once."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from attrs import frozen

from coordinators.letters.ledger import OPEN, Ledger
from tools.cli.asked import as_given
from tools.cli.completion import group_names, topic_names
from tools.cli.dead_letters import (
    DeadLetter,
    LetterFilter,
    LetterList,
    expression,
    is_letters_topic,
    read_list,
    transform,
)
from tools.cli.errors import CliError, Exit, NotFound, UsageMistake
from tools.cli.formats import field_of
from tools.cli.framework import Session, command, confirm, group, session
from tools.cli.kafka import Kafka, run
from tools.cli.letter_reading import LetterReader, Returns, letter_reader, read_ledger, reading_letters
from tools.cli.offsets import Place, bounds
from tools.cli.output import Column, size_text, text_of
from tools.cli.progress import progress
from tools.cli.redriving import Chosen, Copying, Outcome, Pace, Settling, new_run, settling_producer
from tools.cli.settlements import make_ledger
from tools.cli.times import duration_ms, moment_ms, moment_text

app = group("Dead letters: list, look at, send again, discard.")

WHICH, HOW = "Which letters", "How they are sent"
WATCH = "5s"


def _in(panel: str, *names: str, **named: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, **named)


Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="The dead-letter topic.", autocompletion=topic_names)]
SomeTopic = Annotated[
    str | None,
    typer.Argument(metavar="[TOPIC]", help="The dead-letter topic.", autocompletion=topic_names),
]
Reason = Annotated[str | None, _in(WHICH, "--reason", metavar="REGEX", help="Why it is dead.")]
GroupName = Annotated[str | None, _in(WHICH, "--group", "-g", help="Who gave it up.", autocompletion=group_names)]
Origin = Annotated[str | None, _in(WHICH, "--origin", metavar="TOPIC", help="Where it came from.")]
Since = Annotated[str | None, _in(WHICH, "--since", metavar="TIME", help="By its timestamp: from then on.")]
Until = Annotated[str | None, _in(WHICH, "--until", metavar="TIME", help="Before then.")]
Key = Annotated[str | None, _in(WHICH, "--key", metavar="REGEX", help="Only keys in which this is found.")]
Value = Annotated[str | None, _in(WHICH, "--value", metavar="REGEX", help="Only values in which this is found.")]
Headers = Annotated[list[str] | None, _in(WHICH, "--header", metavar="NAME[=VALUE]", help="Only letters with it.")]
Count = Annotated[int | None, _in(WHICH, "--count", "-n", min=1, help="So many at most.")]
ListFile = Annotated[
    Path | None, _in(WHICH, "--list", metavar="FILE", help="Those that a list of the pipeline dead-letters names.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Tell what would be done, and do nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

TOPICS = (
    Column("topic"),
    Column("letters", right=True),
    Column("open", right=True),
    Column("settled", right=True),
)
LETTERS = (
    Column("partition", right=True),
    Column("offset", right=True),
    Column("timestamp_ms", "time (UTC)", moment_text),
    Column("reason"),
    Column("origin_topic", "from"),
    Column("group"),
    Column("deliveries", right=True),
    Column("state"),
    Column("key"),
    Column("size_bytes", "size", size_text, right=True),
)


def _filter(
    at: Session,
    *,
    reason: str | None,
    group_name: str | None,
    origin: str | None,
    since: str | None,
    until: str | None,
    key: str | None,
    value: str | None,
    headers: list[str] | None,
) -> LetterFilter:
    now_ms = at.now_ms()
    wanted = (each.partition("=") for each in headers or ())
    return LetterFilter(
        expression(reason),
        expression(key),
        expression(value),
        group_name,
        origin,
        None if since is None else moment_ms(since, now_ms),
        None if until is None else moment_ms(until, now_ms),
        tuple((name, as_given(text) if equals else None) for name, equals, text in wanted),
    )


@command(
    app,
    "list",
    examples=(
        "tidegate dlq list",
        "tidegate dlq list orders.dlq",
        "tidegate dlq list orders.dlq --reason rejected --since -1h",
        'tidegate dlq list orders.dlq --group mail --value \'"country":"(AT|DE)"\' -n 20 -o json',
        "tidegate dlq list orders.dlq --all",
    ),
)
def list_letters(
    context: typer.Context,
    topic: SomeTopic = None,
    reason: Reason = None,
    group_name: GroupName = None,
    origin: Origin = None,
    since: Since = None,
    until: Until = None,
    key: Key = None,
    value: Value = None,
    headers: Headers = None,
    count: Count = 100,
    everything: Annotated[bool, _in(WHICH, "--all", help="Those that were sent again or discarded, too.")] = False,
) -> None:
    """List dead-letter topics; or the letters of one that nobody has dealt with."""
    at = session(context)
    if topic is None:
        at.output.rows(run(_topics(at)), TOPICS, empty="no dead letters: no topic is named like orders.dlq")
        return
    chosen = _filter(
        at,
        reason=reason,
        group_name=group_name,
        origin=origin,
        since=since,
        until=until,
        key=key,
        value=value,
        headers=headers,
    )

    async def work() -> list[dict[str, Any]]:
        rows = list[dict[str, Any]]()
        async with reading_letters(at.profile) as (kafka, reader):
            async for letter, state in _all_letters(kafka, reader, topic):
                if (everything or state == OPEN) and chosen.takes(letter):
                    rows.append(letter.as_row(state))
                    if len(rows) == count:
                        break
        return sorted(rows, key=lambda row: (row["timestamp_ms"], row["partition"], row["offset"]))

    rows = run(work())
    at.output.rows(rows, LETTERS, empty=f"no such letters in {topic}")
    if at.output.is_for_people and len(rows) == count:
        at.output.note(f"the first {count}; --count shows more")


async def _topics(at: Session) -> list[dict[str, Any]]:
    rows = list[dict[str, Any]]()
    async with reading_letters(at.profile) as (kafka, reader):
        for name in sorted(each.name or "" for each in (await kafka.metadata()).topics):
            if is_letters_topic(name):
                ledger, found = await read_ledger(kafka, reader, name), await bounds(kafka, [name], committed=True)
                letters = sum(end - start for start, end in found.values())
                settled = sum(ledger.partitions[place[1]].count(*each) for place, each in found.items())
                rows.append({"topic": name, "letters": letters, "open": letters - settled, "settled": settled})
    return rows


async def _all_letters(kafka: Kafka, reader: LetterReader, topic: str) -> AsyncIterator[tuple[DeadLetter, str]]:
    """The letters of a topic, and what became of each."""
    ledger, found = await read_ledger(kafka, reader, topic), await bounds(kafka, [topic], committed=True)
    starts, stops = ({place: each[index] for place, each in found.items()} for index in (0, 1))
    async for records in reader.between(starts, stops):
        for record in records:
            yield DeadLetter(record), ledger.partitions[record.partition].state(record.offset)


@command(app, "show", examples=("tidegate dlq show orders.dlq 17", "tidegate dlq show orders.dlq 2:17 -o json"))
def show(
    context: typer.Context,
    topic: Topic,
    place: Annotated[str, typer.Argument(metavar="[PARTITION:]OFFSET", help="As listed.")],
) -> None:
    """One letter, with all its headers and its value."""
    at = session(context)
    partition, _, offset = place.rpartition(":")
    if not (offset.isdecimal() and (partition or "0").isdecimal()):
        raise UsageMistake(f"{place!r} is no place of a letter", "write it like 17, or 2:17 for partition 2")
    wanted = (topic, int(partition or "0"))

    async def work() -> tuple[DeadLetter, str]:
        async with reading_letters(at.profile) as (kafka, reader):
            ledger, found = await read_ledger(kafka, reader, topic), await bounds(kafka, [topic], committed=True)
            start, end = found.get(wanted, (0, 0))
            if start <= int(offset) < end:
                async for records in reader.between({wanted: int(offset)}, {wanted: int(offset) + 1}):
                    for record in records:
                        return DeadLetter(record), ledger.partitions[wanted[1]].state(record.offset)
        raise NotFound(f"no letter {place} in {topic}", f"see 'tidegate dlq list {topic} --all'")

    letter, state = run(work())
    record = letter.record
    row = {**letter.as_row(state), "message": letter.told("message")}
    if not at.output.is_for_people:
        told = [{"name": name, **field_of("value", value)} for name, value in record.headers]
        at.output.value({**row, "headers": told, **field_of("value", record.value)})
        return
    row |= {"key": text_of(record.key), "value": text_of(record.value)}
    names = ("topic", "partition", "offset", "state", "reason", "origin_topic", "origin_partition", "origin_offset")
    columns = [Column("timestamp_ms", "time (UTC)", moment_text), *map(Column, (*names, "group", "deliveries", "key"))]
    for number, (name, value) in enumerate(record.headers):
        row[f"header {number}"] = text_of(value)
        columns.append(Column(f"header {number}", f"  {name}"))
    at.output.fields(row, [*columns, Column("value")])


@frozen
class _Work:
    """What a redrive or a discard was asked for."""

    at: Session
    filter: LetterFilter
    letters: LetterList | None
    count: int | None
    copying: Copying | None
    dry_run: bool
    rate: float | None = None
    watch_s: float | None = None
    """How long to look for what comes back; None: not at all."""

    def topics(self, topic: str | None) -> list[str]:
        """The dead-letter topics that are meant."""
        if self.letters is None:
            if topic is None:
                raise UsageMistake("which letters?", "name a dead-letter topic, or give --list FILE")
            return [topic]
        named = list(self.letters.topics)
        if topic is not None and topic not in named:
            raise UsageMistake(f"the list names no letters of {topic}", f"it names those of {', '.join(named)}")
        return named if topic is None else [topic]

    async def settle(self, topic: str, run_name: str) -> Outcome:
        """Deal with the letters of one topic."""
        outcome = Outcome(topic, run_name)
        chosen = Chosen(self.filter, None if self.letters is None else self.letters.of(topic), self.count)
        profile = self.at.profile
        async with AsyncExitStack() as stack:
            kafka, reader = await stack.enter_async_context(reading_letters(profile))
            aside = await stack.enter_async_context(letter_reader(profile))
            await kafka.topic(topic)
            settling = Settling(kafka, reader, chosen, outcome, self.copying, pace=Pace(self.rate))
            if not self.dry_run:
                await make_ledger(kafka, topic)
                settling.producer = await stack.enter_async_context(settling_producer(profile, topic, settling.answers))
                if self.watch_s is not None:
                    settling.returns = Returns(kafka, aside, run_name, _may_return_to(topic, settling, self.copying))
                    await settling.returns.begin()
            ledger: Ledger = await read_ledger(kafka, reader, topic)
            found: Mapping[Place, tuple[int, int]] = await bounds(kafka, [topic], committed=True)
            with progress("letters") as shown:
                await settling.run(ledger, found, aside, shown)
            if settling.returns is not None and outcome.settled and not outcome.is_stopped:
                outcome.returned = await settling.returns.look_for(self.watch_s or 0.0)
        return outcome

    def tell(self, outcomes: list[Outcome], happened: str) -> None:
        """What was done; an error where letters came back, or stay though they were meant."""
        output = self.at.output
        facts = [each.as_data() for each in outcomes]
        if not output.is_for_people:
            output.value({"dry_run": self.dry_run, "settled": sum(each.settled for each in outcomes), "topics": facts})
        for each, data in zip(outcomes, facts, strict=True) if output.is_for_people else ():
            if data["by_target"] and self.copying is not None:
                output.rows(data["by_target"], (Column("letters", right=True), Column("to"), Column("reason")))
            before = f"; {each.before} were dealt with before" if each.before else ""
            would = "would be " if self.dry_run else ""
            output.heading(f"{each.settled} letters of {each.topic} {would}{happened}{before}")
            for why, count in sorted(each.left.items()):
                output.note(f"{count} letters of {each.topic} stay: {why}")
        if returned := sum(each.returned for each in outcomes):
            raise CliError(f"{returned} letters came back dead", "see why in 'tidegate dlq list TOPIC'", Exit.FAILED)
        if left := sum(sum(each.left.values()) for each in outcomes):
            raise CliError(f"{left} letters could not be sent", "--to names another topic for them", Exit.FAILED)


def _may_return_to(topic: str, settling: Settling, copying: Copying | None) -> set[str]:
    """Where what was sent dies, if it does: here, or beside the topic that it was sent to."""
    listed = {each.to for each in (settling.chosen.listed or {}).values()}
    targets = {copying.to if copying is not None else None} | listed
    return {topic} | {f"{each}.dlq" for each in targets if each is not None}


@command(
    app,
    "redrive",
    examples=(
        "tidegate dlq redrive orders.dlq --dry-run",
        "tidegate dlq redrive orders.dlq --reason rejected --since -1d",
        "tidegate dlq redrive orders.dlq --rate 50 --stop-on-return",
        "tidegate dlq redrive orders.dlq --key '^table-7$' --to orders-again",
        "tidegate dlq redrive orders.dlq --transform attempt=2 --transform -x-debug",
        "tidegate dlq redrive --list reports/letters/redrive.jsonl",
    ),
)
def redrive(
    context: typer.Context,
    topic: SomeTopic = None,
    reason: Reason = None,
    group_name: GroupName = None,
    origin: Origin = None,
    since: Since = None,
    until: Until = None,
    key: Key = None,
    value: Value = None,
    headers: Headers = None,
    count: Count = None,
    list_file: ListFile = None,
    to: Annotated[str | None, _in(HOW, "--to", metavar="TOPIC", help="Else each goes where it came from.")] = None,
    changes: Annotated[
        list[str] | None,
        _in(HOW, "--transform", metavar="NAME=VALUE|-NAME", help="Set a header, or remove it; may be repeated."),
    ] = None,
    keep_time: Annotated[bool, _in(HOW, "--keep-time", help="The letter's timestamp; else it is now.")] = False,
    rate: Annotated[float | None, _in(HOW, "--rate", min=0.001, help="So many a second at most.")] = None,
    stop_on_return: Annotated[
        bool, _in(HOW, "--stop-on-return", help="End when something that was sent is dead again.")
    ] = False,
    watch: Annotated[
        str, _in(HOW, "--watch", metavar="SPAN", help="How long to look for that after the last.")
    ] = WATCH,
    dry_run: DryRun = False,
) -> None:
    """Send letters back to where they came from, each exactly once.

    Letters that were sent or discarded before are left out, whatever the filter says: the same command goes on where an
    earlier one ended or was killed. Whoever reads them must read committed records."""
    at = session(context)
    chosen = _filter(
        at,
        reason=reason,
        group_name=group_name,
        origin=origin,
        since=since,
        until=until,
        key=key,
        value=value,
        headers=headers,
    )
    work = _Work(
        at,
        chosen,
        None if list_file is None else read_list(list_file),
        count,
        Copying(to, transform(changes or ()), keep_time),
        dry_run,
        rate,
        duration_ms(watch) / 1_000 if stop_on_return else None,
    )
    run_name = new_run()

    async def settle() -> list[Outcome]:
        outcomes = list[Outcome]()
        for each in work.topics(topic):
            outcomes.append(await work.settle(each, run_name))
            if outcomes[-1].returned:
                break
        return outcomes

    work.tell(run(settle(), waits=False), "sent again")


@command(
    app,
    "discard",
    examples=(
        "tidegate dlq discard orders.dlq --reason expired --until -7d",
        "tidegate dlq discard orders.dlq --header source=test --yes",
        "tidegate dlq discard --list reports/letters/redrive.jsonl --dry-run",
    ),
)
def discard(
    context: typer.Context,
    topic: SomeTopic = None,
    reason: Reason = None,
    group_name: GroupName = None,
    origin: Origin = None,
    since: Since = None,
    until: Until = None,
    key: Key = None,
    value: Value = None,
    headers: Headers = None,
    count: Count = None,
    list_file: ListFile = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Mark letters as dealt with: they are neither listed nor sent again.

    They stay in the topic until its retention takes them; 'tidegate topic purge TOPIC' deletes them."""
    at = session(context)
    chosen = _filter(
        at,
        reason=reason,
        group_name=group_name,
        origin=origin,
        since=since,
        until=until,
        key=key,
        value=value,
        headers=headers,
    )
    letters = None if list_file is None else read_list(list_file)
    work = _Work(at, chosen, letters, count, None, dry_run)
    topics = work.topics(topic)
    if not dry_run:
        confirm(f"Discard letters of {', '.join(topics)}?", yes=yes)

    async def settle() -> list[Outcome]:
        run_name = new_run()
        return [await work.settle(each, run_name) for each in topics]

    work.tell(run(settle(), waits=False), "discarded")
