"""Who may publish where, and how fast: the one place where every door's publishers are asked about.

There are no principals and no quotas yet, so everybody may do everything. Whoever brings them in gives `Publishing`
another `Admission`; neither doors nor handlers have to know.
"""

from typing import Protocol

from coordinators.topics import Topic
from engine.records.batch import Publisher


class Admission(Protocol):
    """Asked on the loop for every batch and every request that clients send: it must not wait."""

    def check_write(self, publisher: Publisher, topic: Topic) -> None:
        """Raise the refusal unless this publisher may write to the topic."""

    def throttle_ms(self, publisher: Publisher, size_bytes: int) -> int:
        """So many bytes of this publisher were taken: how long it should pause before it sends more."""


class Everybody:
    """May write everything, as fast as they can."""

    def check_write(self, publisher: Publisher, topic: Topic) -> None:
        """Nobody is refused."""

    def throttle_ms(self, publisher: Publisher, size_bytes: int) -> int:  # noqa: ARG002
        """Nobody has to pause."""
        return 0
