"""The pipeline `dead-letters`: what lies in dead-letter topics, by what went wrong, and a list to redrive it by."""

import base64
import json
from typing import Any

from tools.pipelines.archive.append import records as records_of
from tools.pipelines.kafka import Cluster
from tools.pipelines.letters import FIELDS, field_expression, style_expression
from tools.pipelines.options import OK, PipelineError, Values
from tools.pipelines.progress import Progress
from tools.pipelines.ranges import ranges_between
from tools.pipelines.report import Report
from tools.pipelines.running import session_for
from tools.pipelines.storage import Storage
from tools.pipelines.times import epoch_ms

GROUP = ("error", "origin_topic", "consumer", "style")
SAMPLE_BYTES = 200


def run(values: Values) -> int:
    """Reads the letters that there are now, prints the groups, and writes them with the list."""
    since, until = (epoch_ms(name, values[name]) for name in ("since", "until"))
    progress = Progress("dead-letters", values["metrics_file"], values["quiet"])
    with session_for("dead-letters", values) as spark:
        cluster = Cluster(spark, values["bootstrap"], values["kafka"])
        try:
            found = letters(spark, cluster, values)
        finally:
            cluster.close()
        chosen = _chosen(found, values, since, until).persist()
        try:
            groups = grouped(chosen, values["samples"])
            storage = Storage(spark, values["output"])
            storage.write("groups.json", json.dumps(groups, indent=1) + "\n")
            count = write_redrive_list(chosen, storage)
            storage.write("report.html", report(groups, count).html())
        finally:
            chosen.unpersist()
    for group in groups:
        print(
            f"{group['letters']:>8,}  {group['error'] or '(no error told)'}  "
            f"from {group['origin_topic']} by {group['consumer'] or '?'}  "
            f"{group['first_seen']} to {group['last_seen']}"
        )
    progress.say(f"{count:,} letters in {len(groups)} groups; {storage.path('redrive.jsonl')}")
    return OK


def letters(spark: Any, cluster: Cluster, values: Values) -> Any:
    """The letters of all topics, with the fields that their headers tell."""
    pattern = None if values["topics"] else values["pattern"]
    topics = cluster.topics(values["topics"], pattern)
    if not topics:
        raise PipelineError(f"no topic matches {pattern!r}")
    partitions = {name: range(count) for name, (_, count) in cluster.descriptions(topics).items()}
    starts, ends = (cluster.offsets(partitions, which, "read_committed") for which in ("earliest", "latest"))
    ranges = ranges_between(starts, ends)
    if not ranges:
        raise PipelineError(f"{', '.join(topics)}: no letters there")
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
        f.min("timestamp").alias("first_seen"),
        f.max("timestamp").alias("last_seen"),
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
        | {name: row[name].isoformat(timespec="milliseconds") for name in ("first_seen", "last_seen")}
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


def report(groups: list[dict[str, Any]], count: int) -> Report:
    page = Report("Dead letters", f"{count:,} letters in {len(groups)} groups")
    page.heading("Groups", "by error, origin and consumer")
    page.table(
        ("error", "origin", "consumer", "letters", "first seen", "last seen"),
        [
            (
                group["error"] or "(no error told)",
                group["origin_topic"],
                group["consumer"] or "",
                group["letters"],
                group["first_seen"],
                group["last_seen"],
            )
            for group in groups
        ],
        bar=3,
    )
    for group in groups:
        page.heading(f"{group['error'] or '(no error told)'}, {group['origin_topic']}", "the last ones")
        page.table(
            ("letter", "key", "value", "message"),
            [(each["place"], each["key"], each["value"], each["message"]) for each in group["samples"]],
        )
    return page
