"""The committed offsets of one shard's groups, and those of open transactions. Changes by replay alone.

A transactional commit is pending until its transaction ends. If it commits, the offset counts from when it was
written: a later commit outside of the transaction is not undone by it.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from typing import NamedTuple

from attrs import define, field

from coordinators.group.record_formats import OffsetKey, OffsetValue

TopicPartition = tuple[str, int]
CommitObserver = Callable[[OffsetKey, int], object]


class Committed(NamedTuple):
    """An offset and when it was replayed, counted in records."""

    value: OffsetValue
    sequence: int


@define(eq=False)
class Offsets:
    """By group, topic and partition."""

    observers: Sequence[CommitObserver] = ()
    """Told of every offset that counts from now on."""
    _committed: dict[str, dict[TopicPartition, Committed]] = field(factory=dict)
    _pending: dict[str, dict[TopicPartition, dict[int, Committed]]] = field(factory=dict)
    _by_producer: dict[int, set[OffsetKey]] = field(factory=dict)
    _sequence: int = 0

    # -- replay

    def commit(self, key: OffsetKey, value: OffsetValue) -> None:
        self._sequence += 1
        self._store(key, Committed(value, self._sequence))

    def commit_pending(self, key: OffsetKey, value: OffsetValue, producer_id: int) -> None:
        """A transaction will commit it, or not."""
        self._sequence += 1
        waiting = self._pending.setdefault(key.group_id, {}).setdefault((key.topic, key.partition), {})
        waiting[producer_id] = Committed(value, self._sequence)
        self._by_producer.setdefault(producer_id, set()).add(key)

    def remove(self, key: OffsetKey) -> None:
        """Forget an offset, and what transactions meant to commit there."""
        self._sequence += 1
        place = (key.topic, key.partition)
        _remove(self._committed, key.group_id, place)
        for producer_id in tuple(self._pending.get(key.group_id, {}).get(place, ())):
            self._drop_pending(key, producer_id)

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        """The marker of a transaction: its offsets count now, or never did."""
        for key in tuple(self._by_producer.get(producer_id, ())):
            pending = self._drop_pending(key, producer_id)
            current = self.get(key)
            if committed and (current is None or current.sequence < pending.sequence):
                self._store(key, pending)

    def _store(self, key: OffsetKey, committed: Committed) -> None:
        group = self._committed.get(key.group_id)
        if group is None:
            group = self._committed[key.group_id] = {}
        group[key.topic, key.partition] = committed
        for observe in self.observers:
            observe(key, committed.value.offset)

    def _drop_pending(self, key: OffsetKey, producer_id: int) -> Committed:
        place = (key.topic, key.partition)
        waiting = self._pending[key.group_id][place]
        pending = waiting.pop(producer_id)
        if not waiting:
            _remove(self._pending, key.group_id, place)
        keys = self._by_producer[producer_id]
        keys.remove(key)
        if not keys:
            del self._by_producer[producer_id]
        return pending

    # -- looking

    def get(self, key: OffsetKey) -> Committed | None:
        group = self._committed.get(key.group_id)
        return None if group is None else group.get((key.topic, key.partition))

    def of_group(self, group_id: str) -> dict[TopicPartition, Committed]:
        return self._committed.get(group_id, {})

    def is_pending(self, key: OffsetKey) -> bool:
        """Whether a transaction is open that would commit here."""
        pending = self._pending.get(key.group_id)
        return pending is not None and (key.topic, key.partition) in pending

    def keys_of(self, group_id: str) -> set[OffsetKey]:
        """Every place of a group, pending ones too."""
        places = {*self._committed.get(group_id, ()), *self._pending.get(group_id, ())}
        return {OffsetKey(group_id, topic, partition) for topic, partition in places}

    def groups(self) -> set[str]:
        return {*self._committed, *self._pending}

    def of_topics(self, topics: Container[str]) -> Iterator[tuple[OffsetKey, OffsetValue]]:
        """What any group committed, or would commit, for some topics."""
        for group_id in self.groups():
            for (name, partition), committed in self.of_group(group_id).items():
                if name in topics:
                    yield OffsetKey(group_id, name, partition), committed.value
            for (name, partition), waiting in self._pending.get(group_id, {}).items():
                if name in topics:
                    for committed in waiting.values():
                        yield OffsetKey(group_id, name, partition), committed.value

    def snapshot(self) -> object:
        """Everything, to be compared with another's."""
        return self._committed, self._pending, self._by_producer

    def statistics(self) -> dict[str, int]:
        """How many offsets there are."""
        return {
            "offsets": sum(map(len, self._committed.values())),
            "pending_offsets": sum(map(len, self._pending.values())),
        }


def _remove(
    table: "dict[str, dict[TopicPartition, Committed]] | dict[str, dict[TopicPartition, dict[int, Committed]]]",
    group_id: str,
    place: TopicPartition,
) -> None:
    group = table.get(group_id)
    if group is not None:
        group.pop(place, None)
        if not group:
            del table[group_id]
