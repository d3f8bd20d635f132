"""The pipeline `dead-letters`: what lies in dead-letter topics, by what went wrong, and a list to redrive it by."""

import base64
import json
from typing import Any

from tools.pipelines import dead_letters_report
from tools.pipelines.archive.append import records as records_of
from tools.pipelines.charts import Points
from tools.pipelines.dead_letters_report import label
from tools.pipelines.kafka import Cluster
from tools.pipelines.letters import FIELDS, field_expression, style_expression
from tools.pipelines.objects import storage_at
from tools.pipelines.options import OK, PipelineError, Values
from tools.pipelines.ranges import Ranges, ends, ranges_between, size, starts
from tools.pipelines.running import connected, one_line, progress_for, session_for
from tools.pipelines.scales import TIME_STEPS
from tools.pipelines.storage import Storage
from tools.pipelines.times import epoch_ms

GROUP = ("error", "origin_topic", "consumer", "style")
SAMPLE_BYTES = 200
ISO = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"
DRAWN, STEPS = 7, 48


def run(values: Values) -> int:
    """Reads the letters that there are now, prints the groups, and writes them with the list."""
    since, until = (epoch_ms(name, values[name]) for name in ("since", "until"))
    with (
        session_for("dead-letters", values) as spark,
        progress_for("dead-letters", values, spark) as progress,
        connected(spark, values) as cluster,
    ):
        ranges = letters_ranges(cluster, values)
        progress.begin(starts(ranges), ends(ranges))
        progress.doing = "reading letters"
        chosen = _chosen(letters(spark, cluster, ranges), values, since, until).persist()
        try:
            groups = grouped(chosen, values["samples"])
            progress.batch(size(ranges), ends(ranges), ends(ranges))
            progress.doing = "writing the list and the report"
            storage = storage_at(spark, values["output"])
            storage.write("groups.json", json.dumps(groups, indent=1) + "\n")
            count = write_redrive_list(chosen, storage)
            storage.write("report.html", dead_letters_report.page(groups, *over_time(chosen, groups)).html())
        finally:
            chosen.unpersist()
        if values["group"]:
            cluster.commit(values["group"], ends(ranges))
        progress.say(f"{count:,} letters in {len(groups)} groups; {storage.path('redrive.jsonl')}")
    for group in groups:
        print(
            one_line(
                f"{group['letters']:>8,}  {group['error'] or '(no error told)'}  "
                f"from {group['origin_topic']} by {group['consumer'] or '?'}  "
                f"{group['first_seen']} to {group['last_seen']}"
            )
        )
    return OK


def letters_ranges(cluster: Cluster, values: Values) -> Ranges:
    """All offsets that the dead-letter topics have now."""
    pattern = None if values["topics"] else values["pattern"]
    topics = cluster.topics(values["topics"], pattern)
    if not topics:
        raise PipelineError(f"no topic matches {pattern!r}")
    partitions = {name: range(count) for name, (_, count) in cluster.descriptions(topics).items()}
    first, last = (cluster.offsets(partitions, which, "read_committed") for which in ("earliest", "latest"))
    ranges = ranges_between(first, last)
    if not ranges:
        raise PipelineError(f"{', '.join(topics)}: no letters there")
    return ranges


def letters(spark: Any, cluster: Cluster, ranges: Ranges) -> Any:
    """The letters, with the fields that their headers tell."""
    source = records_of(spark, cluster, ranges, "read_committed")
    source = source.selectExpr("*", "coalesce(headers, array()) AS told").drop("headers")
    source = source.withColumnRenamed("told", "headers")
    fields = [f"{field_expression(name)} AS {name}" for name in FIELDS]
    named = source.selectExpr(
        "topic", "partition", "offset", "timestamp", "key", "value", *fields, f"{style_expression()} AS style"
    )
    # Whoever tells nothing else at least follows a custom in the topic's name.
    by_name = r"regexp_replace(topic, '([.-](dlq|dlt|DLT)$)|(^dlq[.-])', '')"
    return named.withColumns(_expressions({"origin_topic": f"coalesce(origin_topic, {by_name})"}))


def _expressions(named: dict[str, str]) -> dict[str, Any]:
    from pyspark.sql import functions

    return {name: functions.expr(text) for name, text in named.items()}


def _chosen(found: Any, values: Values, since: int | None, until: int | None) -> Any:
    from pyspark.sql import functions as f

    if values["error"]:
        found = found.where(f.col("error").rlike(values["error"]))
    if values["origin"]:
        found = found.where(f.col("origin_topic") == values["origin"])
    if since is not None:
        found = found.where(f"unix_millis(timestamp) >= {since}")
    if until is not None:
        found = found.where(f"unix_millis(timestamp) < {until}")
    return found


def grouped(found: Any, samples: int) -> list[dict[str, Any]]:
    """The groups, largest first, each with its last letters as samples."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    counted = found.groupBy(*GROUP).agg(
        f.count("*").alias("letters"),
        # By Spark, which is in UTC; Python would take the machine's zone.
        f.date_format(f.min("timestamp"), ISO).alias("first_seen"),
        f.date_format(f.max("timestamp"), ISO).alias("last_seen"),
        f.sort_array(f.collect_set("topic")).alias("topics"),
    )
    rows = counted.orderBy(f.desc("letters"), *GROUP).collect()
    order = Window.partitionBy(*GROUP).orderBy(f.desc("timestamp"), f.desc("offset"))
    last = found.withColumn("place", f.row_number().over(order)).where(f"place <= {samples}").orderBy("place").collect()
    shown: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in last:
        shown.setdefault(tuple(row[name] for name in GROUP), []).append(_sample(row))
    return [
        {name: row[name] for name in (*GROUP, "letters", "topics")}
        | {name: row[name] for name in ("first_seen", "last_seen")}
        | {"samples": shown.get(tuple(row[name] for name in GROUP), [])}
        for row in rows
    ]


def _sample(row: Any) -> dict[str, Any]:
    return {
        "place": f"{row.topic}-{row.partition} @ {row.offset}",
        "origin_offset": row.origin_offset,
        "key": _shown(row.key),
        "value": _shown(row.value),
        "message": row.message,
    }


def _shown(data: bytearray | None) -> str | None:
    """The beginning, as text if it is text."""
    return None if data is None else bytes(data[:SAMPLE_BYTES]).decode(errors="backslashreplace")


def write_redrive_list(found: Any, storage: Storage) -> int:
    """One line per letter: where it lies and where it belongs. Written in one file, in order; gives how many."""
    lines = []
    rows = found.select("topic", "partition", "offset", "origin_topic", "origin_partition", "key", "error")
    for row in rows.orderBy("topic", "partition", "offset").toLocalIterator():
        lines.append(
            json.dumps(
                {
                    "topic": row.topic,
                    "partition": row.partition,
                    "offset": row.offset,
                    "to": row.origin_topic,
                    "to_partition": None if row.origin_partition is None else int(row.origin_partition),
                    "key_base64": None if row.key is None else base64.b64encode(row.key).decode(),
                    "error": row.error,
                }
            )
        )
    storage.write("redrive.jsonl", "".join(line + "\n" for line in lines))
    return len(lines)


def over_time(found: Any, groups: list[dict[str, Any]]) -> tuple[dict[str, Points], float]:
    """Letters per step of time of the largest groups, by their labels, and how long a step is, in seconds."""
    from pyspark.sql import functions as f

    at = "unix_millis(timestamp) / 1e3"
    first, last = found.selectExpr(f"min({at})", f"max({at})").first()
    if first is None:
        return {}, 1.0
    step = next((each for each in TIME_STEPS if (last - first) / each <= STEPS), TIME_STEPS[-1])
    slot = f.expr(f"CAST(floor({at} / {step}) AS BIGINT)").alias("slot")
    counts: dict[str, dict[int, int]] = {label(group): {} for group in groups[:DRAWN]}
    for row in found.groupBy("error", "origin_topic", slot).count().collect():
        slots = counts.get(label(row.asDict()))
        if slots is not None:
            slots[row.slot] = row["count"]
    every = range(int(first // step), int(last // step) + 1)
    return {
        name: [(float(each * step), float(slots.get(each, 0))) for each in every] for name, slots in counts.items()
    }, float(step)
