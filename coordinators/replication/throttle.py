"""How much of what replicas copy may go now: bounds for those that are catching up, as in Kafka (KIP-73).

A topic names the replicas that are bounded, for each side of a copy: pairs of a partition and the node that keeps to
it, or `*` (`leader.replication.throttled.replicas`, `follower....`). A node says how many bytes a second they have
together (`leader.replication.throttled.rate`, `follower....`). A replica that is in sync is never bounded, and what it
copies does not count: writes must not wait for a partition that moves.

Both sides ask alike: the leader before it gives records, the follower before it asks for some.

    room = throttle.room(topic, partition, in_sync=False)     # None: as many as you like; 0: not now
    throttle.took(topic, partition, given_bytes, in_sync=False)
    throttle.wait_s()                                         # when it is worth asking again

Whoever has any room may take a whole batch; what is too much is paid back before there is room again.
"""

from collections.abc import Callable
from enum import Enum
from functools import lru_cache

from attrs import define, field

from coordinators.topic_view import Topic
from engine.clock import Clock
from engine.config.keys import LONG_MAX

BURST_S = 1.0
"""What was not used is kept for so long."""
PAUSE_S = 1.0
"""With a rate of 0 it is looked so often whether there is another."""


class ThrottledSide(Enum):
    """Which end of a copy a node is."""

    LEADER = "leader"
    FOLLOWER = "follower"

    @property
    def replicas_key(self) -> str:
        """The topic key that names the replicas."""
        return f"{self.value}.replication.throttled.replicas"

    @property
    def rate_key(self) -> str:
        """The broker key of their bytes per second."""
        return f"{self.value}.replication.throttled.rate"


@define(eq=False)
class ReplicationThrottle:
    """See the module. `rate` tells the bytes per second in force; it may change any time."""

    node_id: int
    side: ThrottledSide
    clock: Clock
    rate: Callable[[], int]
    throttled_bytes: int = field(default=0, init=False)
    """What bounded replicas have copied so far."""
    _room: float = field(default=0.0, init=False)
    _filled_at: float | None = field(default=None, init=False)

    def room(self, topic: Topic, partition: int, *, in_sync: bool) -> int | None:
        """How many bytes of a partition may be copied now; None is any number."""
        if in_sync or not self._is_bounded(topic, partition):
            return None
        self._fill()
        return max(int(self._room), 0)

    def took(self, topic: Topic, partition: int, count: int, *, in_sync: bool) -> None:
        """So many bytes are copied."""
        if count and not in_sync and self._is_bounded(topic, partition):
            self._fill()
            self._room -= count
            self.throttled_bytes += count

    def wait_s(self) -> float:
        """How long there is no room; 0.0 if there is some."""
        rate = self.rate()
        if rate >= LONG_MAX:
            return 0.0
        self._fill()
        if self._room >= 1:
            return 0.0
        return (1 - self._room) / rate if rate > 0 else PAUSE_S

    def _is_bounded(self, topic: Topic, partition: int) -> bool:
        items = topic.config[self.side.replicas_key]
        if not items or self.rate() >= LONG_MAX:
            return False
        assert isinstance(items, tuple)
        bounded = _bounded_partitions(items, self.node_id)
        return bounded is None or partition in bounded

    def _fill(self) -> None:
        now, rate = self.clock.monotonic(), self.rate()
        most = rate * BURST_S
        if self._filled_at is None:
            self._room = most
        else:
            self._room = min(self._room + (now - self._filled_at) * rate, most)
        self._filled_at = now


@lru_cache(maxsize=1000)
def _bounded_partitions(items: tuple[str, ...], node_id: int) -> frozenset[int] | None:
    """The partitions that a node keeps to; None is all."""
    if items == ("*",):
        return None
    pairs = (item.partition(":") for item in items)
    return frozenset(int(partition) for partition, _, node in pairs if int(node) == node_id)
