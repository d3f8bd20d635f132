"""How far a pipeline is: in the terminal, as a file of metrics, and as the offsets of a group that lag tools see.

On a terminal a table is redrawn in place while the query runs (`display.py`); elsewhere each batch is a line.
"""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.pipelines.ranges import Offsets, merged

RATE_S = 15.0
"""Rates are of the last so many seconds, or of the last batch if that took longer."""


@dataclass(frozen=True)
class Topic:
    """How far one topic is read."""

    name: str
    read: int
    """Offsets passed since the pipeline began."""
    at: int
    end: int
    lag: int
    per_second: float

    @property
    def share(self) -> float:
        """Of what was there to read, from 0 to 1."""
        return self.read / (self.read + self.lag) if self.read + self.lag else 1.0


@dataclass
class Progress:
    """Counts for one pipeline. Lines and table go to standard error, results to standard output.

    `with` draws for as long as the block runs. Threads may tell of progress while others draw it.
    """

    pipeline: str
    metrics_file: str | None = None
    quiet: bool = False
    clock: Callable[[], float] = time.monotonic
    rows: int = 0
    doing: str = ""
    tasks: tuple[int, int] = (0, 0)
    """Of Spark's stages that run now: done, all."""
    offsets: Offsets = field(default_factory=dict)
    ends: Offsets = field(default_factory=dict)
    _starts: Offsets = field(default_factory=dict)
    _began: float = 0.0
    _seen: deque[tuple[float, int, Offsets]] = field(default_factory=deque)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _display: Any = None

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._seen.append((self._began, 0, {}))

    def __enter__(self) -> "Progress":
        if not self.quiet and sys.stderr.isatty():
            try:
                from tools.pipelines.display import Display
            except ImportError:  # no rich, as on a cluster
                return self
            self._display = Display(self)
            self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def draws(self) -> bool:
        """Whether somebody looks at a table now."""
        return self._display is not None

    def close(self) -> None:
        """Draw a last time and leave it on the screen; what is said from now on are lines."""
        display, self._display = self._display, None
        if display is not None:
            display.stop()

    def begin(self, offsets: Offsets, ends: Offsets) -> None:
        """Where reading begins, and where the topics end: what is behind is known before the first batch."""
        with self._lock:
            self._starts = merged(offsets, self._starts)
            self.offsets = merged(offsets, self.offsets)
            self.ends = merged(self.ends, ends)
            at, rows, known = self._seen[0]
            self._seen[0] = (at, rows, merged(offsets, known))
        self._write_metrics()

    def batch(self, rows: int, offsets: Offsets, ends: Offsets) -> None:
        """So many rows more; read up to `offsets`, of which the topics hold `ends`."""
        self.observe(offsets, ends, rows)
        if self._display is None:
            self._tell()

    def observe(self, offsets: Offsets, ends: Offsets, rows: int = 0) -> None:
        """The same without a line of its own: for looks that are taken now and then."""
        now = self.clock()
        with self._lock:
            self.rows += rows
            self._starts = merged(offsets, self._starts)
            self.offsets = merged(self.offsets, offsets)
            self.ends = merged(self.ends, ends)
            if offsets or rows:  # else only the ends are news, which is no reason to think it stands still
                self._seen.append((now, self.rows, self.offsets))
            while len(self._seen) > 2 and self._seen[1][0] <= now - RATE_S:
                self._seen.popleft()
        self._write_metrics()

    def say(self, line: str) -> None:
        """A line for the reader; it stands above the table."""
        if self.quiet:
            return
        if self._display is not None:
            self._display.say(line)
        else:
            print(f"{self.pipeline} {line}", file=sys.stderr, flush=True)

    @property
    def lag(self) -> Offsets:
        return {
            topic: {number: max(0, end - self.offsets.get(topic, {}).get(number, end)) for number, end in each.items()}
            for topic, each in self.ends.items()
        }

    @property
    def total_lag(self) -> int:
        return sum(lag for each in self.lag.values() for lag in each.values())

    @property
    def seconds(self) -> float:
        return self.clock() - self._began

    @property
    def rows_per_second(self) -> float:
        with self._lock:
            (before, rows, _), (now, latest, _) = self._seen[0], self._seen[-1]
        return (latest - rows) / max(now - before, 1e-3) if now > before else 0.0

    def topics(self) -> list[Topic]:
        """Each topic by name."""
        with self._lock:
            (before, _, older), (now, _, _) = self._seen[0], self._seen[-1]
            lag = self.lag
            found = []
            for name in sorted(self.ends or self.offsets):
                at = self.offsets.get(name, {})
                read = sum(offset - self._starts.get(name, {}).get(number, offset) for number, offset in at.items())
                passed = sum(offset - older.get(name, {}).get(number, offset) for number, offset in at.items())
                rate = passed / max(now - before, 1e-3) if now > before else 0.0
                end = sum(self.ends.get(name, at).values())
                found.append(Topic(name, read, sum(at.values()), end, sum(lag.get(name, {}).values()), rate))
        return found

    def _tell(self) -> None:
        """A line for the batch, and one per topic where there are several."""
        rate = f"{self.rows_per_second:,.0f}/s"
        self.say(f"{self.rows:,} rows, {rate}, {self.total_lag:,} behind the end, {self.seconds:.1f} s")
        topics = self.topics()
        for each in topics if len(topics) > 1 else ():
            told = f"{each.read:,} read, {each.per_second:,.0f}/s, {each.lag:,} behind the end"
            self.say(f"  {each.name}: {told}")

    def _write_metrics(self) -> None:
        """Prometheus' text, for the textfile collector of its node exporter; replaced in one step."""
        if self.metrics_file is None:
            return
        with self._lock:
            target = Path(self.metrics_file)
            draft = target.with_name(f".{target.name}.{os.getpid()}")
            draft.write_text(self.metrics())
            draft.replace(target)

    def metrics(self) -> str:
        label = f'pipeline="{self.pipeline}"'
        lines = [
            "# TYPE tidegate_pipeline_rows_total counter",
            f"tidegate_pipeline_rows_total{{{label}}} {self.rows}",
            "# TYPE tidegate_pipeline_rows_per_second gauge",
            f"tidegate_pipeline_rows_per_second{{{label}}} {self.rows_per_second:.3f}",
        ]
        for name, values in (("offset", self.offsets), ("lag", self.lag)):
            lines.append(f"# TYPE tidegate_pipeline_{name} gauge")
            lines += [
                f'tidegate_pipeline_{name}{{{label},topic="{topic}",partition="{number}"}} {value}'
                for topic, each in sorted(values.items())
                for number, value in sorted(each.items())
            ]
        return "\n".join(lines) + "\n"
