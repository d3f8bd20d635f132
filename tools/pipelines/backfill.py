"""The pipeline `backfill`: an archive's records back into a topic, at a chosen rate, resumable, without duplicates.

`replay.py` does the writing, on the executors; here is chosen what, and told how far it is.
"""

from typing import Any

from tools.pipelines.archive.typed import KnownSchemas
from tools.pipelines.kafka import Cluster
from tools.pipelines.options import OK, PipelineError, UsageError, Values
from tools.pipelines.progress import Progress
from tools.pipelines.ranges import Offsets
from tools.pipelines.replay import Target, replay
from tools.pipelines.running import connected, progress_for, session_for
from tools.pipelines.tables.opening import archive_of, check
from tools.pipelines.times import epoch_ms
from tools.pipelines.typed.registry import Registry
from tools.pipelines.watching import Watch

POLL_S = 2.0
Times = tuple[int | None, int | None]
"""From when, until when, in epoch ms."""


def run(values: Values) -> int:
    """Replays what is left to replay, and tells how much it was."""
    since, until = (epoch_ms(name, values[name]) for name in ("since", "until"))
    if since is not None and until is not None and since >= until:
        raise UsageError("--since is not before --until: nothing lies between")
    check(values)
    with (
        session_for("backfill", values) as spark,
        progress_for("backfill", values, spark) as progress,
        connected(spark, values) as cluster,
    ):
        Backfill(spark, cluster, values, progress, (since, until)).run()
    return OK


class Backfill:
    """One job, which its name identifies over restarts."""

    def __init__(self, spark: Any, cluster: Cluster, values: Values, progress: Progress, times: Times) -> None:
        self._spark = spark
        self._cluster = cluster
        self._values = values
        self._since, self._until = times
        self._archive = archive_of(spark, values)
        self._topic: str = values["topic"]
        self._to: str = values["to"]
        self._name = values["name"] or f"backfill-{self._topic}-to-{self._to}"
        self._progress = progress
        if self._topic not in self._archive.state.offsets:
            raise PipelineError(f"{self._archive.storage.root} has no topic {self._topic}")
        self._ends = {self._topic: self._archive.state.offsets[self._topic]}

    def run(self) -> None:
        self._check_target()
        self._progress.begin(self._reached(), self._ends)
        done = self._cluster.committed(self._name).get(self._to, {})
        left, told = self._archive.left(self._topic, done)
        if done:
            self._progress.say(f"goes on with {self._name}: {told}")
        written = self._replay(left) if left is not None else 0
        reached = self._reached()
        self._progress.batch(written, reached, self._ends)
        self._commit(reached)
        self._progress.say(f"{written:,} records of {self._topic} are in {self._to} now")

    def _check_target(self) -> None:
        if self._values["group"]:
            self._cluster.topics([self._topic])
        (target,) = self._cluster.topics([self._to])
        _, count = self._cluster.descriptions([target])[target]
        needed = max(self._archive.state.offsets[self._topic]) + 1
        if count < needed:
            raise PipelineError(f"{target} has {count} partitions, {self._topic} has {needed}: give it as many")

    def _replay(self, records: Any) -> int:
        chosen = self._chosen(records)
        partitions = len(self._archive.state.offsets[self._topic])
        tasks = min(partitions, self._spark.sparkContext.defaultParallelism)
        target = Target(
            name=self._name,
            topic=self._to,
            clients={
                **(self._values["producer"] or self._values["kafka"]),
                "bootstrap.servers": self._values["bootstrap"],
            },
            keep_partitions=self._values["partitioning"] == "keep",
            shift_ms=self._values["shift_ms"],
            transaction_records=self._values["transaction_records"],
            per_second=self._values["rate"] / tasks,
            framings=self._framings(),
        )
        ordered = chosen.repartition(partitions, "partition").sortWithinPartitions("partition", "offset")
        job = ordered.rdd.mapPartitions(lambda rows: replay(target, rows))
        self._progress.doing = f"writing to {self._to}"
        with Watch(self._tell, every_s=POLL_S):
            return int(sum(job.collect()))

    def _framings(self) -> dict[bytes, bytes]:
        """What the archive's values say of their schemas, and how those are named by the registry of the target."""
        if not self._values["registry"]:
            return {}
        registry = Registry(self._values["registry"], self._values["registry_config"])
        return KnownSchemas(self._archive.storage).moved(registry, self._topic, f"{self._to}-value")

    def _chosen(self, records: Any) -> Any:
        at = "unix_millis(timestamp)"
        if self._since is not None:
            records = records.where(f"{at} >= {self._since}")
        if self._until is not None:
            records = records.where(f"{at} < {self._until}")
        return records.selectExpr("partition", "offset", f"{at} AS timestamp_ms", "key", "value", "headers")

    def _tell(self) -> None:
        reached = self._reached()
        self._progress.batch(0, reached, self._ends)
        self._commit(reached)

    def _commit(self, reached: Offsets) -> None:
        """For lag monitors: how far the job is in the topic that the archive was made of."""
        if self._values["group"]:
            self._cluster.commit(self._values["group"], reached)

    def _reached(self) -> Offsets:
        """How far the job is in the source, by the group that its transactions commit to."""
        starts = self._archive.state.starts[self._topic]
        return {self._topic: {**starts, **self._cluster.committed(self._name).get(self._to, {})}}
