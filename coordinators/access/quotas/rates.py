"""The arithmetic of quotas: how much was used of late, and how long to wait until that is within a bound.

Both kinds are told the time by their callers, in seconds that never go back.
"""

from collections import deque

from attrs import define, field, frozen

LONGEST_WAIT_S = 3600.0
"""Nobody is told to wait longer: answers hold milliseconds in 32 bits. What is still too much then is told again."""


@frozen
class QuotaWindow:
    """Over which a rate is taken: `samples` pieces of `sample_s` each, of which the last is not over
    (`quota.window.num`, `quota.window.size.seconds`)."""

    samples: int = 11
    sample_s: float = 1.0

    @property
    def whole_s(self) -> float:
        """The pieces that are over."""
        return (self.samples - 1) * self.sample_s or self.sample_s

    @property
    def longest_s(self) -> float:
        """After so long a sample no longer counts."""
        return self.samples * self.sample_s


def _bounded(excess: float, bound: float) -> float:
    """How long so much takes at this rate, however small it is."""
    return excess / bound if excess < bound * LONGEST_WAIT_S else LONGEST_WAIT_S


@define(eq=False)
class SampledRate:
    """Kafka's rate: the sum of the samples over the time since the oldest of them, which counts as one whole window at
    least. What a client does in its first second is so compared with ten seconds' worth: bursts are let through."""

    window: QuotaWindow
    _samples: deque[list[float]] = field(factory=deque, init=False)
    """Each with when it began and how much was recorded in it."""
    _total: float = field(default=0.0, init=False)

    def record(self, amount: float, now: float) -> None:
        """So much was used; what turns out not to have been is taken back by a negative amount."""
        self._purge(now)
        if not self._samples or now - self._samples[-1][0] >= self.window.sample_s:
            self._samples.append([now, 0.0])
        self._samples[-1][1] += amount
        self._total += amount

    def rate(self, now: float) -> float:
        """Per second."""
        self._purge(now)
        return self._total / self._span(now)

    def wait_s(self, bound: float, now: float) -> float:
        """How long nothing more should be used so that the rate falls to the bound; 0.0 if it is within it."""
        rate = self.rate(now)
        return _bounded((rate - bound) * self._span(now), bound) if rate > bound else 0.0

    def _span(self, now: float) -> float:
        window = self.window
        if not self._samples:
            return window.whole_s
        elapsed = now - self._samples[0][0]
        missing = window.samples - 1 - elapsed // window.sample_s
        if missing > 0:
            elapsed += missing * window.sample_s
        return max(elapsed, window.sample_s)

    def _purge(self, now: float) -> None:
        samples, oldest = self._samples, now - self.window.longest_s
        while samples and samples[0][0] <= oldest:
            self._total -= samples.popleft()[1]
        if not samples:
            self._total = 0.0  # what sums of floats leave behind


@define(eq=False)
class TokenBucket:
    """What may be done at once is bounded by a whole window's worth, what is done over time by the rate (KIP-599). It
    may be overdrawn by whoever finds anything in it: a large request is not refused for ever."""

    window: QuotaWindow
    _tokens: float = field(default=0.0, init=False)
    _filled_at: float = field(default=float("-inf"), init=False)

    def record(self, amount: float, bound: float, now: float) -> None:
        """Take so many out."""
        self._fill(bound, now)
        self._tokens -= amount

    def wait_s(self, bound: float, now: float) -> float:
        """How long until there is something in it; 0.0 if there is."""
        self._fill(bound, now)
        return _bounded(-self._tokens, bound) if self._tokens < 0.0 else 0.0

    def _fill(self, bound: float, now: float) -> None:
        burst = bound * self.window.longest_s
        passed = now - self._filled_at
        self._tokens = burst if passed == float("inf") else min(burst, self._tokens + passed * bound)
        self._filled_at = now
