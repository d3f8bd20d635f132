"""One batch of an archive: a range of offsets read from the topics, written to files, committed."""

import json
import time
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from tools.pipelines.archive.entries import Entry, State
from tools.pipelines.archive.files import describe, laid_out, write
from tools.pipelines.archive.log import ArchiveLog
from tools.pipelines.archive.schemas import Schemas, with_json
from tools.pipelines.archive.typed import KnownSchemas, with_data
from tools.pipelines.kafka import Cluster
from tools.pipelines.options import PipelineError
from tools.pipelines.ranges import Offsets, Ranges, ranges_between, to_json
from tools.pipelines.storage import Storage
from tools.pipelines.typed.registry import Registry


@dataclass(frozen=True)
class Layout:
    """How an archive is read and written."""

    isolation: str = "read_committed"
    json_topics: tuple[str, ...] = ()
    files_per_hour: int = 1
    max_records_per_file: int = 5_000_000
    schema_topics: tuple[str, ...] = ()
    registry: Registry | None = None
    """Who knows the schemas of those."""

    def has_json(self, topic: str) -> bool:
        return topic in self.json_topics or "*" in self.json_topics

    def has_schemas(self, topic: str) -> bool:
        return topic in self.schema_topics or "*" in self.schema_topics


@dataclass(frozen=True)
class Plan:
    """What there is to read, and what can no longer be read."""

    ranges: Ranges
    ends: Offsets
    topic_ids: dict[str, str]
    gaps: Ranges = field(default_factory=dict)
    begun: Ranges = field(default_factory=dict)
    """Empty ranges of topics that are new to the archive and of which only what comes is wanted."""


def records(spark: Any, cluster: Cluster, ranges: Ranges, isolation: str) -> Any:
    """The records of some ranges of offsets, with headers, in Spark's own columns."""
    starts = {topic: {number: start for number, (start, _) in each.items()} for topic, each in ranges.items()}
    ends = {topic: {number: end for number, (_, end) in each.items()} for topic, each in ranges.items()}
    options = {
        **cluster.source_options,
        "kafka.isolation.level": isolation,
        "assign": json.dumps({topic: list(each) for topic, each in ranges.items()}),
        "startingOffsets": json.dumps(to_json(starts)),
        "endingOffsets": json.dumps(to_json(ends)),
        "includeHeaders": "true",
    }
    return spark.read.format("kafka").options(**options).load()


def plan(cluster: Cluster, state: State, topics: list[str], isolation: str, *, start: str = "earliest") -> Plan:
    """From where the archive ends to where the topics end now."""
    described = cluster.descriptions(topics)
    _refuse_other_topics(state, {topic: identity for topic, (identity, _) in described.items()})
    partitions = {topic: range(count) for topic, (_, count) in described.items()}
    firsts = cluster.offsets(partitions, "earliest", isolation)
    ends = cluster.offsets(partitions, "latest", isolation)
    fresh = firsts if start == "earliest" else ends
    starts: Offsets = {}
    gaps: Ranges = {}
    for topic, numbers in partitions.items():
        done = state.offsets.get(topic)
        for number in numbers:
            # A partition that came after the archive began is archived from its first record on.
            default = fresh[topic][number] if done is None else firsts[topic][number]
            wanted = (done or {}).get(number, default)
            begin = max(wanted, firsts[topic][number])
            starts.setdefault(topic, {})[number] = begin
            if begin > wanted:
                gaps.setdefault(topic, {})[number] = (wanted, begin)
            if ends[topic][number] < wanted:
                raise PipelineError(
                    f"{topic}-{number} ends at offset {ends[topic][number]}, the archive has it up to {wanted}: "
                    "the topic has lost records"
                )
    ids = {topic: described[topic][0] for topic in topics}
    new = {topic for topic in topics if start == "latest" and topic not in state.offsets}
    begun = {topic: {number: (end, end) for number, end in ends[topic].items()} for topic in new}
    return Plan(ranges_between(starts, ends), ends, ids, gaps, begun)


def begin(log: ArchiveLog, found: Plan) -> None:
    """Notes where topics begin of which nothing is archived yet, or the next run would begin later."""
    number = log.state.number + 1
    now_ms = int(time.time() * 1000)
    log.commit(Entry(number, "append", log.run, now_ms, ranges=found.begun, topic_ids=found.topic_ids))


def append(spark: Any, cluster: Cluster, log: ArchiveLog, piece: Plan, layout: Layout) -> Entry:
    """Archives the ranges of a plan in one commit."""
    number = log.state.number + 1
    staging = log.storage.path(log.staging(number))
    source = records(spark, cluster, piece.ranges, layout.isolation)
    for part in _parts(spark, log.storage, source, sorted(piece.ranges), layout):
        write(laid_out(part), staging, layout.files_per_hour, layout.max_records_per_file)
    entry = Entry(
        number=number,
        kind="append",
        run=log.run,
        time_ms=int(time.time() * 1000),
        ranges=piece.ranges,
        topic_ids=piece.topic_ids,
        gaps={topic: each for topic, each in piece.gaps.items() if topic in piece.ranges},
        add=describe(spark, log, number),
    )
    log.commit(entry)
    return entry


def _parts(spark: Any, storage: Storage, source: Any, topics: list[str], layout: Layout) -> list[Any]:
    """The records, those of topics with columns of their own apart."""
    from pyspark.sql import functions

    apart = [topic for topic in topics if layout.has_json(topic) or layout.has_schemas(topic)]
    topic = functions.col("topic")
    parts = [with_columns(spark, storage, source.where(topic == each), each, layout) for each in apart]
    if len(apart) < len(topics):
        rest = reduce(lambda frame, each: frame.where(topic != each), apart, source)
        parts.append(rest)
    return parts


def with_columns(spark: Any, storage: Storage, records: Any, topic: str, layout: Layout) -> Any:
    """Records of one topic with the columns that it has beside those of all topics."""
    if layout.has_json(topic):
        records = with_json(spark, records, topic, Schemas(storage))
    if layout.has_schemas(topic):
        records = with_data(records, topic, KnownSchemas(storage, layout.registry))
    return records


def _refuse_other_topics(state: State, ids: dict[str, str]) -> None:
    for topic, identity in ids.items():
        known = state.topic_ids.get(topic, identity)
        if known != identity:
            raise PipelineError(
                f"{topic} was deleted and made again since it was archived (its id is {identity}, not {known}): "
                "archive it to another place"
            )
