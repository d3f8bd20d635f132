"""Requests that wait for records: how many there may be at one time, over all connections.

Each takes memory for as long as it waits. When there are too many, the one that has waited longest is answered with
what there is: its client has to ask again, as it does when the wait is over.
"""

from collections.abc import Callable

End = Callable[[], object]


class LongPolls:
    """Those that wait, in the order in which they came."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._ends: dict[object, End] = {}
        self._cut_short = 0

    def begin(self, poll: object, end: End) -> None:
        """`poll` waits from now on; `end` has it answered."""
        self._ends[poll] = end
        if len(self._ends) > self.most:
            oldest = next(iter(self._ends))
            self._cut_short += 1
            self._ends.pop(oldest)()

    def end(self, poll: object) -> None:
        """It does not wait any more."""
        self._ends.pop(poll, None)

    def statistics(self) -> dict[str, int]:
        """Those that wait now, and those that were answered early for others to wait."""
        return {"waiting": len(self._ends), "cut_short": self._cut_short}
