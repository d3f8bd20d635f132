"""What is ready in one lane, first in, first out, without a Python object per entry.

An entry is a record, or a run of records with consecutive numbers. It costs 32 bytes, in chunks of some hundred
entries: pushing and taking is constant work; finding one by its number scans the bounds of the chunks, and a chunk.

Encoding, little endian: the number of entries (u32), then the columns one after the other (see `LaneEntry`).
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain, islice
from operator import add, le
from typing import NamedTuple

from attrs import define, field

from engine.stage.sorted_rows import Buffer, from_little_endian, little_endian

CHUNK_ENTRIES = 512


class LaneEntry(NamedTuple):
    """Records `number` and following of `size` bytes each; `order` is how many were ready in all lanes before."""

    number: int
    count: int  # type: ignore[assignment]
    size: int
    ready_ms: int
    order: int


class Stretch(NamedTuple):
    """Entries that follow one another, from the place `head` on: their numbers, and how many records each has."""

    numbers: "array[int]"
    counts: "array[int]"
    head: int


_TYPECODES = "qIIqq"
_NUMBER, _COUNT, _SIZE, _READY_MS, _ORDER = range(5)


@define(eq=False)
class _Chunk:
    """Some entries, of which those before `head` are gone."""

    columns: list["array[int]"] = field(factory=lambda: [array(typecode) for typecode in _TYPECODES])
    head: int = 0
    records: int = 0
    low: int = 0
    high: int = 0
    """No number is less than `low`, none is `high` or greater."""
    shared: bool = False
    """Whether somebody may still be reading the columns: they never change again."""

    def __len__(self) -> int:
        return len(self.columns[0]) - self.head

    def share(self) -> Stretch:
        self.shared = True
        return Stretch(self.columns[_NUMBER], self.columns[_COUNT], self.head)

    def own(self) -> None:
        """Makes the columns the queue's own, to be changed."""
        if self.shared:
            self.columns, self.shared = [column[:] for column in self.columns], False

    def push(self, entry: LaneEntry) -> None:
        self.own()
        for column, value in zip(self.columns, entry, strict=True):
            column.append(value)
        end = entry.number + entry.count
        self.low, self.high = (
            (min(self.low, entry.number), max(self.high, end)) if self.records else (entry.number, end)
        )
        self.records += entry.count

    def read(self, index: int) -> LaneEntry:
        return LaneEntry._make([column[index] for column in self.columns])

    def entries(self) -> Iterator[LaneEntry]:
        return map(LaneEntry._make, islice(zip(*self.columns, strict=True), self.head, None))

    def shorten(self, index: int, count: int) -> None:
        """Takes the first `count` records off an entry that has more."""
        self.own()
        numbers, counts, _, _, orders = self.columns
        numbers[index] += count
        counts[index] -= count
        orders[index] += count
        self.records -= count

    def find(self, number: int) -> int | None:
        numbers, counts = (self.columns[at][self.head :] for at in (_NUMBER, _COUNT))
        for index, (first, count) in enumerate(zip(numbers, counts, strict=True), self.head):
            if first <= number < first + count:
                return index
        return None

    def cut(self, index: int, number: int, count: int) -> None:
        """Takes records out of the middle of an entry, which becomes none, one, or two."""
        self.own()
        entry = self.read(index)
        before = number - entry.number
        after = entry.count - before - count
        parts = [entry._replace(count=before)] if before else []
        if after:
            parts.append(entry._replace(number=number + count, count=after, order=entry.order + before + count))
        for at, column in enumerate(self.columns):
            column[index : index + 1] = array(column.typecode, [part[at] for part in parts])
        self.records -= count

    def records_before(self, order: int) -> int:
        counts, orders = self.columns[_COUNT], self.columns[_ORDER]
        end = bisect_left(orders, order, self.head)
        if end == self.head:
            return 0
        beyond = max(orders[end - 1] + counts[end - 1] - order, 0)
        return sum(counts[self.head : end]) - beyond


@define(eq=False)
class LaneQueue:
    """See the module."""

    records: int = field(default=0, init=False)
    _chunks: list[_Chunk] = field(factory=list, init=False)

    def push(self, entry: LaneEntry) -> None:
        if not self._chunks or len(self._chunks[-1].columns[0]) >= CHUNK_ENTRIES:
            self._chunks.append(_Chunk())
        self._chunks[-1].push(entry)
        self.records += entry.count

    def first(self) -> LaneEntry | None:
        return self._chunks[0].read(self._chunks[0].head) if self._chunks else None

    def entries(self) -> Iterator[LaneEntry]:
        """All entries, the first first. The queue must not change meanwhile."""
        return chain.from_iterable(chunk.entries() for chunk in self._chunks)

    def stretches(self) -> list[Stretch]:
        """All entries as they are now, for a thread to read: a chunk is copied before it changes."""
        return [chunk.share() for chunk in self._chunks]

    def take(self, number: int, count: int) -> None:
        """Removes the first `count` records, the very first of which is `number`. ValueError: they are others."""
        while count:
            entry = self.first()
            if entry is None or entry.number != number:
                raise ValueError(f"record {number} is not the first of its lane, {entry} is")
            taken = min(count, entry.count)
            chunk = self._chunks[0]
            if taken < entry.count:
                chunk.shorten(chunk.head, taken)
            else:
                chunk.head += 1
                chunk.records -= taken
                if not len(chunk):
                    del self._chunks[0]
            self.records -= taken
            number += taken
            count -= taken

    def drop(self, number: int, count: int) -> bool:
        """Removes these records, wherever they stand; False if there is no entry that holds them all."""
        for at, chunk in enumerate(self._chunks):
            if not chunk.low <= number < chunk.high or (index := chunk.find(number)) is None:
                continue
            entry = chunk.read(index)
            if number + count > entry.number + entry.count:
                return False
            chunk.cut(index, number, count)
            self.records -= count
            if not len(chunk):
                del self._chunks[at]
            return True
        return False

    def records_before(self, order: int) -> int:
        """How many of the records were ready before the one of this order."""
        count = 0
        for chunk in self._chunks:
            if chunk.columns[_ORDER][-1] + chunk.columns[_COUNT][-1] <= order:
                count += chunk.records
            else:
                return count + chunk.records_before(order)
        return count

    def encode(self) -> Iterator[bytes]:
        yield little_endian(array("I", (sum(map(len, self._chunks)),)))
        for column in range(len(_TYPECODES)):
            for chunk in self._chunks:
                yield little_endian(chunk.columns[column][chunk.head :])

    @classmethod
    def decode(cls, data: Buffer, position: int) -> tuple["LaneQueue", int]:
        """What `encode` gave, and where it ended. ValueError: it is something else."""
        (count,), position = from_little_endian("I", data, position, 1)
        columns = []
        for typecode in _TYPECODES:
            column, position = from_little_endian(typecode, data, position, count)
            columns.append(column)
        _check(columns)
        queue = cls()
        for start in range(0, count, CHUNK_ENTRIES):
            queue._chunks.append(_chunk([column[start : start + CHUNK_ENTRIES] for column in columns]))
        queue.records = sum(columns[_COUNT])
        return queue, position


def _check(columns: list["array[int]"]) -> None:
    numbers, counts, _, _, orders = columns
    if not counts:
        return
    if min(counts) < 1 or min(numbers) < 0 or orders[0] < 0:
        raise ValueError("a lane with an entry of no record")
    if not all(map(le, map(add, orders, counts), islice(orders, 1, None))):
        raise ValueError("a lane out of order")


def _chunk(columns: list["array[int]"]) -> _Chunk:
    numbers, counts = columns[_NUMBER], columns[_COUNT]
    return _Chunk(columns, 0, sum(counts), min(numbers), max(map(add, numbers, counts)))
