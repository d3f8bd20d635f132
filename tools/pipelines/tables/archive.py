"""The archive that is a table per topic.

    topic=T/          the table of topic T, where it is not one of a catalog
    _format.json      which kind of tables they are
    _schemas/         as in every archive

Each topic is committed by itself; what its table says of how far it is, is all that is known of it.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any, Protocol

from tools.pipelines.archive.append import Layout, Plan, records, with_columns
from tools.pipelines.archive.archive import Check, Place
from tools.pipelines.archive.entries import State
from tools.pipelines.archive.files import COLUMNS, FOLDERS, laid_out, spread
from tools.pipelines.kafka import Cluster
from tools.pipelines.storage import Storage
from tools.pipelines.tables.reached import Reached, after

NAMES = ("partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers")


class Table(Protocol):
    """The table of one topic."""

    name: str

    def recover(self) -> None:
        """Forget what runs that were killed had begun."""

    def reached(self) -> Reached | None:
        """How far the topic is; None if nothing was committed."""

    def commit(self, frame: Any, reached: Reached) -> int:
        """Append records, and say how far the topic is then, in one step; how many they were, or raises `Overtaken`."""

    def frame(self) -> Any:
        """All records."""


class TableArchive:
    """Tables by topic; `known` tells the topics that have one."""

    def __init__(
        self, spark: Any, storage: Storage, table: Callable[[str], Table], known: Callable[[], list[str]]
    ) -> None:
        self._spark = spark
        self.storage = storage
        self._table = table
        self._known = known
        self._run = uuid.uuid4().hex[:12]
        self._reached = self._load()

    @property
    def state(self) -> State:
        each = self._reached.values()
        return State(
            number=sum(one.number + 1 for one in each) - 1,
            offsets={one.topic: one.offsets for one in each},
            topic_ids={one.topic: one.topic_id for one in each},
            starts={one.topic: one.starts for one in each},
        )

    def recover(self) -> None:
        for topic in self._known():
            self._table(topic).recover()
        self._reached = self._load()

    def begin(self, found: Plan) -> None:
        empty = self._spark.createDataFrame([], f"{COLUMNS}, {FOLDERS}")
        for topic, ranges in found.begun.items():
            self._commit(topic, empty, found, ranges)

    def append(self, cluster: Cluster, piece: Plan, layout: Layout) -> int:
        written = 0
        for topic, ranges in sorted(piece.ranges.items()):
            source = records(self._spark, cluster, {topic: ranges}, layout.isolation)
            found = laid_out(with_columns(self._spark, self.storage, source, topic, layout))
            written += self._commit(topic, spread(found, layout.files_per_hour), piece, ranges)
        return written

    def tidy(self, layout: Layout, least_files: int, small_bytes: int) -> Iterator[str]:  # noqa: ARG002
        """Tables have programs of their own for that."""
        yield from ()

    def said(self) -> str:
        count = sum(self._table(topic).frame().count() for topic in self._reached)
        return f"{len(self._reached):,} tables, {count:,} records in {self.storage.root}"

    def check(self, topics: Iterable[str]) -> Check:
        """The files are the tables' own business."""
        frames = [self._records(topic) for topic in topics]
        return [], reduce(lambda some, more: some.unionByName(more), frames)

    def rows(self, topics: Iterable[str]) -> dict[Place, int]:
        return {
            (topic, row.partition): row["count"]
            for topic in topics
            for row in self._table(topic).frame().groupBy("partition").count().collect()
        }

    def left(self, topic: str, done: dict[int, int]) -> tuple[Any, str]:
        beyond = [f"partition = {number} AND offset < {end}" for number, end in sorted(done.items())]
        found = self._records(topic)
        if beyond:
            found = found.where(f"NOT ({' OR '.join(f'({each})' for each in beyond)})")
        return found, f"offsets {', '.join(f'{end} of {number}' for number, end in sorted(done.items()))} are done"

    def _records(self, topic: str) -> Any:
        return self._table(topic).frame().select(*NAMES, "topic", "date", "hour")

    def _commit(self, topic: str, frame: Any, piece: Plan, ranges: dict[int, tuple[int, int]]) -> int:
        before = self._reached.get(topic)
        reached = after(before, topic, piece.topic_ids[topic], self._run, ranges, piece.gaps.get(topic, {}))
        written = self._table(topic).commit(frame, reached)
        self._reached[topic] = reached
        return written

    def _load(self) -> dict[str, Reached]:
        found = {topic: self._table(topic).reached() for topic in self._known()}
        return {topic: reached for topic, reached in found.items() if reached is not None}
