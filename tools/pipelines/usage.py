"""The pipeline `usage`: who writes how much, when, and with which keys. A streaming query with watermarks.

Per window, topic, partition and key records and bytes are counted; when the watermark has passed a window, its counts
become rows of two tables, each exactly once: `partitions` (counts, distinct keys) and `keys` (the hottest).
"""

from typing import Any

from tools.pipelines.kafka import Cluster
from tools.pipelines.options import OK, PipelineError, UsageError, Values
from tools.pipelines.progress import Progress
from tools.pipelines.ranges import Offsets
from tools.pipelines.report import Report
from tools.pipelines.running import session_for
from tools.pipelines.storage import Storage

# As text where it is text; anything else by its bytes.
KEY_TEXT = "CASE WHEN is_valid_utf8(CAST(key AS STRING)) THEN CAST(key AS STRING) ELSE concat('0x', hex(key)) END"


def run(values: Values) -> int:
    """Counts what is there, or with `follow` what comes; then writes the report."""
    if not values["topics"] and not values["pattern"]:
        raise UsageError("--topics or --pattern is missing: which topics to look at")
    with session_for("usage", values) as spark:
        storage = Storage(spark, values["output"])
        cluster = Cluster(spark, values["bootstrap"], values["kafka"])
        try:
            late = Counting(spark, cluster, storage, values).run()
        finally:
            cluster.close()
        write_report(spark, storage, values, late)
    return OK


class Counting:
    """The query."""

    def __init__(self, spark: Any, cluster: Cluster, storage: Storage, values: Values) -> None:
        self._spark = spark
        self._cluster = cluster
        self._storage = storage
        self._values = values
        self._progress = Progress("usage", values["metrics_file"], values["quiet"])

    def run(self) -> int:
        """Runs to the end; gives how many records came later than the watermark allows."""
        if not self._cluster.topics(self._values["topics"], self._values["pattern"]):
            raise PipelineError(f"no topic matches {self._values['pattern']!r}")
        writer = self._counted().writeStream.outputMode("append").foreachBatch(self._write)
        writer = writer.option("checkpointLocation", self._storage.path("_checkpoint"))
        if self._values["follow"]:
            query = writer.trigger(processingTime=f"{self._values['interval']:g} seconds").start()
        else:
            query = writer.trigger(availableNow=True).start()
        late, seen = 0, -1
        try:
            while not query.awaitTermination(1):
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
            partitions = done.groupBy("start", "end", "topic", "partition").agg(
                f.sum("records").alias("records"), f.sum("bytes").alias("bytes"), f.count("key").alias("keys")
            )
            self._save(partitions, "partitions", number)
            by_key = done.where("key IS NOT NULL").groupBy("start", "end", "topic", "key")
            totals = by_key.agg(f.sum("records").alias("records"), f.sum("bytes").alias("bytes"))
            order = Window.partitionBy("start", "topic").orderBy(f.desc("records"), "key")
            hottest = totals.withColumn("place", f.row_number().over(order)).where(
                f"place <= {self._values['hot_keys']}"
            )
            self._save(hottest.withColumn("key_text", f.expr(KEY_TEXT)), "keys", number)
        finally:
            done.unpersist()

    def _save(self, table: Any, name: str, number: int) -> None:
        table.coalesce(1).write.mode("overwrite").parquet(self._storage.path(f"{name}/batch={number}"))

    def _tell(self, query: Any, late: int, seen: int) -> tuple[int, int]:
        """Notes what the micro-batches since the last look say of themselves."""
        for progress in query.recentProgress:
            if progress["batchId"] > seen:
                seen = progress["batchId"]
                late += sum(int(state["numRowsDroppedByWatermark"]) for state in progress["stateOperators"])
                if progress["numInputRows"]:
                    self._note(progress)
        return late, seen

    def _note(self, progress: Any) -> None:
        import json

        def offsets(name: str) -> Offsets:
            told = progress["sources"][0][name]
            told = json.loads(told) if isinstance(told, str) else told
            return {topic: {int(number): at for number, at in each.items()} for topic, each in (told or {}).items()}

        reached = offsets("endOffset")
        self._progress.batch(progress["numInputRows"], reached, offsets("latestOffset"))
        if self._values["group"]:
            self._cluster.commit(self._values["group"], reached)


def write_report(spark: Any, storage: Storage, values: Values, late: int) -> None:
    """`report.html` over all windows that are done."""
    report = Report("Usage", f"windows of {values['window']}, done when {values['watermark']} have passed")
    if storage.exists("partitions"):
        _fill(spark, storage, report, values)
    else:
        report.heading("No window is done yet", f"the watermark is {values['watermark']} behind the newest record")
    if late:
        report.heading("Late", f"{late:,} groups of records came later than the watermark allows and are not counted")
    storage.write("report.html", report.html())


def _fill(spark: Any, storage: Storage, report: Report, values: Values) -> None:
    from pyspark.sql import functions as f

    partitions = spark.read.parquet(storage.path("partitions")).drop("batch")
    windows = partitions.groupBy("start", "topic").agg(f.sum("records").alias("records"), f.sum("bytes").alias("bytes"))
    rows = windows.orderBy("start").collect()
    topics = sorted({row.topic for row in rows})
    for name in ("records", "bytes"):
        report.heading(f"{name.capitalize()} per window")
        report.lines(
            {
                topic: [(row.start.timestamp(), float(row[name])) for row in rows if row.topic == topic]
                for topic in topics
            }
        )
    report.heading(
        "Partitions", "skew: records as a multiple of the topic's mean; keys: distinct ones of a window, at most"
    )
    totals = partitions.groupBy("topic", "partition").agg(
        f.sum("records").alias("records"), f.sum("bytes").alias("bytes"), f.max("keys").alias("keys")
    )
    skewed = totals.selectExpr("*", "records / avg(records) OVER (PARTITION BY topic) AS skew")
    report.table(
        ("topic", "partition", "records", "bytes", "keys", "skew"),
        [tuple(row) for row in skewed.orderBy("topic", "partition").collect()],
        bar=5,
    )
    report.heading("Hot keys", "of the hottest of each window")
    keys = spark.read.parquet(storage.path("keys")).groupBy("topic", "key_text").agg(f.sum("records").alias("records"))
    hottest = keys.orderBy(f.desc("records"), "key_text").limit(values["hot_keys"]).collect()
    report.table(("topic", "key", "records"), [tuple(row) for row in hottest], bar=2)
