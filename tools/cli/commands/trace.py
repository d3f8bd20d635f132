"""`tidegate trace`: what happened to a record, step by step; and a search among the records that were traced."""

import re
from typing import Annotated, Any

import typer

from engine.trace.kinds import Outcome
from engine.trace.timeline import place_text
from tools.cli.completion import group_names, topic_names
from tools.cli.door import opened
from tools.cli.errors import UsageMistake
from tools.cli.framework import command, group, session
from tools.cli.output import Column, Output, plain
from tools.cli.times import duration_ms, moment_ms

app = group("Timelines of records.")
_TRACE_ID = re.compile("[0-9a-f]{32}")


def _us(value: Any) -> str:
    if value is None:
        return "-"
    if abs(value) < 1_000:
        return f"{value} us"
    return f"{value / 1_000:.1f} ms" if abs(value) < 1_000_000 else f"{value / 1_000_000:.3f} s"


def _details(value: Any) -> str:
    return " ".join(f"{name}={plain(each)}" for name, each in (value or {}).items())


LIST = (
    Column("start", "begun (UTC)", lambda value: str(value)[:23].replace("T", " ")),
    Column("topic"),
    Column("partition", right=True),
    Column("offset", right=True),
    Column("key"),
    Column("status"),
    Column("duration_us", "took", _us, right=True),
    Column("groups"),
    Column("trace_id", "trace"),
)
STEPS = (
    Column("time", "time (UTC)", lambda value: str(value)[11:-1]),
    Column("gap_us", "gap", lambda value: f"+{_us(value)}", right=True),
    Column("since_start_us", "since start", _us, right=True),
    Column("event", "step"),
    Column("attributes", "details", _details),
)


@command(
    app,
    "search",
    examples=(
        "tidegate trace search --topic orders",
        "tidegate trace search --topic orders --key table-4 --slower-than 1s",
        "tidegate trace search --since -10m --status committed -o json",
    ),
)
def search(
    context: typer.Context,
    topic: Annotated[
        str | None, typer.Option("--topic", "-t", help="Of this topic.", autocompletion=topic_names)
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", "-p", min=0, help="Of this partition.")] = None,
    offset: Annotated[int | None, typer.Option("--offset", min=0, help="At this offset.")] = None,
    key: Annotated[str | None, typer.Option("--key", "-k", help="With this key.")] = None,
    group_id: Annotated[
        str | None, typer.Option("--group", "-g", help="Read by this group.", autocompletion=group_names)
    ] = None,
    status: Annotated[Outcome | None, typer.Option("--status", help="How far the record has come.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Begun then or later.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Begun before then.")] = None,
    slower: Annotated[str | None, typer.Option("--slower-than", metavar="SPAN", help="Took at least so long.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1_000, help="How many at most.")] = 50,
) -> None:
    """Traced records, newest first. A record with a sampled traceparent header is traced, and so are some others."""
    at = session(context)
    now_ms = at.now_ms()
    query = {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "key": key,
        "group": group_id,
        "status": None if status is None else status.value,
        "since_ms": None if since is None else moment_ms(since, now_ms),
        "until_ms": None if until is None else moment_ms(until, now_ms),
        "min_duration_ms": None if slower is None else duration_ms(slower),
        "limit": limit,
    }
    with opened(at.profile) as door:
        page = door.read("traces", "search", query=query)
    at.output.rows(page["items"], LIST, empty="no traced record matches; 'tidegate produce TOPIC --trace' makes one")
    if at.output.is_for_people and page["total"] > len(page["items"]):
        at.output.note(f"{len(page['items'])} of {page['total']}; --limit shows more")


@command(
    app,
    "show",
    examples=(
        "tidegate trace show 4bf92f3577b34da6a3ce929d0e0e4736",
        "tidegate trace show orders/0/17",
    ),
)
def show(
    context: typer.Context,
    which: Annotated[str, typer.Argument(metavar="TRACE|TOPIC/PARTITION/OFFSET", help="A trace's id, or a record.")],
) -> None:
    """The timeline of a trace, or of the record at a place: each step, and the time between."""
    at = session(context)
    with opened(at.profile) as door:
        if _TRACE_ID.fullmatch(which):
            found = list(door.read_all("traces", which))
        else:
            found = [door.read("traces", "at", *_record_place(which))]
    if not at.output.is_for_people:
        at.output.value(found)
        return
    for number, each in enumerate(found):
        _tell(at.output, each, is_first=number == 0)


def _record_place(text: str) -> tuple[str, str, str]:
    parts = text.split("/")
    if len(parts) != 3 or not (parts[1].isdecimal() and parts[2].isdecimal()):
        hint = "give 32 hexadecimal digits, or TOPIC/PARTITION/OFFSET like orders/0/17"
        raise UsageMistake(f"{text!r} is neither a trace nor a record", hint)
    return parts[0], parts[1], parts[2]


def _tell(output: Output, found: dict[str, Any], *, is_first: bool) -> None:
    place = place_text(found["offset"], found["status"]) if found["offset"] is None else f"at offset {found['offset']}"
    record = f"{found['topic']}-{found['partition']} {place}"
    if not is_first:
        output.heading("\n")
    output.heading(f"trace {found['trace_id']}: {record}, {found['status']} after {_us(found['duration_us'])}\n")
    output.rows(found["steps"], STEPS)
    if found["dropped_events"]:
        output.note(f"{found['dropped_events']} later events were not kept")
