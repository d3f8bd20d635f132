"""The pipeline `usage`: who writes how much, when, and with which keys. A streaming query with watermarks.

Per window, topic, partition and key records and bytes are counted; when the watermark has passed a window, its counts
become rows of tables, each exactly once: `partitions` (counts, distinct keys), `keys` (the hottest), and `tenants`
where some are named (counts of all their topics).
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import reduce
from typing import Any

from tools.pipelines import usage_report
from tools.pipelines.kafka import Cluster
from tools.pipelines.objects import storage_at
from tools.pipelines.options import OK, PipelineError, UsageError, Values
from tools.pipelines.progress import Progress
from tools.pipelines.ranges import Offsets, merged
from tools.pipelines.running import connected, progress_for, session_for, stopping
from tools.pipelines.storage import Storage
from tools.pipelines.times import span
from tools.pipelines.watching import Watch, follow_ends

LOOK_S = 0.5
PLANNED = "_checkpoint/offsets"
# As text where it is text; anything else by its bytes.
KEY_TEXT = "CASE WHEN is_valid_utf8(CAST(key AS STRING)) THEN CAST(key AS STRING) ELSE concat('0x', hex(key)) END"


def run(values: Values) -> int:
    """Counts what is there, or with `follow` what comes; then writes the report."""
    if not values["topics"] and not values["pattern"]:
        if not values["tenants"]:
            raise UsageError("--topics, --pattern or --tenants is missing: which topics to look at")
        values = {**values, "pattern": pattern_of(values["tenants"])}
    lengths = {"window": span("window", values["window"], least=1), "watermark": span("watermark", values["watermark"])}
    values = {**values, **lengths}
    with session_for("usage", values) as spark, progress_for("usage", values, spark) as progress:
        storage = storage_at(spark, values["output"])
        with connected(spark, values) as cluster:
            late = Counting(spark, cluster, storage, values, progress).run()
        progress.doing = "writing the report"
        write_report(spark, storage, values, late)
        progress.say(f"{storage.path('report.html')}")
    return OK


class Counting:
    """The query."""

    def __init__(self, spark: Any, cluster: Cluster, storage: Storage, values: Values, progress: Progress) -> None:
        self._spark = spark
        self._cluster = cluster
        self._storage = storage
        self._values = values
        self._progress = progress

    def run(self) -> int:
        """Runs to the end; gives how many records came later than the watermark allows."""
        topics = self._cluster.topics(self._values["topics"], self._values["pattern"])
        if not topics:
            raise PipelineError(f"no topic matches {self._values['pattern']!r}")
        self._progress.doing = "starting the query"
        isolation = self._values["isolation"]
        partitions = {name: range(count) for name, (_, count) in self._cluster.descriptions(topics).items()}
        begins = self._cluster.offsets(partitions, self._values["start"], isolation)
        ends = self._cluster.offsets(partitions, "latest", isolation)
        self._progress.begin(merged(begins, self._reached_before()), ends)
        writer = self._counted().writeStream.outputMode("append").foreachBatch(self._write)
        writer = writer.option("checkpointLocation", self._storage.path("_checkpoint"))
        if self._values["follow"]:
            query = writer.trigger(processingTime=f"{self._values['interval']:g} seconds").start()
        else:
            query = writer.trigger(availableNow=True).start()
        late, seen = 0, ""
        try:
            with self._looking(partitions), stopping() as asked:
                while not asked.is_set() and not query.awaitTermination(LOOK_S):
                    late, seen = self._tell(query, late, seen)
        except KeyboardInterrupt:
            pass
        finally:
            query.stop()
        return self._tell(query, late, seen)[0]

    def _counted(self) -> Any:
        from pyspark.sql import functions as f

        values = self._values
        chosen = (
            {"subscribePattern": values["pattern"]} if values["pattern"] else {"subscribe": ",".join(values["topics"])}
        )
        options = {
            **self._cluster.source_options,
            **chosen,
            "kafka.isolation.level": values["isolation"],
            "startingOffsets": values["start"],
            "maxOffsetsPerTrigger": str(values["max_records"]),
            "failOnDataLoss": "false",
        }
        source = self._spark.readStream.format("kafka").options(**options).load()
        size = "coalesce(length(key), 0) + coalesce(length(value), 0)"
        return (
            source.selectExpr("topic", "partition", "timestamp", "key", f"{size} AS size")
            .withWatermark("timestamp", values["watermark"])
            .groupBy(f.window("timestamp", values["window"]), "topic", "partition", "key")
            .agg(f.count("*").alias("records"), f.sum("size").alias("bytes"))
        )

    def _write(self, counted: Any, number: int) -> None:
        """Windows that are done. A batch that is run again replaces what it wrote."""
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        done = counted.selectExpr("window.start AS start", "window.end AS end", "*").drop("window").persist()
        try:
            if done.isEmpty():
                return
            self._save(per_partition(done), "partitions", number)
            if self._values["tenants"]:
                self._save(per_tenant(done, self._values["tenants"]), "tenants", number)
            order = Window.partitionBy("start", "topic").orderBy(f.desc("records"), "key")
            hottest = per_key(done).withColumn("place", f.row_number().over(order))
            self._save(hottest.where(f"place <= {self._values['hot_keys']}"), "keys", number)
        finally:
            done.unpersist()

    def _save(self, table: Any, name: str, number: int) -> None:
        table.coalesce(1).write.mode("overwrite").parquet(self._storage.path(f"{name}/batch={number}"))

    def _reached_before(self) -> Offsets:
        """How far an earlier run came, by the checkpoint."""
        numbers = [int(name) for name in self._storage.names(PLANNED) if name.isdigit()]
        if not numbers:
            return {}
        return offsets_of(self._storage.read(f"{PLANNED}/{max(numbers)}").splitlines()[-1])

    def _looking(self, partitions: Mapping[str, range]) -> Any:
        """What is taken a look at beside the query's own progress, if somebody sees it."""
        if not self._progress.draws:
            return nullcontext()
        return Watch(follow_ends(self._cluster, self._progress, partitions, self._values["isolation"]))

    def _tell(self, query: Any, late: int, seen: str) -> tuple[int, str]:
        """Notes what the micro-batches since the last look say of themselves."""
        for progress in _news(query, seen):
            seen = progress["timestamp"]
            self._progress.doing = f"micro-batch {progress['batchId']} is done"
            late += sum(int(state["numRowsDroppedByWatermark"]) for state in progress["stateOperators"])
            if progress["numInputRows"]:
                self._note(progress)
        return late, seen

    def _note(self, progress: Any) -> None:
        source = progress["sources"][0]
        reached = offsets_of(source["endOffset"])
        self._progress.begin(offsets_of(source["startOffset"]), {})
        self._progress.batch(progress["numInputRows"], reached, offsets_of(source["latestOffset"]))
        if self._values["group"]:
            self._cluster.commit(self._values["group"], reached)


def _news(query: Any, seen: str) -> list[dict[str, Any]]:
    """Progress that nobody has looked at yet, by when it began: while it waits for records, a query tells of itself
    under the number of the micro-batch that comes next. PySpark would take apart all of the last hundred, field by
    field across the JVM's border, at each look."""
    found = []
    for event in reversed(list(query._jsq.recentProgress())):
        if event.timestamp() <= seen:
            break
        found.append(json.loads(event.json()))
    return found[::-1]


def offsets_of(told: Any) -> Offsets:
    """Offsets as Spark's progress has them: an object or its text; before the first micro-batch neither."""
    if isinstance(told, str):
        try:
            told = json.loads(told)
        except ValueError:
            return {}
    if not isinstance(told, dict):
        return {}
    return {topic: {int(number): at for number, at in each.items()} for topic, each in told.items()}


def open_windows(spark: Any, storage: Storage) -> Any:
    """What was counted in windows that are not done yet, by key, out of the query's state; None if it has none."""
    if not storage.exists("_checkpoint/state"):
        return None
    state = spark.read.format("statestore").load(storage.path("_checkpoint"))
    window = state.schema["key"].dataType.names[0]
    return state.selectExpr(
        f"key.`{window}`.start AS start",
        f"key.`{window}`.end AS end",
        "key.topic AS topic",
        "key.partition AS partition",
        "key.key AS key",
        "value.count AS records",
        "value.sum AS bytes",
    )


def per_partition(counted: Any) -> Any:
    """Counts by key, added up."""
    from pyspark.sql import functions as f

    return counted.groupBy("start", "end", "topic", "partition").agg(
        f.sum("records").alias("records"), f.sum("bytes").alias("bytes"), f.count("key").alias("keys")
    )


def pattern_of(tenants: Sequence[str]) -> str:
    """What matches the topics of these tenants."""
    return f"({'|'.join(map(re.escape, tenants))})\\..+"


def per_tenant(counted: Any, tenants: Sequence[str]) -> Any:
    """Counts of the topics of each tenant, added up."""
    from pyspark.sql import functions as f

    mine = counted.withColumn("tenant", f.substring_index("topic", ".", 1))
    mine = mine.where(f.col("tenant").isin(list(tenants)) & f.col("topic").contains("."))
    return mine.groupBy("start", "end", "tenant").agg(
        f.sum("records").alias("records"), f.sum("bytes").alias("bytes"), f.count_distinct("topic").alias("topics")
    )


def per_key(counted: Any) -> Any:
    """The same over all partitions, without records that have no key."""
    from pyspark.sql import functions as f

    by_key = counted.where("key IS NOT NULL").groupBy("start", "end", "topic", "key")
    totals = by_key.agg(f.sum("records").alias("records"), f.sum("bytes").alias("bytes"))
    return totals.withColumn("key_text", f.expr(KEY_TEXT))


def write_report(spark: Any, storage: Storage, values: Values, late: int) -> None:
    """`report.html` over all windows that are done, and what was counted in the others so far."""
    window, watermark = values["window"], values["watermark"]
    partitions, keys, unfinished = [], [], open_windows(spark, storage)
    if storage.exists("partitions"):
        partitions.append(spark.read.parquet(storage.path("partitions")).drop("batch"))
        keys.append(spark.read.parquet(storage.path("keys")).select("topic", "key_text", "records", "bytes"))
    if unfinished is not None:
        partitions.append(per_partition(unfinished))
        keys.append(per_key(unfinished).select("topic", "key_text", "records", "bytes"))
    facts = None
    if partitions:
        tables = [reduce(lambda one, other: one.unionByName(other), each) for each in (partitions, keys)]
        facts = usage_report.collect(tables[0], tables[1], window, watermark, values["hot_keys"], late)
    page = usage_report.empty_page(window, watermark)
    if facts is not None:
        waiting = 0 if unfinished is None else unfinished.selectExpr("coalesce(sum(records), 0)").first()[0]
        page = usage_report.page(replace(facts, unfinished=waiting, tenants=tuple(values["tenants"])))
    storage.write("report.html", page.html())
