"""Logins that failed, told in the program's log, so that who guesses cannot fill it and hide others there.

The first of an address is told at once, with the reason. What follows from there within ten seconds is counted, and
told in one line then: of the addresses with most of them each its own, of all others together. So many addresses are
told apart at most.
"""

import logging
from collections import Counter
from heapq import nlargest

from attrs import define, field

from coordinators.access.callers import plain_address
from engine.clock import Clock
from engine.timers import Timers

logger = logging.getLogger("tidegate.access")

WINDOW_S = 10.0
MOST_ADDRESSES = 1_000
"""Told apart within a window; of further ones no first failure is told either."""
MOST_LINES = 5
"""At the end of a window, besides the one about all others: fewer than `logging.rate.limit` lets through."""


@define(eq=False)
class FailedLogins:
    """See the module. One for all doors."""

    clock: Clock
    timers: Timers
    _further: Counter[str] = field(factory=Counter, init=False)
    """By address, failures since its first, which was told; an address stands here with 0."""
    _elsewhere: int = field(default=0, init=False)
    """Failures of addresses that are not told apart."""
    _began: float = field(default=0.0, init=False)

    def note(self, address: str, reason: object, listener: str, mechanism: str) -> None:
        """One failed; the reason is for the log alone."""
        address = plain_address(address)
        if not self._further and not self._elsewhere:
            self._began = self.clock.monotonic()
            self.timers.call_at(self._began + WINDOW_S, self.flush)
        if address in self._further:
            self._further[address] += 1
        elif len(self._further) >= MOST_ADDRESSES:
            self._elsewhere += 1
        else:
            self._further[address] = 0
            fields = {"address": address, "listener": listener, "mechanism": mechanism}
            logger.warning("login failed: %s", reason, extra=fields)

    def flush(self) -> None:
        """Tell what was counted."""
        further, self._further = self._further, Counter()
        rest, self._elsewhere = further.total() + self._elsewhere, 0
        seconds = round(self.clock.monotonic() - self._began, 1)
        for count, address in nlargest(MOST_LINES, ((count, address) for address, count in further.items() if count)):
            rest -= count
            logger.warning(
                "more logins failed from one address", extra={"address": address, "failed": count, "seconds": seconds}
            )
        if rest:
            logger.warning("more logins failed from other addresses", extra={"failed": rest, "seconds": seconds})
