"""`tidegate pending`: records that wait for their time; looked at, cancelled, moved, released now, and their fate."""

from typing import Annotated, Any

import typer

from tidegate.admin import DelayedRecord, PendingRecord
from tidegate.remote_admin import PAGE
from tools.cli.asked import PRIORITIES
from tools.cli.completion import topic_names
from tools.cli.door import Door, opened
from tools.cli.errors import NotFound, UsageMistake
from tools.cli.formats import field_of
from tools.cli.framework import command, group, session
from tools.cli.output import Column, Output, size_text, text_of
from tools.cli.times import away_text, duration_ms, moment_ms, moment_text, span_text

app = group("Delayed records: list, look at, cancel, move, release now.")

Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name.", autocompletion=topic_names)]
Id = Annotated[str, typer.Argument(metavar="ID", help="A schedule id, or # and a number, as listed.")]
Partition = Annotated[int | None, typer.Option("--partition", "-p", min=0, help="If several know the id.")]
BAR = 40


def _row(topic: str, record: PendingRecord, now_ms: int) -> dict[str, Any]:
    return {
        "topic": topic,
        "partition": record.partition,
        "id": record.id,
        "state": record.state,
        "due_ms": record.due_ms,
        "due_in_ms": record.due_ms - now_ms,
        "created_ms": record.created_ms,
        "expires_ms": record.expires_ms,
        "ttl_ms": record.ttl_ms,
        "priority": PRIORITIES[record.lane],
        "size_bytes": record.size_bytes,
        **field_of("key", record.key),
        "headers": [{"name": each.name, **field_of("value", each.value)} for each in record.headers],
    }


LIST = (
    Column("partition", right=True),
    Column("id"),
    Column("due_ms", "due (UTC)", moment_text),
    Column("due_in_ms", "in", span_text, right=True),
    Column("priority"),
    Column("state"),
    Column("key"),
    Column("size_bytes", "size", size_text, right=True),
)


@command(
    app,
    "list",
    examples=(
        "tidegate pending list",
        "tidegate pending list reminders",
        "tidegate pending list reminders --until +1h --limit 20 -o json",
    ),
)
def list_records(
    context: typer.Context,
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="Of this topic; else of all.", autocompletion=topic_names)
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", "-p", min=0, help="Of this one.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Due then or later.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Due before then.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 100,
    as_they_came: Annotated[bool, typer.Option("--as-they-came", help="Not by due time.")] = False,
) -> None:
    """List records that wait; those that are due first are at the top."""
    at = session(context)
    now_ms = at.now_ms()
    wanted: dict[str, Any] = {
        "order": "number" if as_they_came else "due",
        "partition": partition,
        "due_from_ms": None if since is None else moment_ms(since, now_ms),
        "due_until_ms": None if until is None else moment_ms(until, now_ms),
    }
    with opened(at.profile) as door:
        names = _waiting_topics(door, at.output) if topic is None else [topic]
        found = [_of_topic(door, name, limit, wanted, now_ms) for name in names]
    rows = [row for some, _ in found for row in some]
    if not as_they_came:
        rows.sort(key=lambda row: row["due_ms"])
    total, rows = sum(each for _, each in found), rows[:limit]
    columns = LIST if topic is not None else (Column("topic"), *LIST)
    at.output.rows(rows, columns, empty=f"nothing waits in {topic}" if topic is not None else "nothing waits")
    if at.output.is_for_people and total > len(rows):
        at.output.note(f"{len(rows)} of {total}; --limit shows more")


def _waiting_topics(door: Door, output: Output) -> list[str]:
    """The topics in which something waits for its time, whichever nodes lead their partitions."""
    report = door.delay_statistics()
    door.warn_of_missing(output)
    return [each.topic for each in report.topics if each.topic is not None and each.pending]


def _of_topic(
    door: Door, topic: str, limit: int, wanted: dict[str, Any], now_ms: int
) -> tuple[list[dict[str, Any]], int]:
    """The first records of a topic, and how many there are."""
    rows: list[dict[str, Any]] = []
    skip: int | None = 0
    total = 0
    while skip is not None and len(rows) < limit:
        page = door.list_pending(topic, limit=min(limit - len(rows), PAGE), skip=skip, **wanted)
        rows += [_row(topic, record, now_ms) for record in page.records]
        skip, total = page.next_skip, page.total
    return rows, total


@command(
    app,
    "histogram",
    examples=("tidegate pending histogram reminders", "tidegate pending histogram reminders --partition 0 -o json"),
)
def histogram(
    context: typer.Context,
    topic: Topic,
    partition: Annotated[int | None, typer.Option("--partition", "-p", min=0, help="Of this one.")] = None,
) -> None:
    """How many records are due when."""
    at = session(context)
    now_ms = at.now_ms()
    with opened(at.profile) as door:
        buckets = door.histogram(topic, None, partition)
    most = max((each.records for each in buckets), default=0) or 1
    rows = [
        {
            "from_ms": each.from_ms,
            "until_ms": each.until_ms,
            "records": each.records,
            "due": _span(each.from_ms, each.until_ms, now_ms),
            "bar": "█" * round(each.records * BAR / most),
        }
        for each in buckets
    ]
    if at.output.is_for_people:
        at.output.rows(rows, (Column("due"), Column("records", right=True), Column("bar", "")))
    else:
        at.output.value([{name: row[name] for name in ("from_ms", "until_ms", "records")} for row in rows])


def _span(from_ms: int | None, until_ms: int | None, now_ms: int) -> str:
    if from_ms is None:
        return "overdue" if until_ms is None or until_ms <= now_ms + 1_000 else f"until {away_text(until_ms, now_ms)}"
    begins = "now" if abs(from_ms - now_ms) < 1_000 else away_text(_rounded(from_ms, now_ms), now_ms)
    return (
        f"after {begins.removeprefix('in ')}"
        if until_ms is None
        else (f"{begins.removeprefix('in ')} to {away_text(_rounded(until_ms, now_ms), now_ms).removeprefix('in ')}")
    )


def _rounded(time_ms: int, now_ms: int) -> int:
    """The broker reckoned from its own now, a moment ago."""
    return now_ms + round((time_ms - now_ms) / 1_000) * 1_000


def _found(door: Door, topic: str, record_id: str, partition: int | None) -> DelayedRecord:
    """The record of this id; by its partition, else the only one that knows it."""
    if partition is not None:
        return door.look(topic, partition, record_id)
    found = door.find(topic, record_id)
    waiting = [each for each in found if each.fate == "PENDING"]
    known = waiting or list(found)
    if not known:
        raise NotFound(f"nothing is known of {record_id!r} in {topic}", f"see 'tidegate pending list {topic}'")
    if len(known) > 1:
        where = ", ".join(str(each.partition) for each in known)
        raise UsageMistake(f"several partitions know {record_id!r}: {where}", "say which by --partition")
    return known[0]


FATE = (
    Column("topic"),
    Column("partition"),
    Column("id"),
    Column("fate"),
    Column("at_ms", "at (UTC)", moment_text),
    Column("offset"),
)


def _fate(found: DelayedRecord) -> dict[str, Any]:
    return {
        "topic": found.topic,
        "partition": found.partition,
        "id": found.id,
        "fate": found.fate,
        "at_ms": found.at_ms,
        "offset": found.offset,
    }


@command(app, "show", examples=("tidegate pending show reminders call-bob", "tidegate pending show reminders '#17'"))
def show(context: typer.Context, topic: Topic, record_id: Id, partition: Partition = None) -> None:
    """One record that waits, with its headers and its value."""
    at = session(context)
    with opened(at.profile) as door:
        found = _found(door, topic, record_id, partition)
        found = door.look(topic, found.partition, record_id)
    if found.record is None:
        at.output.fields(_fate(found), FATE)
        return
    row = {**_row(topic, found.record, at.now_ms()), **field_of("value", found.value)}
    if not at.output.is_for_people:
        at.output.value(row)
        return
    row["value"] = text_of(found.value)
    row["key"] = text_of(found.record.key)
    row["headers"] = [f"{each.name}={text_of(each.value)}" for each in found.record.headers]
    columns = (
        *(
            Column("topic"),
            Column("partition"),
            Column("id"),
            Column("state"),
            Column("due_ms", "due (UTC)", moment_text),
        ),
        *(Column("due_in_ms", "in", span_text), Column("created_ms", "received", moment_text), Column("priority")),
        *(Column("expires_ms", "expires", moment_text), Column("ttl_ms", "ttl", span_text), Column("key")),
        *(Column("headers"), Column("size_bytes", "size", size_text), Column("value")),
    )
    at.output.fields(row, columns)


@command(
    app,
    "fate",
    examples=("tidegate pending fate reminders call-bob", "tidegate pending fate reminders '#17' --partition 0"),
)
def fate(context: typer.Context, topic: Topic, record_id: Id, partition: Partition = None) -> None:
    """What became of a record: pending, delivered (at which offset), cancelled, expired."""
    at = session(context)
    with opened(at.profile) as door:
        found = _found(door, topic, record_id, partition)
    at.output.fields(_fate(found), FATE)


@command(
    app,
    "cancel",
    examples=("tidegate pending cancel reminders call-bob", "tidegate pending cancel reminders '#17' --partition 0"),
)
def cancel(context: typer.Context, topic: Topic, record_id: Id, partition: Partition = None) -> None:
    """Take back a record that waits; it is never delivered."""
    at = session(context)
    with opened(at.profile) as door:
        found = _found(door, topic, record_id, partition)
        door.cancel(topic, found.partition, record_id)
    at.output.done(f"cancelled {record_id} in {topic}-{found.partition}", **_place(found), fate="CANCELLED")


@command(
    app,
    "reschedule",
    examples=(
        "tidegate pending reschedule reminders call-bob --delay 1h",
        "tidegate pending reschedule reminders call-bob --at 2026-12-24T18:00",
    ),
)
def reschedule(
    context: typer.Context,
    topic: Topic,
    record_id: Id,
    delay: Annotated[str | None, typer.Option("--delay", metavar="SPAN", help="So long from now.")] = None,
    deliver_at: Annotated[str | None, typer.Option("--at", metavar="TIME", help="At this time.")] = None,
    partition: Partition = None,
) -> None:
    """Move a record that waits to another time."""
    at = session(context)
    if (delay is None) == (deliver_at is None):
        raise UsageMistake("to when?", "give one of --delay and --at")
    with opened(at.profile) as door:
        found = _found(door, topic, record_id, partition)
        due_ms = door.reschedule(
            topic,
            found.partition,
            record_id,
            deliver_at_ms=None if deliver_at is None else moment_ms(deliver_at, at.now_ms()),
            delay_ms=None if delay is None else duration_ms(delay),
        )
    at.output.done(
        f"{record_id} in {topic}-{found.partition} is due {moment_text(due_ms)}", **_place(found), due_ms=due_ms
    )


@command(
    app, "release", examples=("tidegate pending release reminders call-bob", "tidegate pending release reminders '#17'")
)
def release(context: typer.Context, topic: Topic, record_id: Id, partition: Partition = None) -> None:
    """Deliver a waiting record now."""
    at = session(context)
    with opened(at.profile) as door:
        found = _found(door, topic, record_id, partition)
        door.release_now(topic, found.partition, record_id)
    at.output.done(f"released {record_id} in {topic}-{found.partition}", **_place(found))


def _place(found: DelayedRecord) -> dict[str, Any]:
    return {"topic": found.topic, "partition": found.partition, "id": found.id}


STATISTICS = (
    Column("topic"),
    Column("pending", right=True),
    Column("ready", "in lanes", right=True),
    Column("pending_bytes", "size", size_text, right=True),
    Column("next_due_ms", "next due (UTC)", moment_text),
    Column("released", right=True),
    Column("expired", right=True),
    Column("cancelled", right=True),
    Column("replaced", right=True),
)


@command(app, "stats", examples=("tidegate pending stats", "tidegate pending stats -o json | jq .sum.pending"))
def stats(context: typer.Context) -> None:
    """Figures of delayed records, in all and by topic, since the broker started."""
    from attrs import asdict

    at = session(context)
    with opened(at.profile) as door:
        report = door.delay_statistics()
        door.warn_of_missing(at.output)
    if not at.output.is_for_people:
        at.output.value({"sum": asdict(report.all), "topics": [asdict(each) for each in report.topics]})
        return
    rows = [asdict(each) for each in report.topics]
    at.output.rows([*rows, {**asdict(report.all), "topic": "(all)"}] if rows else [], STATISTICS)
