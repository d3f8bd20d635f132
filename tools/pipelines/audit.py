"""The pipeline `audit`: is the archive what the topic is, and are its files what its log says?

Topic and archive are first compared by buckets of offsets, by count and checksum; only buckets that differ are compared
record by record.
"""

import json
import sys
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any

from tools.pipelines.archive.append import records
from tools.pipelines.archive.files import RECORD_HASH
from tools.pipelines.kafka import Cluster
from tools.pipelines.options import DIFFERENT, OK, PipelineError, Values
from tools.pipelines.progress import Progress
from tools.pipelines.ranges import Offsets, Ranges
from tools.pipelines.running import connected, progress_for, session_for
from tools.pipelines.tables.opening import archive_of, check


@dataclass
class Verdict:
    """What was found out about one partition. `samples` holds the first offsets of each fault."""

    topic: str
    partition: int
    archived: tuple[int, int]
    compared: tuple[int, int]
    rows: int = 0
    behind: int = 0
    compacted: bool = False
    faults: dict[str, int] = field(default_factory=dict)
    samples: dict[str, list[int]] = field(default_factory=dict)

    @property
    def same(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        name = f"{self.topic}-{self.partition}"
        first, end = self.compared
        told = (
            f"{name}: {self.rows:,} records, compared from offset {first} to {end - 1}"
            if end > first
            else (f"{name}: {self.rows:,} records, of which the topic has none any more")
        )
        if self.behind:
            told += f", {self.behind:,} not archived yet"
        if self.same:
            return told + ": the same"
        faults = (
            f"{count:,} {fault} (offset {_sampled(self.samples.get(fault, []), count)})"
            for fault, count in self.faults.items()
        )
        return told + ": " + ", ".join(faults)


def _sampled(offsets: list[int], count: int) -> str:
    return ", ".join(map(str, offsets)) + (", ..." if count > len(offsets) else "")


@dataclass
class Report:
    """All verdicts, and what is wrong with files."""

    verdicts: list[Verdict]
    files: list[str]

    @property
    def same(self) -> bool:
        return not self.files and all(verdict.same for verdict in self.verdicts)


def run(values: Values) -> int:
    """Compares, tells, and ends with `DIFFERENT` if anything differs."""
    check(values)
    with (
        session_for("audit", values) as spark,
        progress_for("audit", values, spark) as progress,
        connected(spark, values) as cluster,
    ):
        report = Auditor(spark, cluster, values, progress).report()
        if values["group"]:
            cluster.commit(values["group"], _offsets(report.verdicts, 1))
    for line in [*report.files, *map(str, report.verdicts)]:
        print(line)
    if values["report"]:
        with open(values["report"], "w") as file:
            json.dump(asdict(report) | {"same": report.same}, file, indent=1)
    sys.stdout.flush()
    return OK if report.same else DIFFERENT


class Auditor:
    """Compares an archive with its topics."""

    def __init__(self, spark: Any, cluster: Cluster, values: Values, progress: Progress) -> None:
        self._spark = spark
        self._cluster = cluster
        self._values = values
        self._progress = progress
        self._archive = archive_of(spark, values)
        if self._archive.state.number < 0:
            raise PipelineError(f"there is no archive in {self._archive.storage.root}")
        self._topics = values["topics"] or sorted(self._archive.state.offsets)
        unknown = sorted(set(self._topics) - set(self._archive.state.offsets))
        if unknown:
            raise PipelineError(f"the archive has no topic {', '.join(unknown)}")
        self._files = [file for file in self._archive.state.files.values() if file.topic in self._topics]

    def report(self) -> Report:
        self._progress.doing = "reading the archive"
        problems, found = self._archive.check(self._topics)
        verdicts = self._verdicts()
        ends = _offsets(verdicts, 1)
        self._progress.begin(_offsets(verdicts, 0), ends)
        archive = self._hashed(found)
        self._note(verdicts, self._duplicates(archive))
        self._progress.doing = "comparing it with the topics"
        self._compare(verdicts, archive)
        self._progress.batch(sum(each.compared[1] - each.compared[0] for each in verdicts), ends, ends)
        return Report(verdicts, problems)

    def _verdicts(self) -> list[Verdict]:
        """One per partition, with what of it can be compared."""
        state = self._archive.state
        ends = {topic: state.offsets[topic] for topic in self._topics}
        known = set(self._cluster.topics([], ".*"))
        living = [topic for topic in self._topics if topic in known]
        partitions = {topic: list(state.offsets[topic]) for topic in living}
        firsts = self._cluster.offsets(partitions, "earliest", self._values["isolation"]) if living else {}
        lasts = self._cluster.offsets(partitions, "latest", self._values["isolation"]) if living else {}
        rows = self._archive.rows(self._topics)
        verdicts = []
        for topic, numbers in ends.items():
            compacted = topic in living and self._cluster.compacted(topic)
            for number, end in sorted(numbers.items()):
                start = state.starts[topic][number]
                first = min(max(start, firsts.get(topic, {}).get(number, end)), end)
                behind = max(0, lasts.get(topic, {}).get(number, end) - end)
                verdicts.append(
                    Verdict(topic, number, (start, end), (first, end), rows.get((topic, number), 0), behind, compacted)
                )
        return verdicts

    def _hashed(self, frame: Any) -> Any:
        bucket = f"offset DIV {self._values['bucket']} AS bucket"
        return frame.selectExpr("topic", "partition", "offset", bucket, f"{RECORD_HASH} AS hash")

    def _duplicates(self, archive: Any) -> Any:
        found = archive.groupBy("topic", "partition", "offset").count().where("count > 1")
        return found.selectExpr("topic", "partition", "offset", "'duplicated' AS fault")

    def _compare(self, verdicts: list[Verdict], archive: Any) -> None:
        ranges: Ranges = defaultdict(dict)
        for verdict in verdicts:
            if verdict.compared[0] < verdict.compared[1]:
                ranges[verdict.topic][verdict.partition] = verdict.compared
        if not ranges:
            return
        source = records(self._spark, self._cluster, dict(ranges), self._values["isolation"])
        topic = self._hashed(source.withColumnRenamed("timestampType", "timestamp_type"))
        rows = [(each.topic, each.partition, each.compared[0]) for each in verdicts]
        firsts = self._spark.createDataFrame(rows, "topic STRING, partition INT, first BIGINT")
        # Both sides without duplicates and from the same offset on: what remains must be equal.
        archive = archive.join(firsts, ["topic", "partition"]).where("offset >= first").drop("first").distinct()
        differing = _buckets(topic).exceptAll(_buckets(archive)).union(_buckets(archive).exceptAll(_buckets(topic)))
        places = differing.select("topic", "partition", "bucket").distinct().persist()
        if not places.isEmpty():
            self._note(verdicts, self._differences(topic, archive, places))
        places.unpersist()

    def _differences(self, topic: Any, archive: Any, places: Any) -> Any:
        """Record by record, in the buckets that differ."""
        bucket, keys = ["topic", "partition", "bucket"], ["topic", "partition", "offset"]
        ours, theirs = (frame.join(places, bucket) for frame in (topic, archive))
        joined = ours.select(*keys, ours["hash"].alias("new")).join(
            theirs.select(*keys, theirs["hash"].alias("old")), keys, "full_outer"
        )
        fault = "CASE WHEN old IS NULL THEN 'missing' WHEN new IS NULL THEN 'extra' WHEN new <> old THEN 'altered' END"
        return joined.selectExpr(*keys, f"{fault} AS fault")

    def _note(self, verdicts: list[Verdict], faulty: Any) -> None:
        """Counts faults, and keeps the first offsets of each as samples."""
        places = {(verdict.topic, verdict.partition): verdict for verdict in verdicts}
        samples = self._values["samples"]
        group = "PARTITION BY topic, partition, fault"
        numbered = faulty.where("fault IS NOT NULL").selectExpr(
            "*", f"row_number() OVER ({group} ORDER BY offset) AS place", f"count(*) OVER ({group}) AS total"
        )
        for row in numbered.where(f"place <= {max(1, samples)}").orderBy("place").collect():
            verdict = places[row.topic, row.partition]
            if row.fault == "extra" and verdict.compacted:
                continue  # the topic has compacted them away
            verdict.faults[row.fault] = row.total
            verdict.samples.setdefault(row.fault, []).append(row.offset)


def _offsets(verdicts: list[Verdict], which: int) -> Offsets:
    """Where the comparison begins (0) or ends (1)."""
    found: Offsets = {}
    for each in verdicts:
        found.setdefault(each.topic, {})[each.partition] = each.compared[which]
    return found


def _buckets(hashed: Any) -> Any:
    from pyspark.sql import functions

    counted = (functions.count("*").alias("records"), functions.bit_xor("hash").alias("checksum"))
    return hashed.groupBy("topic", "partition", "bucket").agg(*counted)
