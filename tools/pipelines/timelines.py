"""The pipeline `timelines`: the events of traced records (`__trace_events`) as latency tables by topic and time.

publish   received until on disk
hold      held: from scheduled or queued until ready or released
deliver   readable until the first fetch
settle    fetched until a group has committed beyond it, or a member of a share group has acknowledged or rejected it
"""

import time
from typing import Any

from tools.pipelines import timelines_report
from tools.pipelines.archive.append import records as records_of
from tools.pipelines.kafka import Cluster
from tools.pipelines.objects import storage_at
from tools.pipelines.options import OK, PipelineError, Values
from tools.pipelines.ranges import Ranges, ends, ranges_between, size, starts
from tools.pipelines.running import connected, progress_for, session_for
from tools.pipelines.storage import Storage
from tools.pipelines.timelines_report import STAGES
from tools.pipelines.times import epoch_ms

SCHEMA = (
    "schema INT, event STRING, time_us BIGINT, since_start_us BIGINT, trace_id STRING, topic STRING, partition INT, "
    "offset BIGINT, key STRING, key_base64 STRING, group STRING, client_id STRING, error STRING"
)
KNOWN_SCHEMA = 1
OVER = ("delay.cancelled", "delay.expired", "publish.failed", "dlq.routed")
SETTLED = ("consume.committed", "consume.acked", "consume.rejected")
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def run(values: Values) -> int:
    """Reads all events that there are now, writes the tables and the report."""
    since, until = (epoch_ms(name, values[name]) for name in ("since", "until"))
    with (
        session_for("timelines", values) as spark,
        progress_for("timelines", values, spark) as progress,
        connected(spark, values) as cluster,
    ):
        storage = storage_at(spark, values["output"])
        ranges = events_ranges(cluster, values["events"])
        progress.begin(starts(ranges), ends(ranges))
        progress.doing = "reading events"
        events = read_events(spark, cluster, ranges, since, until)
        records = timelines(events, int(time.time() * 1e6))
        records.write.mode("overwrite").parquet(storage.path("records"))
        progress.batch(size(ranges), ends(ranges), ends(ranges))
        if values["group"]:
            cluster.commit(values["group"], ends(ranges))
        for name, table in tables(spark.read.parquet(storage.path("records")), values).items():
            progress.doing = f"writing {name}"
            table.write.mode("overwrite").parquet(storage.path(name))
        page = timelines_report.page(facts(spark, storage, values, size(ranges)))
        storage.write("report.html", page.html())
        progress.say(f"{size(ranges):,} events; {storage.path('report.html')}")
    return OK


def events_ranges(cluster: Cluster, topic: str) -> Ranges:
    """All offsets that the topic of the events has now."""
    try:
        cluster.topics([topic])
    except PipelineError:
        raise PipelineError(
            f"the broker has no topic {topic}: nothing was traced yet, or trace.events.topic.enable is off"
        ) from None
    partitions = {topic: range(cluster.descriptions([topic])[topic][1])}
    first, last = (cluster.offsets(partitions, which, "read_committed") for which in ("earliest", "latest"))
    ranges = ranges_between(first, last)
    if not ranges:
        raise PipelineError(f"{topic} is empty")
    return ranges


def read_events(spark: Any, cluster: Cluster, ranges: Ranges, since: int | None, until: int | None) -> Any:
    """The events of a range of time."""
    source = records_of(spark, cluster, ranges, "read_committed")
    events = source.selectExpr(f"from_json(CAST(value AS STRING), '{SCHEMA}') AS e").select("e.*")
    events = events.where(f"schema = {KNOWN_SCHEMA} AND trace_id IS NOT NULL")
    if since is not None:
        events = events.where(f"time_us >= {since * 1000}")
    if until is not None:
        events = events.where(f"time_us < {until * 1000}")
    return events


def tables(records: Any, values: Values) -> dict[str, Any]:
    """What is made of `records`, which has a row per record."""
    return {
        "latencies": latencies(records, values["step"]),
        "stages": stages(records),
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
        first(*SETTLED).alias("committed_us"),
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


def latencies(records: Any, step_s: float) -> Any:
    """Percentiles by topic, step of time (of arrival) and stage, in microseconds."""
    step_us = max(1, int(step_s * 1e6))
    start = f"timestamp_micros(start_us DIV {step_us} * {step_us}) AS start"
    return _percentiles(records, STAGES, "topic", start).orderBy("topic", "start", "stage")


def stages(records: Any) -> Any:
    """Percentiles by topic and stage, and of all stages together, in microseconds."""
    read = "CASE WHEN fetched_us IS NOT NULL THEN total END AS total"
    whole = records.selectExpr("topic", *STAGES, read)
    return _percentiles(whole, (*STAGES, timelines_report.TOTAL), "topic")


def _percentiles(records: Any, kinds: tuple[str, ...], *keys: str) -> Any:
    from pyspark.sql import functions as f

    pairs = ", ".join(f"'{kind}', {kind}" for kind in kinds)
    long = records.selectExpr(*keys, f"stack({len(kinds)}, {pairs}) AS (stage, took_us)")
    quantiles = [f.percentile_approx("took_us", value, 10_000).alias(name) for name, value in QUANTILES.items()]
    grouped = long.where("took_us IS NOT NULL").groupBy(*(key.split(" AS ")[-1] for key in keys), "stage")
    return grouped.agg(f.count("*").alias("records"), *quantiles, f.max("took_us").alias("max"))


def stuck(records: Any, seconds: float) -> Any:
    """Records that could be read for so long and nobody fetched, or that a group fetched and did not commit."""
    waiting = f"idle > {int(seconds * 1e6)} AND NOT over"
    unread = f"fetched_us IS NULL AND readable_us IS NOT NULL AND {waiting}"
    unsettled = f"fetched_us IS NOT NULL AND group IS NOT NULL AND committed_us IS NULL AND {waiting}"
    kind = f"CASE WHEN {unread} THEN 'never fetched' WHEN {unsettled} THEN 'never committed' END"
    return records.selectExpr("*", f"{kind} AS problem").where("problem IS NOT NULL").orderBy("start_us")


def slowest(records: Any) -> Any:
    return records.where("fetched_us IS NOT NULL").orderBy(records["total"].desc())


def facts(spark: Any, storage: Storage, values: Values, count: int) -> timelines_report.Facts:
    """What the page shows, out of the tables."""
    from pyspark.sql import functions as f

    def table(name: str) -> Any:
        return spark.read.parquet(storage.path(name))

    first, last = table("records").selectExpr("min(start_us) / 1e6", "max(start_us) / 1e6").first()
    by_step = table("latencies").withColumn("start_s", f.expr("unix_micros(start) / 1e6"))
    return timelines_report.Facts(
        count,
        values["events"],
        values["step"],
        values["stuck_seconds"],
        table("stages").collect(),
        by_step.orderBy("start_s").collect(),
        table("stuck").orderBy("start_us").collect(),
        table("slowest").orderBy("total", ascending=False).collect(),
        values["most"],
        (first or 0.0, last or 0.0),
    )
