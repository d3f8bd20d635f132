"""The page of `usage`: how much was written when, how evenly it is spread over partitions, and which keys are hot."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tools.pipelines.charts import COLOURS, Points
from tools.pipelines.report import Column, Report
from tools.pipelines.scales import (
    bytes_text,
    count_text,
    duration_text,
    factor_text,
    per_text,
    percent_text,
    some,
    span_text,
)

STEPS = 200
"""As many points as a chart has room for; windows beyond that are added up."""
HEATED, ROWS = 6, 48
OTHERS = "others"

Slots = dict[Any, dict[int, tuple[float, float]]]
"""topic, or topic and partition -> step -> records, bytes"""


@dataclass(frozen=True)
class Facts:
    """What is shown. Steps of time are numbered from the first window on."""

    window: str
    watermark: str
    first_s: float
    last_s: float
    step_s: float
    totals: Sequence[tuple[str, int, int, int, int]]
    """topic, partition, records, bytes, most distinct keys of a window"""
    hot: Sequence[tuple[str, str, int, int]]
    """topic, key, records, bytes"""
    topics: Slots = field(default_factory=dict)
    partitions: Slots = field(default_factory=dict)
    late: int = 0
    tenants: Sequence[str] = ()
    """Whose topics are added up."""
    unfinished: int = 0
    """Records in windows that the watermark has not passed: more may come."""

    @property
    def steps(self) -> int:
        return max(1, math.ceil((self.last_s - self.first_s) / self.step_s - 1e-6))


def collect(partitions: Any, keys: Any, window: str, watermark: str, hot_keys: int, late: int) -> Facts | None:
    """The facts out of the counts by partition and by key; None if nothing was counted."""
    from pyspark.sql import functions as f

    at = "unix_micros(start) / 1e6"
    length = "min(unix_micros(end) - unix_micros(start)) / 1e6"
    first_s, last_s, length_s = partitions.selectExpr(f"min({at})", "max(unix_micros(end)) / 1e6", length).first()
    if first_s is None:
        return None
    step_s = length_s * max(1, math.ceil((last_s - first_s) / length_s / STEPS - 1e-6))
    sums = (f.sum("records").alias("records"), f.sum("bytes").alias("bytes"))
    slotted = partitions.withColumn("slot", f.expr(f"CAST(floor(({at} - {first_s}D) / {step_s}D) AS INT)"))
    totals = partitions.groupBy("topic", "partition").agg(*sums, f.max("keys").alias("keys"))
    totals_rows = [tuple(row) for row in totals.orderBy("topic", "partition").collect()]
    shown = _busiest(totals_rows)
    by_topic: Slots = defaultdict(dict)
    for row in slotted.groupBy("topic", "slot").agg(*sums).collect():
        by_topic[row.topic][row.slot] = (float(row.records), float(row.bytes))
    by_partition: Slots = defaultdict(dict)
    for row in slotted.where(f.col("topic").isin(shown)).groupBy("topic", "partition", "slot").agg(*sums).collect():
        by_partition[row.topic, row.partition][row.slot] = (float(row.records), float(row.bytes))
    hottest = (
        keys.groupBy("topic", "key_text").agg(*sums).orderBy(f.desc("records"), "key_text").limit(hot_keys).collect()
    )
    return Facts(
        window,
        watermark,
        first_s,
        last_s,
        step_s,
        totals_rows,
        [tuple(row) for row in hottest],
        by_topic,
        by_partition,
        late,
    )


def page(facts: Facts) -> Report:
    names = sorted({topic for topic, *_ in facts.totals})
    report = Report(
        f"Usage of {names[0]}" if len(names) == 1 else f"Usage of {len(names)} topics",
        f"{span_text(facts.first_s, facts.last_s)}, in windows of {facts.window}. "
        f"A window is done once the watermark ({facts.watermark}) has passed it"
        + (", and the last ones are not: they may still grow." if facts.unfinished else "."),
    )
    _figures(report, facts)
    per_step = "" if facts.steps < STEPS / 2 else f"; a point is the mean of {duration_text(facts.step_s)}"
    if facts.tenants:
        _tenants(report, facts, per_step)
    report.heading("Records", f"per second, by topic{per_step}")
    report.lines(_rates(facts, 0), "records per second")
    report.heading("Bytes", f"of keys and values, per second, by topic{per_step}")
    report.lines(_rates(facts, 1), "bytes per second", bytes_text)
    for topic in [name for name in _busiest(facts.totals) if _partitions(facts, name) > 1]:
        report.heading(
            f"Partitions of {topic} over time",
            f"records per {per_text(facts.step_s)}; the stronger the colour, the more",
        )
        report.heat(_rows(facts, topic), facts.step_s)
    _tables(report, facts)
    return report


def empty_page(window: str, watermark: str) -> Report:
    """The page before the first record."""
    report = Report("Usage", f"windows of {window}, with a watermark of {watermark}")
    report.nothing(
        "Nothing was counted: the topics hold no records, or none since the last run. Run it again when more has come."
    )
    return report


def _figures(report: Report, facts: Facts) -> None:
    records = sum(row[2] for row in facts.totals)
    size = sum(row[3] for row in facts.totals)
    seconds = max(facts.last_s - facts.first_s, 1e-3)
    told = [
        ("records", count_text(records), f"{count_text(records / seconds)} per second"),
        ("bytes", bytes_text(size), f"{bytes_text(size / max(records, 1))} per record"),
        ("partitions", count_text(len(facts.totals)), f"of {some(len({row[0] for row in facts.totals}), 'topic')}"),
    ]
    topic, number, skew = max(((row[0], row[1], _skew(facts, row)) for row in facts.totals), key=lambda each: each[2])
    told.append(("largest skew", factor_text(skew), f"the mean, in {topic}-{number}"))
    if facts.hot:
        of, key, hot, _ = facts.hot[0]
        told.append(("hottest key", key if len(key) <= 18 else key[:17] + "…", f"{_share(facts, of, hot)} of {of}"))
    if facts.unfinished:
        told.append(("not yet done", count_text(facts.unfinished), f"records of the last {facts.watermark}"))
    if facts.late:
        told.append(("too late", count_text(facts.late), "groups of records, not counted"))
    report.figures(*told)


def tenant_of(topic: str, tenants: Sequence[str]) -> str | None:
    """Whose a topic is: all of a tenant's names begin with its own and a dot."""
    name, dot, _rest = topic.partition(".")
    return name if dot and name in tenants else None


def _tenants(report: Report, facts: Facts, per_step: str) -> None:
    """What tenants have published: over time, and in all."""
    slots: Slots = {name: {} for name in facts.tenants}
    for topic, steps in facts.topics.items():
        tenant = tenant_of(topic, facts.tenants)
        for step, pair in steps.items() if tenant is not None else ():
            before = slots[tenant].get(step, (0.0, 0.0))
            slots[tenant][step] = (before[0] + pair[0], before[1] + pair[1])
    report.heading("Tenants", f"bytes of keys and values that each has published, per second{per_step}")
    report.lines(_rates(replace(facts, topics=slots), 1), "bytes per second", bytes_text)
    columns = (
        Column("tenant"),
        Column("topics", _whole),
        Column("partitions", _whole),
        Column("records", _whole),
        Column("bytes", bytes_text, bar=True),
        Column("of all", percent_text),
    )
    whole = max(sum(row[3] for row in facts.totals), 1)
    rows: list[tuple[str, int, int, int, int, float]] = []
    for name in facts.tenants:
        mine = [row for row in facts.totals if tenant_of(row[0], (name,)) is not None]
        size = sum(row[3] for row in mine)
        rows.append((name, len({row[0] for row in mine}), len(mine), sum(row[2] for row in mine), size, size / whole))
    rows.sort(key=lambda row: -row[4])
    report.table(columns, rows)


def _tables(report: Report, facts: Facts) -> None:
    report.heading(
        "Partitions", "skew: records as a multiple of the topic's mean; keys: the most distinct ones of any window"
    )
    columns = (
        Column("topic"),
        Column("partition", count_text),
        Column("records", _whole),
        Column("bytes", bytes_text),
        Column("keys", _whole),
        Column("skew", factor_text, bar=True),
    )
    report.table(columns, [(*row, _skew(facts, row)) for row in facts.totals])
    report.heading("Hot keys", "counted where a key was among the hottest of its window")
    if not facts.hot:
        report.nothing("No record has a key.")
        return
    shares = {topic: sum(row[2] for row in facts.totals if row[0] == topic) for topic, *_ in facts.totals}
    named = (
        Column("topic"),
        Column("key", code=True),
        Column("records", _whole, bar=True),
        Column("of the topic's", percent_text),
        Column("bytes", bytes_text),
    )
    report.table(named, [(topic, key, n, n / max(shares[topic], 1), size) for topic, key, n, size in facts.hot])


def _rates(facts: Facts, which: int) -> dict[str, Points]:
    """Per second, zero where nothing came; the busiest topics by name, the rest together."""
    busiest = sorted(facts.topics, key=lambda name: -sum(pair[0] for pair in facts.topics[name].values()))
    named = busiest if len(busiest) <= COLOURS else busiest[: COLOURS - 1]
    sums: dict[str, list[float]] = {name: [0.0] * facts.steps for name in named}
    for topic in busiest:
        steps = sums.setdefault(topic if topic in named else OTHERS, [0.0] * facts.steps)
        for slot, pair in facts.topics[topic].items():
            steps[min(slot, facts.steps - 1)] += pair[which] / facts.step_s
    return {name: [(_time(facts, slot), value) for slot, value in enumerate(steps)] for name, steps in sums.items()}


def _rows(facts: Facts, topic: str) -> dict[str, Points]:
    found: dict[str, Points] = {}
    for number in sorted(row[1] for row in facts.totals if row[0] == topic)[:ROWS]:
        slots = facts.partitions.get((topic, number), {})
        found[str(number)] = [(_time(facts, slot), slots.get(slot, (0.0, 0.0))[0]) for slot in range(facts.steps)]
    return found


def _time(facts: Facts, slot: int) -> float:
    return facts.first_s + slot * facts.step_s


def _busiest(totals: Sequence[tuple[str, int, int, int, int]]) -> list[str]:
    sums: dict[str, int] = defaultdict(int)
    for topic, _, records, *_ in totals:
        sums[topic] += records
    return sorted(sums, key=lambda topic: (-sums[topic], topic))[:HEATED]


def _partitions(facts: Facts, topic: str) -> int:
    return sum(row[0] == topic for row in facts.totals)


def _skew(facts: Facts, row: tuple[str, int, int, int, int]) -> float:
    records = [each[2] for each in facts.totals if each[0] == row[0]]
    return row[2] * len(records) / max(sum(records), 1)


def _share(facts: Facts, topic: str, records: int) -> str:
    return percent_text(records / max(sum(row[2] for row in facts.totals if row[0] == topic), 1))


def _whole(value: float) -> str:
    return f"{value:,.0f}"
