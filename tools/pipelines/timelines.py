"""The pipeline `timelines`: the events of traced records (`__trace_events`) as latency tables by topic and minute.

publish   received until on disk
hold      held: from scheduled or queued until ready or released
deliver   readable until the first fetch
settle    fetched until a group has committed beyond it
"""

import time
from typing import Any

from tools.pipelines.archive.append import records as records_of
from tools.pipelines.kafka import Cluster
from tools.pipelines.options import OK, PipelineError, Values
from tools.pipelines.progress import Progress
from tools.pipelines.ranges import ranges_between, size
from tools.pipelines.report import Report
from tools.pipelines.running import session_for
from tools.pipelines.storage import Storage
from tools.pipelines.times import epoch_ms

SCHEMA = (
    "schema INT, event STRING, time_us BIGINT, since_start_us BIGINT, trace_id STRING, topic STRING, partition INT, "
    "offset BIGINT, key STRING, key_base64 STRING, group STRING, client_id STRING, error STRING"
)
KNOWN_SCHEMA = 1
STAGES = ("publish", "hold", "deliver", "settle")
OVER = ("delay.cancelled", "delay.expired", "publish.failed")
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def run(values: Values) -> int:
    """Reads all events that there are now, writes the tables and the report."""
    since, until = (epoch_ms(name, values[name]) for name in ("since", "until"))
    progress = Progress("timelines", values["metrics_file"], values["quiet"])
    with session_for("timelines", values) as spark:
        cluster = Cluster(spark, values["bootstrap"], values["kafka"])
        try:
            events, count = read_events(spark, cluster, values["events"], since, until)
        finally:
            cluster.close()
        made = tables(events, int(time.time() * 1e6), values)
        storage = Storage(spark, values["output"])
        for name, table in made.items():
            table.write.mode("overwrite").parquet(storage.path(name))
        storage.write("report.html", report(spark, storage, values, count).html())
        progress.say(f"{count:,} events; {storage.path('report.html')}")
    return OK


def read_events(spark: Any, cluster: Cluster, topic: str, since: int | None, until: int | None) -> tuple[Any, int]:
    """The events of a range of time, and how many offsets were read for them."""
    try:
        cluster.topics([topic])
    except PipelineError:
        raise PipelineError(
            f"the broker has no topic {topic}: nothing was traced yet, or trace.events.topic.enable is off"
        ) from None
    partitions = {topic: range(cluster.descriptions([topic])[topic][1])}
    starts, ends = (cluster.offsets(partitions, which, "read_committed") for which in ("earliest", "latest"))
    ranges = ranges_between(starts, ends)
    if not ranges:
        raise PipelineError(f"{topic} is empty")
    source = records_of(spark, cluster, ranges, "read_committed")
    events = source.selectExpr(f"from_json(CAST(value AS STRING), '{SCHEMA}') AS e").select("e.*")
    events = events.where(f"schema = {KNOWN_SCHEMA} AND trace_id IS NOT NULL")
    if since is not None:
        events = events.where(f"time_us >= {since * 1000}")
    if until is not None:
        events = events.where(f"time_us < {until * 1000}")
    return events, size(ranges)


def tables(events: Any, now_us: int, values: Values) -> dict[str, Any]:
    """`records` has a row per record, the others are made of it."""
    records = timelines(events, now_us)
    return {
        "records": records,
        "latencies": latencies(records),
        "stuck": stuck(records, values["stuck_seconds"]).limit(values["most"]),
        "slowest": slowest(records).limit(values["most"]),
    }


def timelines(events: Any, now_us: int) -> Any:
    """One row per record: when what happened first, and how long each stage took, in microseconds.

    A trace may hold several records; one is told from another by partition, key and the moment it arrived.
    """
    from pyspark.sql import functions as f

    def first(*names: str) -> Any:
        return f.min(f.when(f.col("event").isin(*names), f.col("time_us")))

    def last(*names: str) -> Any:
        return f.max(f.when(f.col("event").isin(*names), f.col("time_us")))

    grouped = events.withColumn("start_us", f.expr("time_us - since_start_us")).groupBy(
        "trace_id", "topic", "partition", "start_us", f.expr("coalesce(key, key_base64)").alias("key")
    )
    found = grouped.agg(
        f.max("offset").alias("offset"),
        first("publish.received").alias("received_us"),
        first("publish.persisted").alias("persisted_us"),
        first("delay.scheduled", "priority.queued").alias("held_us"),
        last("delay.ready", "priority.released").alias("ready_us"),
        first("consume.fetched").alias("fetched_us"),
        first("consume.committed").alias("committed_us"),
        first(*OVER).isNotNull().alias("over"),
        f.max("time_us").alias("last_us"),
        f.expr("max_by(event, time_us)").alias("last_event"),
        f.max("group").alias("group"),
    )
    readable = "CASE WHEN held_us IS NOT NULL THEN ready_us ELSE persisted_us END"
    return found.selectExpr("*", f"{readable} AS readable_us").selectExpr(
        "*",
        "persisted_us - received_us AS publish",
        "ready_us - held_us AS hold",
        # A reader may be quicker than the note that a record is on disk. (`greatest` would make a null a zero.)
        "CASE WHEN fetched_us < readable_us THEN 0L ELSE fetched_us - readable_us END AS deliver",
        "CASE WHEN committed_us < fetched_us THEN 0L ELSE committed_us - fetched_us END AS settle",
        # Whoever reads a record again later does not make it slow.
        "coalesce(committed_us, fetched_us, last_us) - start_us AS total",
        f"{now_us}L - coalesce(ready_us, persisted_us, received_us) AS idle",
    )


def latencies(records: Any) -> Any:
    """Percentiles by topic, minute of arrival and stage, in microseconds."""
    from pyspark.sql import functions as f

    pairs = ", ".join(f"'{stage}', {stage}" for stage in STAGES)
    long = records.selectExpr(
        "topic",
        "timestamp_seconds(start_us DIV 60000000 * 60) AS minute",
        f"stack({len(STAGES)}, {pairs}) AS (stage, took_us)",
    )
    quantiles = [f.percentile_approx("took_us", value, 10_000).alias(name) for name, value in QUANTILES.items()]
    return (
        long.where("took_us IS NOT NULL")
        .groupBy("topic", "minute", "stage")
        .agg(f.count("*").alias("records"), *quantiles, f.max("took_us").alias("max"))
        .orderBy("topic", "minute", "stage")
    )


def stuck(records: Any, seconds: float) -> Any:
    """Records that could be read for so long and nobody fetched, or that a group fetched and did not commit."""
    waiting = f"idle > {int(seconds * 1e6)} AND NOT over"
    unread = f"fetched_us IS NULL AND readable_us IS NOT NULL AND {waiting}"
    unsettled = f"fetched_us IS NOT NULL AND group IS NOT NULL AND committed_us IS NULL AND {waiting}"
    kind = f"CASE WHEN {unread} THEN 'never fetched' WHEN {unsettled} THEN 'never committed' END"
    return records.selectExpr("*", f"{kind} AS problem").where("problem IS NOT NULL").orderBy("start_us")


def slowest(records: Any) -> Any:
    return records.where("fetched_us IS NOT NULL").orderBy(records["total"].desc())


def report(spark: Any, storage: Storage, values: Values, count: int) -> Report:
    """What a person wants to see of the tables."""
    by_minute = spark.read.parquet(storage.path("latencies")).collect()
    found = Report("Timelines", f"{count:,} events of {values['events']}; times in milliseconds")
    for topic in sorted({row.topic for row in by_minute}):
        for stage in STAGES:
            rows = [row for row in by_minute if (row.topic, row.stage) == (topic, stage)]
            if rows:
                records = sum(row.records for row in rows)
                found.heading(f"{topic}: {stage}", f"{records:,} records; percentiles by minute of arrival")
                found.lines(
                    {name: [(row.minute.timestamp(), row[name] / 1000) for row in rows] for name in QUANTILES}, "ms"
                )
    found.heading("Stuck", f"readable for more than {values['stuck_seconds']:g} s; oldest first")
    rows = spark.read.parquet(storage.path("stuck")).orderBy("start_us").collect()
    headers = ("problem", "record", "key", "trace", "last step", "idle s")
    found.table(headers, [(row.problem, *_named(row), row.last_event, row.idle / 1e6) for row in rows], bar=5)
    found.heading("Slowest", "from arrival to the first commit beyond it, or to the first fetch if there was none")
    rows = spark.read.parquet(storage.path("slowest")).orderBy("total", ascending=False).collect()
    columns = ("record", "key", "trace", *(f"{stage} ms" for stage in STAGES), "total ms")
    found.table(
        columns,
        [(*_named(row), *(_ms(row[stage]) for stage in STAGES), _ms(row.total)) for row in rows],
        bar=len(columns) - 1,
    )
    return found


def _named(row: Any) -> tuple[str, str, str]:
    offset = "?" if row.offset is None else row.offset
    return f"{row.topic}-{row.partition} @ {offset}", row.key or "", row.trace_id


def _ms(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1000
