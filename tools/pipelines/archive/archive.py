"""An archive as pipelines use it, whatever keeps its files: the archive's own log, or tables."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from tools.pipelines.archive.append import Layout, Plan
from tools.pipelines.archive.entries import State
from tools.pipelines.kafka import Cluster
from tools.pipelines.storage import Storage

Place = tuple[str, int]
Check = tuple[list[str], Any]
"""What is wrong with an archive's own files, and the records of those that can be read."""


class Archive(Protocol):
    """One writer at a time, any number of readers."""

    storage: Storage

    @property
    def state(self) -> State:
        """How far it is."""

    def recover(self) -> None:
        """Finish or forget what a writer left undone."""

    def begin(self, found: Plan) -> None:
        """Note where topics begin of which nothing is archived yet, or the next run would begin later."""

    def append(self, cluster: Cluster, piece: Plan, layout: Layout) -> int:
        """Archive the ranges of a plan; how many records they had."""

    def tidy(self, layout: Layout, least_files: int, small_bytes: int) -> Iterator[str]:
        """Make few large files of many small ones; says what was done."""

    def said(self) -> str:
        """How much there is, for people."""

    def check(self, topics: Iterable[str]) -> Check:
        """Hold the files against what the archive says of itself."""

    def rows(self, topics: Iterable[str]) -> dict[Place, int]:
        """How many records there are of each partition."""

    def left(self, topic: str, done: dict[int, int]) -> tuple[Any, str]:
        """The records of a topic of which these offsets are not the end, None if there are none; and how it is told."""
