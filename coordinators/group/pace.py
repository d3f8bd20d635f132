"""How soon members of groups that the broker assigns come back: soon, as long as all of them do not come too often.

A member learns of its new assignment only when it comes, so this is how long a rebalance takes.
"""

from collections.abc import Callable

from attrs import frozen

# A member that waits for what others still hold comes back sooner than the others; nobody sooner than this.
LEAST_INTERVAL_MS = 200


@frozen
class HeartbeatPace:
    """Shared by all members on this node."""

    per_second: int
    population: Callable[[], int]

    def interval_ms(self, most_ms: int, *, waits: bool) -> int:
        """The time until a member's next heartbeat."""
        if waits:
            return min(most_ms, LEAST_INTERVAL_MS)
        if self.per_second == 0:
            return most_ms
        return min(most_ms, max(LEAST_INTERVAL_MS, self.population() * 1000 // self.per_second))
