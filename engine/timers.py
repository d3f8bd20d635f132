"""Calls at a later time, on a heap: one task of the loop drives them, tests drive them by hand.

A cancelled timer only loses its callback; it stays in the heap until its time comes or until most of the heap is
of its kind. That is cheap for what is cancelled most, the long polls.
"""

import heapq
from collections.abc import Callable
from itertools import count

Callback = Callable[[], object]

LEAST_SWEEP = 1024


class Timer:
    """One call to come; `cancel` forgets it."""

    __slots__ = ("callback", "deadline")

    def __init__(self, deadline: float, callback: Callback) -> None:
        self.deadline = deadline
        self.callback: Callback | None = callback

    def cancel(self) -> None:
        """Never call back."""
        self.callback = None


class Timers:
    """Timers by monotonic deadline in seconds; equal deadlines keep their order."""

    def __init__(self, on_earlier: Callback = lambda: None) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = count()
        self._sweep_at = LEAST_SWEEP
        self.on_earlier = on_earlier
        """Called when a new timer is due before all others, so that the driver sleeps less."""

    def call_at(self, deadline: float, callback: Callback) -> Timer:
        """Call `callback` once the monotonic clock has reached `deadline`."""
        if len(self._heap) >= self._sweep_at:
            self._sweep()
        timer = Timer(deadline, callback)
        earliest = not self._heap or deadline < self._heap[0][0]
        heapq.heappush(self._heap, (deadline, next(self._numbers), timer))
        if earliest:
            self.on_earlier()
        return timer

    def next_deadline(self) -> float | None:
        """When the driver must call `run_due` next; None while there is nothing to wait for."""
        while self._heap and self._heap[0][2].callback is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def run_due(self, now: float) -> int:
        """Call back whatever is due at `now`; how many were called."""
        called = 0
        while self._heap and self._heap[0][0] <= now:
            _, _, timer = heapq.heappop(self._heap)
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback()
                called += 1
        return called

    def _sweep(self) -> None:
        """Drop cancelled timers; done when the heap has doubled, so its cost is shared by many calls."""
        self._heap = [entry for entry in self._heap if entry[2].callback is not None]
        heapq.heapify(self._heap)
        self._sweep_at = max(LEAST_SWEEP, 2 * len(self._heap))

    def statistics(self) -> dict[str, int]:
        """How many timers wait for their time, and how many are kept, cancelled ones included."""
        waiting = sum(1 for _, _, timer in self._heap if timer.callback is not None)
        return {"waiting": waiting, "timers": len(self._heap)}
