"""Who may publish where, and how fast: the one place where every door's publishers are asked about.

There are no principals and no quotas yet: a `Publishing` that is given no `Admission` lets everybody write everywhere,
as fast as they can. Whoever brings them in gives it one; neither doors nor handlers have to know.
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
