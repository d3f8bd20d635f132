"""Looks that are taken while a query runs."""

import threading
from types import SimpleNamespace
from typing import Any

from tools.pipelines.progress import Progress
from tools.pipelines.watching import Watch, count_tasks, follow_ends


def test_looks_are_taken_until_the_end_and_failures_forgiven() -> None:
    looked = threading.Semaphore(0)

    def fail() -> None:
        raise OSError("the broker is gone")

    with Watch(fail, lambda: looked.release(), every_s=0.001):
        assert all(looked.acquire(timeout=10) for _ in range(3))
    while looked.acquire(blocking=False):
        pass
    assert not looked.acquire(timeout=0.05)


def test_tasks_of_running_stages_are_counted() -> None:
    stages: dict[int, Any] = {
        1: SimpleNamespace(numTasks=10, numCompletedTasks=4),
        2: SimpleNamespace(numTasks=2, numCompletedTasks=1),
        3: None,  # ended meanwhile
    }
    tracker = SimpleNamespace(getActiveStageIds=lambda: list(stages), getStageInfo=stages.get)
    spark = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))
    progress = Progress("archive", quiet=True)
    count_tasks(spark, progress)()
    assert progress.tasks == (5, 12)


def test_ends_move_on() -> None:
    progress = Progress("usage", quiet=True)
    progress.begin({"a": {0: 3}}, {"a": {0: 3}})
    cluster: Any = SimpleNamespace(offsets=lambda partitions, which, isolation: {"a": {0: 9}})
    follow_ends(cluster, progress, {"a": [0]}, "read_committed")()
    assert progress.total_lag == 6
