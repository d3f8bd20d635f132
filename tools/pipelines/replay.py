"""Writes records of one source partition to a topic, in order and without duplicates. Runs on Spark's executors.

Spark's own sink can set no timestamps and may write twice. Here every transaction holds records and, as the offset of a
group, the place in the source that they reach to: both count or neither. A task that is tried again fences the one
before by its transactional id, asks for the place, and goes on from there.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from tools.pipelines.typed.framing import reframed

TIMEOUT_S = 60


@dataclass(frozen=True)
class Target:
    """Where records go, and how."""

    name: str
    topic: str
    clients: dict[str, str] = field(default_factory=dict)
    keep_partitions: bool = True
    shift_ms: int = 0
    transaction_records: int = 1000
    per_second: float = 0.0
    """Of one task; 0 is no limit."""
    framings: dict[bytes, bytes] = field(default_factory=dict)
    """What values say of their schemas, and what they say instead where they go."""


def replay(target: Target, rows: Iterable[Any]) -> Iterator[int]:
    """Replays rows that come ordered by partition and offset; yields how many were written of each partition."""
    for partition, group in groupby(rows, key=lambda row: row.partition):
        yield _replay_partition(target, partition, group)


def _replay_partition(target: Target, partition: int, rows: Iterator[Any]) -> int:
    from confluent_kafka import Consumer, Producer, TopicPartition

    producer = Producer({**target.clients, "transactional.id": f"{target.name}-{partition}", "linger.ms": 20})
    # Waits until what an earlier task left open is decided.
    producer.init_transactions(TIMEOUT_S)
    consumer = Consumer({**target.clients, "group.id": target.name, "isolation.level": "read_committed"})
    try:
        (place,) = consumer.committed([TopicPartition(target.topic, partition)], TIMEOUT_S)
        remaining = (row for row in rows if row.offset >= place.offset)
        writer = _Writer(target, partition, producer, consumer.consumer_group_metadata())
        return writer.write(remaining)
    finally:
        consumer.close()


class _Writer:
    """Transactions of one partition."""

    def __init__(self, target: Target, partition: int, producer: Any, group: Any) -> None:
        self._target = target
        self._partition = partition
        self._producer = producer
        self._group = group

    def write(self, rows: Iterator[Any]) -> int:
        written, limit = 0, RateLimit(self._target.per_second)
        for chunk in chunks(rows, self._target.transaction_records):
            self._transact(chunk, limit)
            written += len(chunk)
        return written

    def _transact(self, rows: list[Any], limit: "RateLimit") -> None:
        from confluent_kafka import TopicPartition

        self._producer.begin_transaction()
        try:
            for row in rows:
                limit.wait()
                self._produce(row)
            reached = TopicPartition(self._target.topic, self._partition, rows[-1].offset + 1)
            self._producer.send_offsets_to_transaction([reached], self._group, TIMEOUT_S)
            self._producer.commit_transaction(TIMEOUT_S)
        except BaseException:
            self._producer.abort_transaction(TIMEOUT_S)
            raise

    def _produce(self, row: Any) -> None:
        headers = [(name, None if value is None else bytes(value)) for name, value in row.headers or ()]
        value = None if row.value is None else bytes(row.value)
        if value is not None and self._target.framings:
            value, headers = reframed(self._target.framings, value, headers)
        place = {"partition": row.partition} if self._target.keep_partitions else {}
        while True:
            try:
                self._producer.produce(
                    self._target.topic,
                    key=None if row.key is None else bytes(row.key),
                    value=value,
                    headers=headers or None,
                    timestamp=row.timestamp_ms + self._target.shift_ms,
                    **place,
                )
                break
            except BufferError:
                self._producer.poll(0.1)
        self._producer.poll(0)


def chunks(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    """Lists of at most `size` rows."""
    chunk: list[Any] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class RateLimit:
    """Lets so many pass per second, evenly; a delay is made up for by a second's worth at most."""

    def __init__(
        self,
        per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._step = 1 / per_second if per_second > 0 else 0.0
        self._clock, self._sleep = clock, sleep
        self._next = clock()

    def wait(self) -> None:
        if not self._step:
            return
        now = self._clock()
        self._next = max(self._next, now - 1.0)
        if self._next > now:
            self._sleep(self._next - now)
        self._next += self._step
