"""`tidegate priority show`: the lanes of prioritised partitions, what waits in each and how fast it goes."""

from typing import Annotated, Any

import typer
from attrs import asdict

from tidegate.admin import PriorityStatistics
from tools.cli.asked import PRIORITIES
from tools.cli.completion import topic_names
from tools.cli.door import opened
from tools.cli.framework import command, group, session
from tools.cli.output import Column
from tools.cli.times import moment_text, span_text

app = group("Priorities: what waits in the lanes.")


def _rate(value: Any) -> str:
    return "-" if value is None else f"{value:.1f}/s"


LANES = (
    Column("topic"),
    Column("partition", right=True),
    Column("priority"),
    Column("ready", right=True),
    Column("in_flight", "in flight", right=True),
    Column("enqueue_rate", "in", _rate, right=True),
    Column("dequeue_rate", "out", _rate, right=True),
    Column("oldest_age_ms", "oldest", span_text, right=True),
    Column("last_served_ms", "last served (UTC)", moment_text),
    Column("starved_turns", "starved", right=True),
)
_PER_LANE = (*(column.field for column in LANES[3:]), "enqueued", "dequeued")


@command(app, "show", examples=("tidegate priority show jobs", "tidegate priority show -o json"))
def show(
    context: typer.Context,
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="Of this topic alone.", autocompletion=topic_names)
    ] = None,
) -> None:
    """The five lanes of every prioritised partition: critical, high, normal, low, background."""
    at = session(context)
    with opened(at.profile) as door:
        found = door.priority_statistics(topic)
        door.warn_of_missing(at.output)
    rows = [row for each in found for row in _lanes(each)]
    at.output.rows(rows, LANES, empty="no partition has priorities; 'tidegate produce TOPIC --priority high' makes one")


def _lanes(found: PriorityStatistics) -> list[dict[str, Any]]:
    data = asdict(found)
    return [
        {
            "topic": found.topic,
            "partition": found.partition,
            "priority": name,
            **{field: data[field][lane] for field in _PER_LANE},
        }
        for lane, name in enumerate(PRIORITIES)
    ]
