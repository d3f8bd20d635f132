"""Places of callers that are sent records for as long as they listen, and what these have not taken yet.

Rules:
1. Such a caller does not hold a place among `http.max.connections`: a thousand that follow a topic keep no probe out.
   There are at most `http.max.streams` of them.
2. When all places are taken, one whose caller has said that it sends nothing more gives way: that is what is known of
   a caller that has gone and was sent nothing since. If there is none, who comes is told to come again.
3. What callers have not taken is `http.max.unsent.bytes` at most. The more that is, the less each is sent at a time;
   beyond it the one that has taken nothing for longest is cut off. It may go on where it was.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import trio
from attrs import define, field

if TYPE_CHECKING:
    from wire.http.problems import Problem

logger = logging.getLogger("tidegate.http")

MOST_AT_A_TIME, LEAST_AT_A_TIME = 256 * 1024, 16 * 1024
SHARES = 64
"""Into so many parts goes what is left of `http.max.unsent.bytes`: one of them is what a caller is sent at a time."""


@define(eq=False)
class Streams:
    """Of one door."""

    most: int = 1_000
    most_unsent_bytes: int = 64 * 1024 * 1024
    unsent_bytes: int = 0
    ended: Counter[str] = field(factory=Counter)
    """Callers that were not let in (`refused`) or that gave way to others, by reason."""
    _seats: "dict[Seat, None]" = field(factory=dict)
    _sending: "dict[Seat, int]" = field(factory=dict)
    """How much each is being sent, by since when."""

    @property
    def count(self) -> int:
        """How many places are taken."""
        return len(self._seats)

    def seat(self, has_ended: Callable[[], bool]) -> "Seat":
        """For a connection, which may take it for as long as it is sent a stream."""
        return Seat(self, has_ended)

    def enter(self, seat: "Seat") -> None:
        """Take a place; raises if there is none."""
        if self.count >= self.most and not self._make_room():
            self.ended["refused"] += 1
            raise _no_place(self.most)
        self._seats[seat] = None

    def leave(self, seat: "Seat") -> None:
        """Its stream is over, or it gave way."""
        self._seats.pop(seat, None)
        self.sent(seat)

    def _make_room(self) -> bool:
        for seat in self._seats:
            if seat.has_ended():
                self._cut(seat, "left")
                return True
        return False

    def sends(self, seat: "Seat", size: int) -> None:
        """So much is about to be sent to it."""
        self._sending[seat] = size
        self.unsent_bytes += size
        while self.unsent_bytes > self.most_unsent_bytes and len(self._sending) > 1:
            slowest = next(iter(self._sending))
            logger.info("a slow reader gives way: http.max.unsent.bytes=%d is reached", self.most_unsent_bytes)
            self._cut(slowest, "slow")

    def sent(self, seat: "Seat") -> None:
        """It was taken."""
        self.unsent_bytes -= self._sending.pop(seat, 0)

    def at_a_time(self) -> int:
        """How many bytes of records a caller is best sent at a time now."""
        share = (self.most_unsent_bytes - self.unsent_bytes) // SHARES
        return min(max(share, LEAST_AT_A_TIME), MOST_AT_A_TIME)

    def _cut(self, seat: "Seat", reason: str) -> None:
        self.ended[reason] += 1
        seat.scope.cancel()
        self.leave(seat)

    def statistics(self) -> dict[str, int]:
        """Places that are taken, and callers that had none or lost theirs."""
        ended = {f"streams_{reason}": self.ended[reason] for reason in ("refused", "left", "slow")}
        return {"streams": self.count, "unsent_bytes": self.unsent_bytes, **ended}


@define(eq=False)
class Seat:
    """A connection's."""

    streams: Streams
    has_ended: Callable[[], bool]
    """Whether the caller has said that it sends nothing more."""
    scope: trio.CancelScope = field(factory=trio.CancelScope)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """While a stream is sent; a `Problem` if there is no place. Ends as if the caller were gone if it gives way."""
        self.streams.enter(self)
        self.scope = trio.CancelScope()
        try:
            with self.scope:
                yield
        finally:
            self.streams.leave(self)
        if self.scope.cancelled_caught:
            raise trio.BrokenResourceError("it gave way to another")

    @contextmanager
    def sending(self, size: int) -> Iterator[None]:
        """While so much is being sent."""
        self.streams.sends(self, size)
        try:
            yield
        finally:
            self.streams.sent(self)


def _no_place(most: int) -> "Problem":
    # What answers over HTTP is loaded with the first caller, not with the broker.
    from http import HTTPStatus

    from wire.http.problems import Problem

    detail = f"http.max.streams={most} callers are being sent streams of records already"
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, headers={"Retry-After": "5"})
