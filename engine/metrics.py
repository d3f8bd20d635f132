"""Figures for operators: who counts, counts in plain integers; what is told is made when somebody asks.

Code that has figures registers a collector: a function that gives families, each with its samples. Counters lie in the
objects that do the counting, so that counting costs an addition; names, labels and text are made at a scrape.

    def collect() -> Iterator[Family]:
        yield Family.gauge("tidegate_stage_pending_records", "Records that wait.", [({"topic": t}, n), ...])

    metrics.register(collect)

A scrape takes families and samples one by one and lets the loop go on in between: a collector that walks over
something that may change meanwhile walks over a copy. It runs on the loop and must not wait for anything; where it has
to reckon for long before it has a family, it gives None now and then: a good moment for others.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

from attrs import define, field, frozen

Labels: TypeAlias = Mapping[str, str]

LATENCY_BOUNDS_S = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)


class Histogram:
    """How often values fell below which bounds; observing costs a bisection and two additions."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float] = LATENCY_BOUNDS_S) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self.counts)

    def buckets(self) -> Iterator[tuple[str, int]]:
        """Prometheus' buckets: each bound with how many values were not above it."""
        below = 0
        for bound, count in zip((*map(_bound, self.bounds), "+Inf"), self.counts, strict=True):
            below += count
            yield bound, below


def _bound(bound: float) -> str:
    return repr(float(bound))


@frozen
class Sample:
    """One figure. `suffix` is what follows the family's name: "_total", "_bucket", ..."""

    labels: Labels
    value: float
    suffix: str = ""


@frozen
class Family:
    """Samples of one name. `kind` is Prometheus' type: counter, gauge, histogram."""

    name: str
    kind: str
    meaning: str
    samples: Iterable[Sample]

    @classmethod
    def gauge(cls, name: str, meaning: str, values: Iterable[tuple[Labels, float]]) -> "Family":
        """What goes up and down."""
        return cls(name, "gauge", meaning, (Sample(labels, value) for labels, value in values))

    @classmethod
    def counter(cls, name: str, meaning: str, values: Iterable[tuple[Labels, float]]) -> "Family":
        """What only goes up; its name ends in `_total`."""
        assert name.endswith("_total"), "a counter's name ends in _total"
        return cls(name, "counter", meaning, (Sample(labels, value) for labels, value in values))

    @classmethod
    def histogram(cls, name: str, meaning: str, values: Iterable[tuple[Labels, Histogram]]) -> "Family":
        """Values by size."""
        return cls(name, "histogram", meaning, _histogram_samples(values))


def _histogram_samples(values: Iterable[tuple[Labels, Histogram]]) -> Iterator[Sample]:
    for labels, histogram in values:
        buckets = list(histogram.buckets())
        for bound, count in buckets:
            yield Sample({**labels, "le": bound}, count, "_bucket")
        yield Sample(labels, buckets[-1][1], "_count")
        yield Sample(labels, histogram.total, "_sum")


Collector: TypeAlias = Callable[[], Iterable[Family | None]]


@define(eq=False)
class Metrics:
    """All collectors of a broker. `before_scrape` are called first, in a thread: there one may wait for a disk."""

    before_scrape: list[Callable[[], object]] = field(factory=list, init=False)
    _collectors: list[Collector] = field(factory=list, init=False)

    def register(self, collector: Collector) -> None:
        """Ask this one too."""
        self._collectors.append(collector)

    def prepare(self) -> None:
        """Look at what takes time; runs in a thread. What fails keeps its last figures."""
        for look in tuple(self.before_scrape):
            with suppress(OSError):
                look()

    def steps(self) -> Iterator[Family | None]:
        """Everything there is, in the order of registration; None is a moment for others."""
        for collector in tuple(self._collectors):
            yield from collector()

    def families(self) -> Iterator[Family]:
        """The same in one go, for who has the time."""
        return (family for family in self.steps() if family is not None)
