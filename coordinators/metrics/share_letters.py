"""Figures of what share groups have given up: on its way to dead-letter topics, arrived there, gone before."""

from collections.abc import Iterator

from attrs import define

from coordinators.share.dead_letters import ShareDeadLetters
from coordinators.share.ports import EXHAUSTED, EXPIRED, REJECTED
from engine.metrics import Family

REASONS = {REJECTED: "rejected", EXHAUSTED: "delivery_count", EXPIRED: "expired"}


@define(eq=False)
class ShareLetterMetrics:
    """A collector."""

    letters: ShareDeadLetters

    def collect(self) -> Iterator[Family | None]:
        """All of it."""
        counts = self.letters.counts
        yield Family.counter(
            "tidegate_share_dead_letters_total",
            "Records that share groups gave up and that were written to a dead-letter topic, by why.",
            [({"reason": label}, counts[reason]) for reason, label in REASONS.items()],
        )
        yield Family.gauge(
            "tidegate_share_dead_letters_waiting",
            "Records that share groups gave up, on their way to a dead-letter topic.",
            [({}, self.letters.waiting)],
        )
        yield Family.counter(
            "tidegate_share_dead_letters_without_record_total",
            "Dead letters of share groups whose records were gone before they could be copied.",
            [({}, self.letters.gone)],
        )
