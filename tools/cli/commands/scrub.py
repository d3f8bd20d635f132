"""`tidegate scrub`: whether what a running broker has on disk is sound."""

import time
from typing import Annotated, Any

import typer

from tools.cli.door import Door, opened
from tools.cli.errors import CannotReach, Exit
from tools.cli.framework import session
from tools.cli.output import Column, Output, size_text
from tools.cli.times import moment_text

POLL_S = 0.5
EXAMPLES = ("tidegate scrub", "tidegate scrub --start --wait", "tidegate scrub -o json | jq .damages.items")
DAMAGES = (
    Column("topic"),
    Column("partition", right=True),
    Column("offset", right=True),
    Column("file"),
    Column("position", "byte", right=True),
    Column("problem"),
    Column("found_ms", "found (UTC)", moment_text),
)


def scrub(
    context: typer.Context,
    start: Annotated[bool, typer.Option("--start", help="Look at everything now, at the usual pace.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until everything was looked at.")] = False,
) -> None:
    """What is known to be damaged on a broker's disk, and when everything was last checked.

    A broker reads all its files again from time to time (log.scrub.*): logs, stages, journal, catalogue. Nothing is
    mended or removed. Ends with status 1 if something is damaged. For a stopped broker: 'tidegate log verify DIR'."""
    at = session(context)
    with opened(at.profile) as door:
        before = _read(door)
        is_under_way = before["running"] or start
        if start:
            door.start_scrub()
        found = _read(door)
        deadline = time.monotonic() + at.profile.timeout_s
        while wait and is_under_way and found["passes"] == before["passes"]:
            if time.monotonic() > deadline:
                raise CannotReach("not everything was looked at within --timeout", "it goes on; ask again later")
            time.sleep(POLL_S)
            found = _read(door)
    if at.output.is_for_people:
        _tell(at.output, found)
    else:
        at.output.value(found)
    if found["damages"]["total"]:
        raise typer.Exit(Exit.FAILED)


def _read(door: Door) -> dict[str, Any]:
    return door.read("scrub", query={"limit": 1000})


def _tell(out: Output, found: dict[str, Any]) -> None:
    done = moment_text(found["completed_ms"]) if found["completed_ms"] else "never yet"
    now = f"; being read now, {size_text(found['pass_bytes'])} so far" if found["running"] else ""
    out.heading(f"everything was last read {done}{now}, at most {size_text(found['rate_bytes'])} a second")
    out.rows(found["damages"]["items"], DAMAGES, empty="nothing is known to be damaged")
