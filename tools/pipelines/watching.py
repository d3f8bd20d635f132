"""Looks that are taken now and then while a query runs: Spark's tasks, and whatever else the pipeline wants to know."""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tools.pipelines.kafka import Cluster
from tools.pipelines.progress import Progress

POLL_S = 1.0
PATIENCE_S = 2.0


class Watch:
    """Takes looks in a thread of its own while a block runs. A look that fails is one that was not taken: the query
    itself meets the same trouble, and tells of it."""

    def __init__(self, *looks: Callable[[], None], every_s: float = POLL_S) -> None:
        self._looks = looks
        self._every_s = every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        # A look at a broker that does not answer takes a minute; nobody waits for that.
        self._thread.join(PATIENCE_S)

    def _watch(self) -> None:
        while not self._over.wait(self._every_s):
            for look in self._looks:
                try:
                    look()
                except Exception:
                    continue


def follow_ends(
    cluster: Cluster, progress: Progress, partitions: Mapping[str, Iterable[int]], isolation: str
) -> Callable[[], None]:
    """A look at where topics end by now, so that what is behind counts what came since the batch began."""
    return lambda: progress.observe({}, cluster.offsets(partitions, "latest", isolation))


def count_tasks(spark: Any, progress: Progress) -> Callable[[], None]:
    """A look at how many tasks of the stages that run now are done."""
    tracker = spark.sparkContext.statusTracker()

    def look() -> None:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        progress.tasks = (sum(each.numCompletedTasks for each in known), sum(each.numTasks for each in known))

    return look
