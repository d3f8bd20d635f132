"""A bar on whatever takes over a second, on standard error and only if a person looks at it."""

import sys
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
        self._total = total
        self._draws = draws
        self._begun = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def advance(self, count: int = 1) -> None:
        """So many more."""
        self.count += count
        if self._bar is not None:
            self._bar.update(self._task, completed=self.count)
        elif self._draws and time.monotonic() - self._begun > PATIENCE_S:
            self._open()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._label, total=self._total, completed=self.count)
        self._bar.start()


@contextmanager
def progress(label: str, total: int | None = None) -> Iterator[Progress]:
    """Progress for the length of a block."""
    shown = Progress(label, total, draws=sys.stderr.isatty())
    try:
        yield shown
    finally:
        shown.close()
