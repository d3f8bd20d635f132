"""Goes through rounds, rows and brokers. A row that fails is reported, and the others go on."""

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from attrs import frozen

from tools.bench.brokers import CLUSTERS, SUBJECTS, TIDEGATE, TIDEGATE_BEFORE, Subject, with_tls
from tools.bench.figures import Figures
from tools.bench.results import Measurement, Results
from tools.bench.rows import Row
from tools.bench.trial import Trial

Say = Callable[[str], None]

STOLEN = "stolen"
MOST_STOLEN = 0.1
"""Cores; with more the figures are the host's."""
MOST_TRIES = 3


@frozen
class Plan:
    """What is to be measured."""

    rows: Sequence[Row]
    brokers: Sequence[str]
    rounds: int
    scale: float = 1.0

    def steps(self) -> Iterator[tuple[int, Row, str]]:
        """Round, row, broker; who begins changes from round to round and from row to row, so that none is favoured."""
        for number in range(1, self.rounds + 1):
            for place, row in enumerate(self.rows):
                names = [name for name in self.brokers if name in row.brokers or _is_of(row, name)]
                shift = (number + place) % max(1, len(names))
                for name in names[shift:] + names[:shift]:
                    yield number, row, name


def _is_of(row: Row, broker: str) -> bool:
    return broker == TIDEGATE_BEFORE and TIDEGATE in row.brokers and row.nodes == 1 and not row.tls


def run(plan: Plan, results: Results, say: Say) -> int:
    """Measure what the results do not hold yet; how many measurements failed."""
    failed = 0
    for number, row, broker in plan.steps():
        if results.has(row.name, broker, number):
            continue
        began = time.monotonic()
        measurement = measure(row, broker, number, plan.scale)
        results.add(measurement)
        failed += bool(measurement.error)
        shown = f"FAILED: {measurement.error}" if measurement.error else _shown(measurement.figures)
        say(f"round {number}  {row.name:<24} {broker:<12} {time.monotonic() - began:5.0f} s  {shown}")
    return failed


def measure(row: Row, broker: str, number: int, scale: float) -> Measurement:
    """One row on one broker; again where the host took too much of the machine away, and then the least disturbed."""
    tries: list[Measurement] = []
    for _ in range(MOST_TRIES):
        tries.append(measure_once(row, broker, number, scale))
        if tries[-1].figures.get(STOLEN, 0.0) <= MOST_STOLEN:
            break
    return min(tries, key=lambda one: (bool(one.error), one.figures.get(STOLEN, 0.0)))


def measure_once(row: Row, broker: str, number: int, scale: float) -> Measurement:
    """One row on one broker, on an empty directory."""
    try:
        with _subject(row, broker) as subject:
            return Measurement(row.name, broker, number, row.load(Trial(subject, scale)))
    except Exception as error:
        # Whatever it is, the other rows are worth having; the last lines of the trace say where it happened.
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
        return Measurement(row.name, broker, number, error=said)


def _subject(row: Row, broker: str) -> AbstractContextManager[Subject]:
    if row.nodes > 1:
        return CLUSTERS[broker](row.nodes, row.factor)
    if row.tls:
        return with_tls(broker)
    return SUBJECTS[broker](row.settings) if row.settings else SUBJECTS[broker]()


def _shown(figures: Figures) -> str:
    chosen = [name for name in figures if "@" not in name or name.startswith("cpu_s_per_1000")]
    return "  ".join(f"{name}={figures[name]:,.4g}" for name in chosen)
