"""The page of `timelines`: how long each stage takes, when it took longer, what is stuck and what was slowest."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.pipelines.charts import Points, Span, Spread
from tools.pipelines.report import Column, Report
from tools.pipelines.scales import count_text, duration_text, some, span_text, time_text

STAGES = ("publish", "hold", "deliver", "settle")
TOTAL = "total"
QUANTILES = ("p50", "p95", "p99")
MEANING = (
    "publish: received until on disk; hold: delayed or in a lane; deliver: readable until the first fetch; "
    "settle: fetched until a group committed beyond it"
)
DRAWN = 15
"""Of the slowest records."""


@dataclass(frozen=True)
class Facts:
    """What is shown; rows are those of the tables, their times in microseconds."""

    events: int
    topic: str
    step_s: float
    stuck_s: float
    stages: Sequence[Any] = ()
    latencies: Sequence[Any] = ()
    stuck: Sequence[Any] = ()
    slowest: Sequence[Any] = ()
    most: int = 0
    span_s: tuple[float, float] = field(default=(0.0, 0.0))


def page(facts: Facts) -> Report:
    report = Report(
        "Where the time goes",
        f"{facts.events:,} events of {facts.topic} about records that arrived {span_text(*facts.span_s)}"
        if facts.stages
        else f"{facts.events:,} events of {facts.topic}",
    )
    if not facts.stages:
        report.nothing("No event tells of a whole stage yet. Records are traced that carry a traceparent header.")
        return report
    _figures(report, facts)
    _stages(report, facts)
    for topic in sorted({row.topic for row in facts.latencies}):
        report.heading(f"{topic} over time", f"by arrival, in steps of {duration_text(facts.step_s)}; logarithmic")
        report.pair(_over_time(facts, topic), "time taken", duration_text)
    _stuck(report, facts)
    _slowest(report, facts)
    return report


def _figures(report: Report, facts: Facts) -> None:
    totals = [row for row in facts.stages if row.stage == TOTAL]
    publish = [row for row in facts.stages if row.stage == "publish"]
    traced = sum(row.records for row in publish)
    stuck = len(facts.stuck)
    told = [("traced records", f"{traced:,}", f"of {some(len({row.topic for row in facts.stages}), 'topic')}")]
    if totals:
        worst = max(totals, key=lambda row: row.p99)
        told.append(("read", f"{sum(row.records for row in totals):,}", "by anybody"))
        told.append(
            ("median, end to end", duration_text(worst.p50 / 1e6), f"{worst.topic}, arrival to commit or fetch")
        )
        told.append(("p99, end to end", duration_text(worst.p99 / 1e6), f"{worst.topic}: 1 in 100 takes longer"))
    shown = f"{stuck:,}" + ("+" if facts.most and stuck >= facts.most else "")
    told.append(("stuck", shown, f"for more than {duration_text(facts.stuck_s)}"))
    report.figures(*told)


def _stages(report: Report, facts: Facts) -> None:
    order = (*STAGES, TOTAL)
    rows = sorted(facts.stages, key=lambda row: (row.topic, order.index(row.stage)))
    report.heading("By topic and stage", MEANING)
    spreads = [
        Spread(
            f"{row.topic}, {row.stage}",
            order.index(row.stage),
            *(value / 1e6 for value in (row.p50, row.p95, row.p99, row.max)),
        )
        for row in rows
    ]
    report.spreads(spreads, duration_text)
    columns = (
        Column("topic"),
        Column("stage"),
        Column("records", count_text),
        *(Column(name, duration_text) for name in (*QUANTILES, "largest")),
    )
    report.table(
        columns,
        [(row.topic, row.stage, row.records, *(row[name] / 1e6 for name in (*QUANTILES, "max"))) for row in rows],
    )


def _over_time(facts: Facts, topic: str) -> list[tuple[str, dict[str, Points]]]:
    drawn: list[tuple[str, dict[str, Points]]] = []
    for stage in STAGES:
        rows = [row for row in facts.latencies if (row.topic, row.stage) == (topic, stage)]
        if rows:
            series: dict[str, Points] = {name: [(row.start_s, row[name] / 1e6) for row in rows] for name in QUANTILES}
            drawn.append((f"{stage} ({sum(row.records for row in rows):,} records)", series))
    return drawn


def _stuck(report: Report, facts: Facts) -> None:
    report.heading("Stuck", f"readable for more than {duration_text(facts.stuck_s)} and not done; oldest first")
    if not facts.stuck:
        report.nothing("Nothing is stuck.")
        return
    columns = (
        Column("problem"),
        Column("record"),
        Column("key", code=True),
        Column("group"),
        Column("arrived"),
        Column("waits for", duration_text, bar=True),
        Column("trace", code=True),
    )
    report.table(
        columns,
        [
            (
                row.problem,
                place(row),
                row.key or "",
                row.group,
                time_text(row.start_us / 1e6),
                row.idle / 1e6,
                row.trace_id,
            )
            for row in facts.stuck
        ],
    )


def _slowest(report: Report, facts: Facts) -> None:
    report.heading(
        "Slowest", "from arrival to the first commit beyond the record, or to the first fetch if there was none"
    )
    if not facts.slowest:
        report.nothing("Nobody has fetched a traced record yet.")
        return
    report.spans([(place(row), spans(row)) for row in facts.slowest[:DRAWN]], STAGES, duration_text)
    columns = (
        Column("record"),
        Column("key", code=True),
        *(Column(stage, duration_text) for stage in STAGES),
        Column(TOTAL, duration_text, bar=True),
        Column("trace", code=True),
    )
    rows = [
        (place(row), row.key or "", *(_seconds(row[name]) for name in (*STAGES, TOTAL)), row.trace_id)
        for row in facts.slowest
    ]
    report.table(columns, rows)


def place(row: Any) -> str:
    """Where a record lies."""
    return f"{row.topic}-{row.partition} @ {'?' if row.offset is None else row.offset}"


def spans(row: Any) -> list[Span]:
    """The stages of a record one after the other; each begins where the one before has ended, at the earliest."""
    found: list[Span] = []
    reached = 0.0
    ends = (
        ("publish", row.received_us, row.persisted_us),
        ("hold", row.held_us, row.ready_us),
        ("deliver", row.readable_us, row.fetched_us),
        ("settle", row.fetched_us, row.committed_us),
    )
    for name, begin_us, end_us in ends:
        if begin_us is not None and end_us is not None:
            begin = max(reached, (begin_us - row.start_us) / 1e6)
            reached = max(begin, (end_us - row.start_us) / 1e6)
            found.append(Span(name, begin, reached))
    return found


def _seconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6
