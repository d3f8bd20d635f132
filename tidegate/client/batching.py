"""Records gathered into batches, without I/O: by topic, until there are enough of them, or the first has waited.

A batch is due when it has `max_records` records or `max_bytes` bytes, when its first record has waited for `linger_s`,
or when everything is to go (`flush`). One batch of a topic is on its way at a time, so that its records keep their
order; the others wait behind it.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from attrs import define, field, frozen

RECORD_OVERHEAD_BYTES = 32

F = TypeVar("F")


@frozen
class BatchBounds:
    """When a batch is due."""

    max_records: int = 100
    max_bytes: int = 64 * 1024
    linger_s: float = 0.005
    max_waiting: int = 100_000
    """Records that may wait, of all topics; who adds more waits itself."""


@define(eq=False)
class ReadyBatch(Generic[F]):
    """Records that go together, each with whatever waits for its outcome."""

    topic: str
    records: list[Any] = field(factory=list)
    waiting: list[F] = field(factory=list)
    size: int = 0
    since: float = 0.0


@define(eq=False)
class Batching(Generic[F]):
    """See the module."""

    bounds: BatchBounds
    count: int = field(default=0, init=False)
    """Records that were added and have no outcome yet."""
    _queues: dict[str, deque[ReadyBatch[F]]] = field(factory=dict, init=False)
    _on_their_way: set[str] = field(factory=set, init=False)
    _flushing: bool = field(default=False, init=False)

    @property
    def is_full(self) -> bool:
        """Whether nothing more should be added now."""
        return self.count >= self.bounds.max_waiting

    def add(self, topic: str, record: Any, waiting: F, now: float) -> None:
        """Take a record in."""
        size = record.ByteSize() + RECORD_OVERHEAD_BYTES
        queue = self._queues.setdefault(topic, deque())
        if not queue or not self._fits(queue[-1], size):
            queue.append(ReadyBatch(topic, since=now))
        batch = queue[-1]
        batch.records.append(record)
        batch.waiting.append(waiting)
        batch.size += size
        self.count += 1

    def _fits(self, batch: ReadyBatch[F], size: int) -> bool:
        return len(batch.records) < self.bounds.max_records and batch.size + size <= self.bounds.max_bytes

    def take_due(self, now: float) -> Iterator[ReadyBatch[F]]:
        """Batches that are to be sent now; each is on its way until `done`."""
        for topic, queue in list(self._queues.items()):
            if topic not in self._on_their_way and queue and self._is_due(queue, now):
                self._on_their_way.add(topic)
                yield queue.popleft()

    def _is_due(self, queue: deque[ReadyBatch[F]], now: float) -> bool:
        first = queue[0]
        is_whole = len(first.records) >= self.bounds.max_records or first.size >= self.bounds.max_bytes
        return self._flushing or is_whole or len(queue) > 1 or now - first.since >= self.bounds.linger_s

    def next_due(self) -> float | None:
        """When the next batch that can go is due; None if there is none."""
        waiting = [queue[0].since for topic, queue in self._queues.items() if queue and topic not in self._on_their_way]
        return min(waiting) + self.bounds.linger_s if waiting else None

    def done(self, batch: ReadyBatch[F]) -> None:
        """It has its outcome; the next of its topic may go."""
        self._on_their_way.discard(batch.topic)
        self.count -= len(batch.records)
        if not self._queues.get(batch.topic):
            self._queues.pop(batch.topic, None)
        if not self.count:
            self._flushing = False

    def flush(self) -> None:
        """Have everything go that is there, without waiting for more."""
        self._flushing = self.count > 0
