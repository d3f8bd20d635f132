"""Threads for what would block the event loop: syncs, cold reads, recovery, compaction.

A job is a function and a callback. The function runs in a thread; the callback is called on the loop
with the outcome. Many outcomes cost one wake-up of the loop. `InlineWorkers` runs jobs at once or when
told to, so that tests and simulations are deterministic.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Protocol

logger = logging.getLogger("tidegate.workers")

Job = Callable[[], Any]
Done = Callable[[Any, BaseException | None], None]
WakeUp = Callable[[], object]


class Workers(Protocol):
    """Where blocking jobs are handed in."""

    def submit(self, job: Job, done: Done) -> None:
        """Run `job` away from the loop, then `done(result, error)` on it."""

    def statistics(self) -> dict[str, int]:
        """Jobs waiting, running and finished."""


def run_job(job: Job) -> tuple[Any, BaseException | None]:
    """The outcome of a job: its result, or what it raised."""
    try:
        return job(), None
    except Exception as error:
        return None, error


class ThreadWorkers:
    """A fixed pool of daemon threads. `wake_up` is called in them: the loop shall soon call `deliver`."""

    def __init__(self, thread_count: int, wake_up: WakeUp, name: str = "worker") -> None:
        self._jobs: SimpleQueue[tuple[Job, Done] | None] = SimpleQueue()
        self._outcomes: deque[tuple[Done, Any, BaseException | None]] = deque()
        self._wake_up = wake_up
        self._finished = 0
        self._submitted = 0
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True) for number in range(thread_count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job, done: Done) -> None:
        """Run `job` in a thread, then `done` on the loop."""
        self._submitted += 1
        self._jobs.put((job, done))

    def statistics(self) -> dict[str, int]:
        """Jobs handed in and finished, jobs waiting, threads."""
        return {
            "threads": len(self._threads),
            "submitted": self._submitted,
            "finished": self._finished,
            "queued": self._jobs.qsize(),
        }

    def close(self) -> None:
        """Let the threads end after the jobs that are queued."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while self._work_once():
            pass

    def _work_once(self) -> bool:
        """One job. A method of its own, so that nothing of the job is kept while waiting for the next."""
        entry = self._jobs.get()
        if entry is None:
            return False
        job, done = entry
        result, error = run_job(job)
        self._outcomes.append((done, result, error))
        self._wake_up()
        return True

    def deliver(self) -> None:
        """On the loop: call back for every outcome that has arrived."""
        while self._outcomes:
            done, result, error = self._outcomes.popleft()
            self._finished += 1
            try:
                done(result, error)
            except Exception:
                # A bug of one partition or connection; the others go on.
                logger.exception("what follows a background job failed")


class InlineWorkers:
    """Runs jobs in the caller's thread: at once, or held until `run_held` when `hold` is set."""

    def __init__(self, *, hold: bool = False) -> None:
        self.hold = hold
        self.held: deque[tuple[Job, Done]] = deque()
        self._finished = 0

    def submit(self, job: Job, done: Done) -> None:
        """Run the job now, or keep it."""
        if self.hold:
            self.held.append((job, done))
        else:
            self._run(job, done)

    def run_held(self, count: int | None = None) -> int:
        """Run the jobs that were kept, oldest first; how many ran."""
        ran = 0
        while self.held and (count is None or ran < count):
            self._run(*self.held.popleft())
            ran += 1
        return ran

    def statistics(self) -> dict[str, int]:
        """Jobs finished and kept."""
        return {"threads": 0, "finished": self._finished, "queued": len(self.held)}

    def _run(self, job: Job, done: Done) -> None:
        result, error = run_job(job)
        self._finished += 1
        done(result, error)
