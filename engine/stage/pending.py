"""What is pending in the stage of a partition: a row per staged record, or per run of records that share everything.

Rows are known by their number, the record's offset in the stage, and do not overlap. A row costs 72 bytes, and 16
more if the record has a schedule id; no call does more work than one chunk of rows (engine/stage/sorted_rows.py).
How many rows there may be is the caller's bound (`stage.max.bytes`).

Encoding: the segments that are referred to (a count, u32, and their base offsets, i64), the rows, and the map from
ids to numbers; the latter two as engine/stage/sorted_rows.py has them.
"""

import struct
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from operator import add, le
from typing import NamedTuple

from attrs import define, field

from engine.stage.sorted_rows import Buffer, Chunk, Place, SortedRows, from_little_endian, little_endian

NONE = -1
NO_ID = 0
_GREATEST = 2**63 - 1


class PendingRow(NamedTuple):
    """A staged record, or a run of `count` records from `number` on, of which the first `skip` have already gone.

    None of the records of a run was created after `created_ms`, which may be later than all of them."""

    number: int
    count: int  # type: ignore[assignment]
    skip: int
    state: int
    lane: int
    due_ms: int
    relative: bool
    segment: int
    position: int
    size: int
    created_ms: int
    expires_ms: int = NONE
    ttl_ms: int = NONE
    id_hash: int = NO_ID
    codec: int = 0
    """In which its client sent it."""


# Count, skip, segment (its place in the tally), position, size; due, created, expires, ttl, id hash; state, lane,
# relative, codec. Words first and 64 bytes in all, so that a word of all rows can be read as a slice.
_LAYOUT = struct.Struct("<IIIIIqqqqqBBBB")
_WORDS = _LAYOUT.size // 4
_COUNTS, _SKIPS, _SEGMENTS, _SIZES = 0, 1, 2, 4
_CREATED_LOW, _CREATED_HIGH = 7, 8
_ID_LAYOUT = struct.Struct("<q")
_SIGN = 1 << 31


@define(eq=False)
class _Tally:
    """The segments that rows lie in: rows and bytes of each. A row names its segment by the place in here, in four
    bytes instead of eight; a place is used again when the last row of its segment has gone."""

    bases: list[int] = field(factory=list)
    rows: list[int] = field(factory=list)
    bytes: list[int] = field(factory=list)
    _places: dict[int, int] = field(factory=dict)
    _free: list[int] = field(factory=list)

    def add(self, base: int, size: int) -> int:
        """Counts a row in; gives the place of its segment."""
        place = self._places.get(base)
        if place is None:
            place = self._begin(base)
        self.rows[place] += 1
        self.bytes[place] += size
        return place

    def remove(self, place: int, size: int) -> None:
        self.rows[place] -= 1
        self.bytes[place] -= size
        if not self.rows[place]:
            del self._places[self.bases[place]]
            self._free.append(place)

    def _begin(self, base: int) -> int:
        if not 0 <= base <= _GREATEST:
            raise ValueError(f"{base} is no base offset of a segment")
        if self._free:
            place = self._free.pop()
            self.bases[place] = base
        else:
            place = len(self.bases)
            self.bases.append(base)
            self.rows.append(0)
            self.bytes.append(0)
        self._places[base] = place
        return place

    def held(self) -> dict[int, int]:
        return {base: self.bytes[place] for base, place in self._places.items()}

    @classmethod
    def count(cls, bases: "array[int]", chunks: Iterable[Chunk]) -> "_Tally":
        """The tally of rows that were decoded."""
        tally = cls(bases.tolist(), [0] * len(bases), [0] * len(bases))
        for chunk in chunks:
            tally._count_chunk(_words(chunk, _SEGMENTS), _words(chunk, _SIZES))
        tally._places = {base: place for place, base in enumerate(bases) if tally.rows[place]}
        tally._free = [place for place, used in enumerate(tally.rows) if not used]
        if len(tally._places) + len(tally._free) != len(bases):
            raise ValueError("a segment that is named twice")
        return tally

    def _count_chunk(self, places: "array[int]", sizes: "array[int]") -> None:
        first, last = min(places), max(places)
        if last >= len(self.bases):
            raise ValueError("a row of a segment that is not named")
        if first == last:
            # Most chunks: rows that came together lie together.
            self.rows[first] += len(sizes)
            self.bytes[first] += sum(sizes)
            return
        for place, size in zip(places, sizes, strict=True):
            self.rows[place] += 1
            self.bytes[place] += size


@define(eq=False)
class PendingTable:
    """See the module."""

    bytes: int = field(default=0, init=False)
    """Sum of the sizes of all rows. A run counts whole until its row is removed."""
    _records: int = field(default=0, init=False)
    _rows: SortedRows = field(factory=lambda: SortedRows(_LAYOUT), init=False)
    _end: int = field(default=0, init=False)
    """No row ends after this: one that begins here or later can overlap none."""
    _ids: SortedRows = field(factory=lambda: SortedRows(_ID_LAYOUT), init=False)
    """By id hash, the number of the row that was added last with it."""
    _tally: _Tally = field(factory=_Tally, init=False)

    def __len__(self) -> int:
        """Pending records, not rows."""
        return self._records

    @property
    def row_count(self) -> int:
        return len(self._rows)

    def add(self, row: PendingRow) -> None:
        """Adds a row. ValueError: it overlaps one that is there, or a value is out of range; then nothing changed."""
        number, count, skip = row[:3]
        if number < 0 or number + count > _GREATEST or not 0 <= skip <= count or not count:
            raise ValueError(f"{row} is no run of records")
        if number < self._end:
            place = self._rows.find(number)
            self._check_gap(row, place)
            self._rows.insert(place, number, self._pack(row))
        else:
            self._rows.append(number, self._pack(row))
        self._end = max(self._end, number + count)
        self._records += count - skip
        self.bytes += row.size
        if row.id_hash != NO_ID:
            self._name(row.id_hash, number)

    def get(self, number: int) -> PendingRow | None:
        """The row of this record. For a number inside a run it is the run's, also if that record has already gone."""
        place = self._rows.find(number)
        if place is None:
            return None
        row = self._read(place)
        return row if number < row.number + row.count else None

    def remove(self, number: int) -> PendingRow | None:
        """Removes the row that begins with this number, and gives it; None if no row begins there."""
        place = self._rows.find_exactly(number)
        return None if place is None else self._remove(number, place, self._rows.read(place))

    def remove_single(self, number: int) -> PendingRow | None:
        """The same for a row of one record; None also if a run begins there."""
        place = self._rows.find_exactly(number)
        if place is None:
            return None
        values = self._rows.read(place)
        return self._remove(number, place, values) if values[_COUNTS] == 1 else None

    def _remove(self, number: int, place: Place, values: tuple[int, ...]) -> PendingRow:
        row = self._row(number, values)
        self._tally.remove(values[_SEGMENTS], row.size)
        self._rows.delete(place)
        self._records -= row.count - row.skip
        self.bytes -= row.size
        if row.id_hash != NO_ID:
            self._unname(row.id_hash, number)
        return row

    def update(self, number: int, **fields: int) -> PendingRow:
        """Changes the row that begins with this number, and gives it as it is now. KeyError: no row begins there;
        ValueError: no such field, or a value that cannot be; then nothing changed."""
        place = self._rows.find_exactly(number)
        if place is None:
            raise KeyError(number)
        before = self._read(place)
        # Unknown names are refused here.
        after = before._replace(**fields)  # type: ignore[arg-type]
        if after[:2] != before[:2] or not 0 <= after.skip <= after.count:
            raise ValueError(f"{before} cannot become {after}")
        segment = self._rows.read(place)[_SEGMENTS]
        self._rows.write(place, self._pack(after))
        self._tally.remove(segment, before.size)
        self._records += before.skip - after.skip
        self.bytes += after.size - before.size
        self._rename(before, after)
        return after

    def by_id(self, id_hash: int) -> int | None:
        """The number of the row that was added last with this id, if it is still there."""
        place = self._ids.find_exactly(id_hash)
        return None if place is None else self._ids.read(place)[0]

    def rows(self, from_number: int = 0) -> Iterator[PendingRow]:
        """Rows that hold `from_number` or a later one, in order. The table may change meanwhile: a row that comes or
        goes then may be seen or not, and as it was a moment ago; every other is seen once."""
        for number, values in self._rows.rows(from_number):
            if number + values[_COUNTS] > from_number:
                yield self._row(number, values)

    def created_bounds(self) -> list[tuple[int, int]]:
        """Stretches of rows, each by its first number, with the latest create time of any."""
        return [(chunk.keys[0], _latest_created(chunk)) for chunk in self._rows.chunks]

    def snapshot(self) -> "PendingTable":
        """The rows as they are now, for a thread to look through and nothing else."""
        copied = PendingTable()
        copied._rows = self._rows.snapshot()
        copied._tally.bases = self._tally.bases.copy()
        return copied

    def segments(self) -> dict[int, int]:
        """Segments that are still needed, with the bytes in them that are."""
        return self._tally.held()

    def encode(self) -> Iterable[Buffer]:
        """The table as it is now, in pieces: it may change while they are written."""
        bases = self._tally.bases
        head = little_endian(array("I", (len(bases),))) + little_endian(array("q", bases))
        return chain((head,), self._rows.encode(), self._ids.encode())

    @classmethod
    def decode(cls, data: Buffer, position: int) -> tuple["PendingTable", int]:
        """What `encode` gave, and where it ended. ValueError: it is something else."""
        table = cls()
        (count,), position = from_little_endian("I", data, position, 1)
        bases, position = from_little_endian("q", data, position, count)
        table._rows, position = SortedRows.decode(data, position, _LAYOUT)
        table._ids, position = SortedRows.decode(data, position, _ID_LAYOUT)
        chunks = table._rows.chunks
        table._end = _checked_end(chunks)
        table._tally = _Tally.count(bases, chunks)
        table._records = sum(sum(_words(chunk, _COUNTS)) - sum(_words(chunk, _SKIPS)) for chunk in chunks)
        table.bytes = sum(table._tally.bytes)
        return table, position

    def _check_gap(self, row: PendingRow, place: Place | None) -> None:
        rows = self._rows
        if place is not None and rows.key(place) + rows.read(place)[_COUNTS] > row.number:
            raise ValueError(f"{row} begins inside the row {rows.key(place)}")
        following = rows.after(place)
        if following is not None and rows.key(following) < row.number + row.count:
            raise ValueError(f"{row} reaches into the row {rows.key(following)}")

    def _pack(self, row: PendingRow) -> Buffer:
        """The row as it is stored, counted into its segment."""
        _, count, skip, state, lane, due, relative, segment, position, size, created, expires, ttl, id_hash, codec = row
        place = self._tally.add(segment, size)
        try:
            return _LAYOUT.pack(
                count, skip, place, position, size, due, created, expires, ttl, id_hash, state, lane, relative, codec
            )
        except struct.error as error:
            self._tally.remove(place, size)
            raise ValueError(f"{row}: {error}") from None

    def _read(self, place: Place) -> PendingRow:
        return self._row(self._rows.key(place), self._rows.read(place))

    def _row(self, number: int, values: tuple[int, ...]) -> PendingRow:
        count, skip, segment, position, size, due, created, expires, ttl, id_hash, state, lane, relative, codec = values
        base = self._tally.bases[segment]
        return PendingRow(
            number,
            count,
            skip,
            state,
            lane,
            due,
            relative != 0,
            base,
            position,
            size,
            created,
            expires,
            ttl,
            id_hash,
            codec,
        )

    def _name(self, id_hash: int, number: int) -> None:
        place = self._ids.find(id_hash)
        if place is not None and self._ids.key(place) == id_hash:
            self._ids.write(place, _ID_LAYOUT.pack(number))
        else:
            self._ids.insert(place, id_hash, _ID_LAYOUT.pack(number))

    def _unname(self, id_hash: int, number: int) -> None:
        place = self._ids.find_exactly(id_hash)
        if place is not None and self._ids.read(place)[0] == number:
            self._ids.delete(place)

    def _rename(self, before: PendingRow, after: PendingRow) -> None:
        if before.id_hash == after.id_hash:
            return
        if before.id_hash != NO_ID:
            self._unname(before.id_hash, before.number)
        if after.id_hash != NO_ID:
            self._name(after.id_hash, after.number)


def _words(chunk: Chunk, index: int) -> "array[int]":
    """One of the four-byte values of all rows of a chunk, without a Python loop over them."""
    words, _ = from_little_endian("I", chunk.values, 0, len(chunk) * _WORDS)
    return words[index::_WORDS]


def _latest_created(chunk: Chunk) -> int:
    """A time is two of the four-byte values, the second one with its sign."""
    low, high = _words(chunk, _CREATED_LOW), _words(chunk, _CREATED_HIGH)
    # Of most chunks all times are of the same weeks: one value of the second.
    highest = max(set(high), key=_SIGN.__xor__)
    latest = max(low) if high.count(highest) == len(high) else max(_where(low, high, highest))
    return ((highest ^ _SIGN) - _SIGN << 32) + latest


def _where(low: "array[int]", high: "array[int]", wanted: int) -> Iterator[int]:
    return (each for each, word in zip(low, high, strict=True) if word == wanted)


def _checked_end(chunks: Iterable[Chunk]) -> int:
    """Where the last row ends. Refuses rows that overlap or are no runs of records."""
    end = 0
    for chunk in chunks:
        numbers, counts = chunk.keys, _words(chunk, _COUNTS)
        if min(counts) < 1 or not all(map(le, _words(chunk, _SKIPS), counts)):
            raise ValueError("a row that is no run of records")
        if numbers[0] < end or not all(map(le, map(add, numbers, counts), islice(numbers, 1, None))):
            raise ValueError("rows that overlap")
        end = numbers[-1] + counts[-1]
    return end
