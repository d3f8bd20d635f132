"""Idempotent producers on behalf of callers: those that have one of their own, and those that are lent one for a call.

A leader that is lost on the way may have appended or not. With an identity and a sequence number the same batch can be
sent to the next leader, which knows it if it is there already. A producer is lent to one call at a time, so that its
batches come in order whoever calls; there are as many of them as there were calls at a time. One whose batch ended in
an error is not lent again: nobody knows then what its next number is.
"""

from collections.abc import Awaitable, Callable

import trio
from attrs import define, field, frozen

from engine.errors import BrokerError

PATIENCE_S = 1.0
"""So long a call waits for an identity; without one it is sent as from a client that is not idempotent."""
MOST_KEPT = 512
MOST_PLACES = 1_000
"""A producer that has written to more partitions is given up, and with it what is remembered of them here."""


@frozen
class DoorProducer:
    """An idempotent or transactional producer in whose name records are written, and where its sequence is."""

    producer_id: int
    epoch: int
    transactional_id: str | None = None
    next_sequence: dict[tuple[str, int], int] = field(factory=dict, eq=False)
    """By topic and partition."""

    def take(self, place: tuple[str, int], count: int) -> int:
        """The first sequence number of the next batch."""
        first = self.next_sequence.get(place, 0)
        self.next_sequence[place] = (first + count) & 0x7FFFFFFF
        return first


@define(eq=False)
class LentProducers:
    """See the module."""

    new_producer_id: Callable[[], Awaitable[int]]
    """May raise that there is none now."""
    _free: list[DoorProducer] = field(factory=list, init=False)

    async def lend(self) -> DoorProducer | None:
        """One that nobody else has; None if there is none to be had now."""
        if self._free:
            return self._free.pop()
        with trio.move_on_after(PATIENCE_S):
            try:
                return DoorProducer(await self.new_producer_id(), 0)
            except BrokerError:
                return None
        return None

    def give_back(self, producer: DoorProducer) -> None:
        """Everything that was sent in its name was appended."""
        if len(self._free) < MOST_KEPT and len(producer.next_sequence) <= MOST_PLACES:
            self._free.append(producer)
