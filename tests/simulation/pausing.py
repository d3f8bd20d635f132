"""Pauses of a host: none of its tasks runs, while the time and the others go on, as after SIGSTOP.

A task belongs to the host whose name its context holds, and so do all tasks that it starts. Trio gives a task that may
go on to the runner; of a host that pauses it is put aside until the pause ends.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import trio

HOST: ContextVar[str] = ContextVar("HOST", default="")
_Runner: Any = trio._core._run.Runner  # type: ignore[attr-defined]


class Pauses:
    """Which hosts pause, and what is put aside of each. Use `in_force` around the run."""

    def __init__(self) -> None:
        self._aside: dict[str, list[Any]] = {}

    def __contains__(self, host: str) -> bool:
        return host in self._aside

    def pause(self, host: str) -> None:
        """From now on, until `resume`."""
        self._aside.setdefault(host, [])

    def resume(self, host: str) -> None:
        """All that could have gone on meanwhile goes on now."""
        aside = self._aside.pop(host, [])
        if aside:
            aside[0]._runner.runq.extend(aside)

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Have trio ask here."""
        schedule = _Runner.reschedule

        def reschedule(runner: Any, task: Any, *outcome: Any) -> None:
            schedule(runner, task, *outcome)
            if self._aside and (aside := self._aside.get(task.context.get(HOST, ""))) is not None:
                aside.append(runner.runq.pop())

        _Runner.reschedule = reschedule
        try:
            yield
        finally:
            _Runner.reschedule = schedule
