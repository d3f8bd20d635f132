"""What was measured, in a JSON file that is written after each measurement, so that a stopped run can go on."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any, Self

from attrs import asdict, define, field, frozen

from tools.bench.figures import Figures


class ResultsUnreadable(Exception):
    """A file does not hold results of this benchmark; the message says why."""


@frozen
class Measurement:
    """One row on one broker in one round: figures, or why there are none."""

    row: str
    broker: str
    round: int
    figures: Figures = field(factory=dict)
    error: str = ""


@define(eq=False)
class Results:
    """All measurements of a run, the machine they were made on, and of which size: 1.0 is the table's."""

    machine: dict[str, str]
    scale: float = 1.0
    measurements: list[Measurement] = field(factory=list)
    path: Path | None = None

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that `save` wrote."""
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            measurements = [Measurement(**each) for each in content["measurements"]]
            return cls(content["machine"], content["scale"], measurements, path)
        except (KeyError, TypeError, ValueError) as error:
            raise ResultsUnreadable(f"{path} holds no results of this benchmark: {error!r}") from error

    def save(self, path: Path | None = None) -> None:
        """Write everything, in one step; nothing happens where there is no file."""
        path = path or self.path
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"machine": self.machine, "scale": self.scale, "measurements": [asdict(m) for m in self.measurements]}
        beside = path.with_name(path.name + ".new")
        beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        os.replace(beside, path)

    def add(self, measurement: Measurement) -> None:
        """Keep a measurement; it takes the place of a failed one."""
        key = (measurement.row, measurement.broker, measurement.round)
        self.measurements = [m for m in self.measurements if (m.row, m.broker, m.round) != key]
        self.measurements.append(measurement)
        self.save()

    def has(self, row: str, broker: str, number: int) -> bool:
        """Whether this was measured already, and did not fail."""
        return any((m.row, m.broker, m.round) == (row, broker, number) and not m.error for m in self.measurements)

    def of(self, row: str, broker: str) -> list[Figures]:
        """The figures of all rounds of a row on a broker."""
        return [m.figures for m in self.measurements if (m.row, m.broker) == (row, broker) and not m.error]

    def errors(self, row: str) -> dict[str, str]:
        """By broker, why a row could not be measured on it."""
        return {m.broker: m.error for m in self.measurements if m.row == row and m.error}

    def rounds(self) -> str:
        """How often rows were measured, in words: some may have been more often."""
        counts = Counter((m.row, m.broker) for m in self.measurements)
        least, most = min(counts.values(), default=0), max(counts.values(), default=0)
        return f"{least} to {most} rounds" if least != most else f"{most} round{'s' * (most != 1)}"
