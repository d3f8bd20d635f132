"""A bar on whatever takes over a second, on standard error and only if a person looks at it."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE_S = 1.0


class Progress:
    """Counts; draws nothing until it has taken a second."""

    def __init__(self, label: str, total: int | None, *, draws: bool) -> None:
        self.count = 0
        self._label = label
        self.total = total
        self._draws = draws
        self._begun = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def advance(self, count: int = 1) -> None:
        """So many more."""
        self.count += count
        if not self._draws:
            return
        if self._bar is not None:
            self._bar.update(self._task, completed=self.count)
        elif time.monotonic() - self._begun > PATIENCE_S:
            self._open()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def _open(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = _bar(columns)
        self._task = self._bar.add_task(self._label, total=self.total, completed=self.count)
        self._bar.start()


@contextmanager
def progress(label: str, total: int | None = None, *, draws: bool = True) -> Iterator[Progress]:
    """Progress for the length of a block."""
    shown = Progress(label, total, draws=draws and sys.stderr.isatty())
    try:
        yield shown
    finally:
        shown.close()


@contextmanager
def waiting(label: str) -> Iterator[None]:
    """A spinner, with the seconds that have gone by, if a block takes over a second."""
    if not sys.stderr.isatty():
        yield
        return
    spinner = _Spinner(label)
    timer = threading.Timer(PATIENCE_S, spinner.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        spinner.stop()


class _Spinner:
    """Begun by a timer, ended by whoever waited; the one may come while the other is at work."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._lock = threading.Lock()
        self._bar: Any = None
        self._is_over = False

    def start(self) -> None:
        with self._lock:
            if not self._is_over:
                self._bar = _bar(_spinner_columns())
                self._bar.add_task(self._label, total=None)
                self._bar.start()

    def stop(self) -> None:
        with self._lock:
            self._is_over = True
            if self._bar is not None:
                self._bar.stop()


def _spinner_columns() -> tuple[Any, ...]:
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    return SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()


def _bar(columns: tuple[Any, ...]) -> Any:
    from rich.console import Console
    from rich.progress import Progress as Bar

    return Bar(*columns, console=Console(stderr=True), transient=True)
