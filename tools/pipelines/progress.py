"""How far a pipeline is: in the terminal, as a file of metrics, and as the offsets of a group that lag tools see."""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tools.pipelines.ranges import Offsets


@dataclass
class Progress:
    """Counts for one pipeline; `show` puts them out. Lines go to standard error, results to standard output."""

    pipeline: str
    metrics_file: str | None = None
    quiet: bool = False
    clock: Callable[[], float] = time.monotonic
    rows: int = 0
    lag: Offsets = field(default_factory=dict)
    offsets: Offsets = field(default_factory=dict)
    _began: float = 0.0
    _last: tuple[float, int] = (0.0, 0)

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._last = (self._began, 0)

    def batch(self, rows: int, offsets: Offsets, ends: Offsets) -> None:
        """So many rows more; read up to `offsets`, of which the topics hold `ends`."""
        self.rows += rows
        self.offsets = offsets
        self.lag = {
            topic: {number: max(0, end - offsets.get(topic, {}).get(number, end)) for number, end in each.items()}
            for topic, each in ends.items()
        }
        self._show()
        self._write_metrics()

    def say(self, line: str) -> None:
        if not self.quiet:
            _print(f"[bold]{self.pipeline}[/bold] {line}")

    @property
    def total_lag(self) -> int:
        return sum(lag for each in self.lag.values() for lag in each.values())

    def _show(self) -> None:
        now = self.clock()
        before, rows_before = self._last
        rate = (self.rows - rows_before) / max(now - before, 1e-3)
        self._last = (now, self.rows)
        self.say(f"{self.rows:,} rows, {rate:,.0f}/s, {self.total_lag:,} behind the end, {now - self._began:.1f} s")

    def _write_metrics(self) -> None:
        """Prometheus' text, for the textfile collector of its node exporter; replaced in one step."""
        if self.metrics_file is None:
            return
        target = Path(self.metrics_file)
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        draft.write_text(self.metrics())
        draft.replace(target)

    def metrics(self) -> str:
        lines = [
            "# TYPE tidegate_pipeline_rows_total counter",
            f'tidegate_pipeline_rows_total{{pipeline="{self.pipeline}"}} {self.rows}',
        ]
        for name, values in (("offset", self.offsets), ("lag", self.lag)):
            lines.append(f"# TYPE tidegate_pipeline_{name} gauge")
            lines += [
                f'tidegate_pipeline_{name}{{pipeline="{self.pipeline}",topic="{topic}",partition="{number}"}} {value}'
                for topic, each in sorted(values.items())
                for number, value in sorted(each.items())
            ]
        return "\n".join(lines) + "\n"


def _print(line: str) -> None:
    try:
        from rich.console import Console
    except ImportError:
        print(line.replace("[bold]", "").replace("[/bold]", ""), file=sys.stderr, flush=True)
    else:
        Console(stderr=True, highlight=False, soft_wrap=True).print(line)
