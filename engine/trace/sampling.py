"""Which batches get a trace: rates and shares, decided by comparisons of numbers, once per batch.

A rate is kept by the time at which the next one is due (the generic cell rate algorithm): no refill, no chance.
A share is kept by a credit that every record adds to: one in a thousand is every thousandth, whatever the batches.
"""

from attrs import define

BURST_S = 1.0


class Rate:
    """At most so many per second, up to a second's worth at once."""

    __slots__ = ("_ahead_s", "_due", "_each_s", "per_second")

    def __init__(self, per_second: float) -> None:
        self.per_second = per_second
        self._each_s = 1 / per_second if per_second > 0 else 0.0
        self._ahead_s = max(BURST_S - self._each_s, 0.0)
        self._due = float("-inf")

    def take(self, now: float, amount: float = 1) -> bool:
        """Whether another `amount` is within the rate; if so it is taken."""
        if self._due - now > self._ahead_s or self.per_second <= 0:
            return False
        self._due = max(self._due, now) + amount * self._each_s
        return True

    def room(self, now: float) -> int:
        """How often `take` would say yes now."""
        if self._due - now > self._ahead_s or self.per_second <= 0:
            return 0
        return int((self._ahead_s - max(self._due - now, 0.0)) * self.per_second) + 1


@define(eq=False)
class TopicSampler:
    """One topic's settings, and what it has sampled."""

    rate: Rate
    """Of batches that give a record each."""
    enabled: bool = True
    ratio: float = 0.0
    _credit: float = 0.0

    def by_ratio(self, record_count: int) -> int:
        """How many records of this batch the share takes."""
        if self.ratio <= 0:
            return 0
        self._credit += self.ratio * record_count
        taken = int(self._credit)
        self._credit -= taken
        return min(taken, record_count)


def spread(taken: int, record_count: int) -> list[int]:
    """The numbers of `taken` records, evenly among so many."""
    return [(2 * number + 1) * record_count // (2 * taken) for number in range(taken)]
