"""The page of `dead-letters`: what went wrong, since when, how often, and examples."""

from collections.abc import Mapping, Sequence
from typing import Any

from tools.pipelines.charts import Points
from tools.pipelines.report import Column, Report
from tools.pipelines.scales import count_text, per_text, some

SHOWN = 30
"""Groups whose samples are shown; the table names all."""
UNTOLD = "(no error told)"


def label(group: Mapping[str, Any]) -> str:
    """What a group is called."""
    return f"{group['error'] or UNTOLD}, from {group['origin_topic']}"


def page(groups: Sequence[Mapping[str, Any]], over_time: Mapping[str, Points], step_s: float) -> Report:
    """`over_time` has the letters per step of the largest groups, by their labels."""
    count = sum(group["letters"] for group in groups)
    report = Report("Dead letters", f"{count:,} letters, grouped by error, origin and consumer")
    if not groups:
        report.nothing("No letter matches. Without --error, --origin, --since and --until all of them count.")
        return report
    _figures(report, groups, count)
    report.heading("Over time", "by when the letter was written; the largest groups")
    report.stacks(over_time, step_s, f"letters per {per_text(step_s)}")
    report.heading("Groups", "largest first")
    columns = (
        Column("error"),
        Column("from"),
        Column("given up by"),
        Column("letters", _whole, bar=True),
        Column("first seen"),
        Column("last seen"),
    )
    report.table(columns, [_row(group) for group in groups])
    for group in [each for each in groups if each["samples"]][:SHOWN]:
        by = f"given up by {group['consumer']}; " if group["consumer"] else ""
        report.heading(label(group), f"{by}the last {len(group['samples'])} of {group['letters']:,} letters")
        report.table(
            (Column("letter"), Column("key", code=True), Column("value", code=True), Column("message")),
            [(each["place"], each["key"], each["value"], each["message"]) for each in group["samples"]],
        )
    return report


def _figures(report: Report, groups: Sequence[Mapping[str, Any]], count: int) -> None:
    origins = {group["origin_topic"] for group in groups}
    largest = groups[0]
    report.figures(
        (
            "letters",
            count_text(count),
            f"in {some(len({name for group in groups for name in group['topics']}), 'topic')}",
        ),
        ("kinds of error", count_text(len({group["error"] for group in groups})), f"in {some(len(groups), 'group')}"),
        ("origins", count_text(len(origins)), ", ".join(sorted(map(str, origins))[:3])),
        ("largest group", f"{100 * largest['letters'] / count:.0f} %", str(largest["error"] or UNTOLD)),
        ("last seen", max(group["last_seen"] for group in groups)[11:19], max(g["last_seen"] for g in groups)[:10]),
    )


def _row(group: Mapping[str, Any]) -> tuple[str | int, ...]:
    first, last = (str(group[name]).replace("T", " ").removesuffix("Z") for name in ("first_seen", "last_seen"))
    return (
        group["error"] or UNTOLD,
        group["origin_topic"],
        group["consumer"] or "",
        group["letters"],
        first[:19],
        last[:19],
    )


def _whole(value: float) -> str:
    return f"{value:,.0f}"
