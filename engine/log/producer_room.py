"""How many producers all partitions together remember: a client that makes up ids must not use up the memory.

The producer that has been silent for longest is forgotten first, as if `producer.id.expiration.ms` were over. It may go
on writing, but if it repeats a batch, that is not recognised. A producer with an open transaction is not forgotten.
"""

import weakref
from collections import deque
from typing import TYPE_CHECKING

from msgspec import Struct

from engine.errors import PolicyViolation

if TYPE_CHECKING:
    from engine.log.producer_state import ProducerEntry, ProducerState

LOOKED_AT = 64
"""How many are looked at to find one to forget: no batch waits for long."""


class _Place(Struct):
    state: "weakref.ref[ProducerState]"
    producer_id: int
    entry: "ProducerEntry"
    touched_ms: int
    """When the producer was last heard of, as of when it was put in the queue."""


class ProducerRoom:
    """A queue of all that are remembered: who was heard of since it was put there goes to its end again."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._queue: deque[_Place] = deque()
        self._forgotten = 0

    def take(self, state: "ProducerState", producer_id: int, entry: "ProducerEntry") -> None:
        """A producer is remembered from now on; also in a thread."""
        self._queue.append(_Place(weakref.ref(state), producer_id, entry, entry.touched_ms))

    def check(self) -> None:
        """Make room for one more, or raise."""
        while len(self._queue) > self.most:
            # More than one came at once: from logs that were opened.
            self._forget_one()
        if len(self._queue) == self.most and not self._forget_one():
            raise PolicyViolation(
                f"max.producer.ids={self.most} producers are remembered, and those that were silent for longest have "
                "transactions open"
            )

    def _forget_one(self) -> bool:
        """Forget the first that was not heard of since it was put in the queue; if all were that are looked at, the one
        of them that is silent for longest."""
        queue, looked_at = self._queue, min(LOOKED_AT, len(self._queue))
        for _ in range(looked_at):
            place = queue.popleft()
            state, entry = place.state(), place.entry
            if state is None or not state.remembers(place.producer_id, entry):
                return True
            if entry.touched_ms == place.touched_ms and self._forget(place):
                return True
            place.touched_ms = entry.touched_ms
            queue.append(place)
        latest = sorted(range(-looked_at, 0), key=lambda number: queue[number].touched_ms)
        for number in latest:
            if self._forget(queue[number]):
                del queue[number]
                return True
        return False

    def _forget(self, place: _Place) -> bool:
        state = place.state()
        if state is None or not state.forget(place.producer_id):
            return False
        self._forgotten += 1
        return True

    def statistics(self) -> dict[str, int]:
        """How many are remembered at most, and were forgotten for others."""
        return {"remembered": len(self._queue), "forgotten": self._forgotten}
