"""Figures of those who live in the broker on behalf of callers of its doors."""

from collections.abc import Iterator

from engine.metrics import Family
from wire.inner.residents import Residents


class ResidentMetrics:
    """A collector over one node's residents."""

    def __init__(self, residents: Residents) -> None:
        self._residents = residents

    def collect(self) -> Iterator[Family]:
        """How many there are, and were."""
        counts = self._residents.counts()
        yield Family.gauge(
            "tidegate_doors_residents",
            "Who lives on this node for callers of other doors than Kafka's, by kind: members of groups, members of "
            "share groups, producers of transactions.",
            [({"kind": kind}, each.now) for kind, each in counts.items()],
        )
        yield Family.counter(
            "tidegate_doors_residents_total",
            "Who has ever lived on this node for callers of other doors than Kafka's, by kind.",
            [({"kind": kind}, each.ever) for kind, each in counts.items()],
        )
