"""What the broker itself writes to topics of its own, such as trace events, and nobody waits for: it is counted."""

from typing import Protocol

from coordinators.records.publishing import Submission
from engine.errors import BrokerError


class Counting(Protocol):
    """Who writes it."""

    written: int

    def drop(self, count: int, error: BrokerError) -> None:
        """So many could not be written."""


class Counted(Submission, eq=False, kw_only=True):
    """Some records on their way to such a topic, in one batch."""

    sink: Counting
    count: int

    def done(self) -> None:
        """Count them."""
        refusal = self.publications[0].refusal
        if refusal is None:
            self.sink.written += self.count
        else:
            self.sink.drop(self.count, refusal)
