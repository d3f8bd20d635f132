"""Rows of a fixed width sorted by an integer key, without a Python object per row.

Rows lie in chunks of some hundred: an array of keys and the packed values behind one another, so that a row costs
eight bytes and its width. A row is found by two bisections; adding or removing one moves at most a chunk's worth of
memory; full chunks are split and sparse ones merged. No call does more work than that, however many rows there are.

`encode` and `snapshot` share their chunks with the table, which copies a shared chunk before it changes it. So a
table of a million rows can be written out bit by bit, or read in a thread, while it goes on changing.
Encoding, little endian: the number of chunks (u32); per chunk the number of rows (u32), the keys (i64), the values.
"""

import struct
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from operator import lt

from attrs import define, field

Buffer = bytes | bytearray | memoryview
# Where a row is, until the next change: chunk, and row in it.
Place = tuple[int, int]

CHUNK_ROWS = 512
_DECODED_ROWS_MAX = 1 << 16
_COUNT = struct.Struct("<I")


@define(eq=False)
class Chunk:
    """Some rows. Whoever encodes may still be reading a shared chunk: it never changes again."""

    keys: "array[int]" = field(factory=lambda: array("q"))
    values: bytearray = field(factory=bytearray)
    shared: bool = False

    def __len__(self) -> int:
        return len(self.keys)

    def cut(self, start: int, end: int, width: int) -> "Chunk":
        # A slice has no spare room, other than what grew.
        return Chunk(self.keys[start:end], self.values[start * width : end * width])


@define(eq=False)
class SortedRows:
    """See the module. `layout` is how values are packed: little endian."""

    layout: struct.Struct
    chunk_rows: int = CHUNK_ROWS
    _firsts: list[int] = field(factory=list, init=False)
    _chunks: list[Chunk] = field(factory=list, init=False)
    _rows: int = field(default=0, init=False)

    def __len__(self) -> int:
        return self._rows

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """To add up their values. Not to be changed."""
        return tuple(self._chunks)

    def find(self, key: int) -> Place | None:
        """Where the last row lies whose key is at most this one."""
        at = bisect_right(self._firsts, key) - 1
        if at < 0:
            return None
        return at, bisect_right(self._chunks[at].keys, key) - 1

    def find_exactly(self, key: int) -> Place | None:
        """Where the row of this key lies."""
        place = self.find(key)
        return place if place is not None and self._chunks[place[0]].keys[place[1]] == key else None

    def after(self, place: Place | None) -> Place | None:
        """The place after this one; after None comes the first."""
        at, index = (0, 0) if place is None else (place[0], place[1] + 1)
        if at < len(self._chunks) and index < len(self._chunks[at]):
            return at, index
        return (at + 1, 0) if at + 1 < len(self._chunks) else None

    def key(self, place: Place) -> int:
        return self._chunks[place[0]].keys[place[1]]

    def read(self, place: Place) -> tuple[int, ...]:
        return self.layout.unpack_from(self._chunks[place[0]].values, place[1] * self.layout.size)

    def write(self, place: Place, packed: Buffer) -> None:
        """Replaces the values of a row."""
        start = place[1] * self.layout.size
        self._own(place[0]).values[start : start + len(packed)] = packed

    def append(self, key: int, packed: Buffer) -> None:
        """Adds a row whose key is greater than all others."""
        chunk = self._chunks[-1] if self._chunks else None
        if chunk is None or chunk.shared or len(chunk.keys) >= self.chunk_rows:
            at, _ = self._room(None if chunk is None else (len(self._chunks) - 1, len(chunk) - 1))
            chunk = self._chunks[at]
        if not chunk.keys:
            self._firsts[-1] = key
        chunk.keys.append(key)
        chunk.values += packed
        self._rows += 1

    def insert(self, place: Place | None, key: int, packed: Buffer) -> None:
        """Adds a row after this place, which is what `find` gave for its key."""
        at, index = self._room(place)
        chunk = self._chunks[at]
        chunk.keys.insert(index, key)
        start = index * self.layout.size
        chunk.values[start:start] = packed
        self._rows += 1
        if index == 0:
            self._firsts[at] = key

    def delete(self, place: Place) -> None:
        at, index = place
        chunk, width = self._own(at), self.layout.size
        del chunk.keys[index]
        del chunk.values[index * width : (index + 1) * width]
        self._rows -= 1
        if not chunk.keys:
            self._drop(at)
            return
        if index == 0:
            self._firsts[at] = chunk.keys[0]
        if len(chunk.keys) < self.chunk_rows // 4:
            self._merge(at)

    def rows(self, from_key: int | None = None) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Keys and values from the last row on whose key is at most `from_key`. The table may change meanwhile: a row
        that comes or goes then may be seen or not, every other is seen once."""
        place = None if from_key is None else self.find(from_key)
        at, index = place or (0, 0)
        while at < len(self._chunks):
            chunk = self._chunks[at]
            values = self.layout.iter_unpack(bytes(memoryview(chunk.values)[index * self.layout.size :]))
            keys = chunk.keys[index:]
            yield from zip(keys, values, strict=True)
            # Chunks may have been split or merged since: go on by key.
            following = self.after(self.find(keys[-1]))
            if following is None:
                return
            at, index = following

    def snapshot(self) -> "SortedRows":
        """The rows as they are now, for a thread to read. See the module."""
        copied = SortedRows(self.layout, self.chunk_rows)
        copied._firsts, copied._chunks, copied._rows = self._firsts.copy(), self._share(), self._rows
        return copied

    def encode(self) -> Iterator[bytes]:
        """The rows as they are now, in pieces of a chunk each. See the module."""
        return _encode(self._share())

    def _share(self) -> list[Chunk]:
        for chunk in self._chunks:
            chunk.shared = True
        return self._chunks.copy()

    @classmethod
    def decode(cls, data: Buffer, position: int, layout: struct.Struct) -> tuple["SortedRows", int]:
        """What `encode` gave, and where it ended."""
        decoded = cls(layout)
        chunks, position = _decode_count(data, position)
        for _ in range(chunks):
            chunk, position = _decode_chunk(data, position, layout.size)
            if decoded._chunks and decoded._chunks[-1].keys[-1] >= chunk.keys[0]:
                raise ValueError("rows out of order from chunk to chunk")
            decoded._firsts.append(chunk.keys[0])
            decoded._chunks.append(chunk)
            decoded._rows += len(chunk)
        return decoded, position

    def _own(self, at: int) -> Chunk:
        """The chunk, made the table's own: a copy if somebody may be reading it."""
        chunk = self._chunks[at]
        if chunk.shared:
            chunk = self._chunks[at] = chunk.cut(0, len(chunk), self.layout.size)
        return chunk

    def _room(self, place: Place | None) -> Place:
        """Where to insert a row after `place`: in a chunk of the table's own that is not full."""
        if not self._chunks:
            return self._start(0)
        at, index = (0, 0) if place is None else (place[0], place[1] + 1)
        chunk = self._chunks[at]
        if len(chunk) < self.chunk_rows:
            self._own(at)
            return at, index
        width, rows = self.layout.size, len(chunk)
        if index == rows and at + 1 == len(self._chunks):
            # Rows that come in order leave full chunks behind, not halves.
            self._chunks[at] = chunk.cut(0, rows, width)
            return self._start(at + 1)
        half = rows // 2
        self._chunks[at : at + 1] = [chunk.cut(0, half, width), chunk.cut(half, rows, width)]
        self._firsts.insert(at + 1, chunk.keys[half])
        return (at, index) if index <= half else (at + 1, index - half)

    def _start(self, at: int) -> Place:
        self._chunks.insert(at, Chunk())
        self._firsts.insert(at, 0)
        return at, 0

    def _drop(self, at: int) -> None:
        del self._chunks[at]
        del self._firsts[at]

    def _merge(self, at: int) -> None:
        """Joins a sparse chunk with a neighbour if both together are still far from full."""
        at = min(at, len(self._chunks) - 2)
        if at < 0 or len(self._chunks[at]) + len(self._chunks[at + 1]) > self.chunk_rows // 2:
            return
        chunk, following = self._own(at), self._chunks[at + 1]
        chunk.keys.extend(following.keys)
        chunk.values += following.values
        self._drop(at + 1)


def little_endian(values: "array[int]") -> bytes:
    """The values as they stand in a file."""
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()


def from_little_endian(typecode: str, data: Buffer, position: int, count: int) -> tuple["array[int]", int]:
    """`count` values that stand at `position`, and where they end."""
    values = array(typecode)
    end = position + count * values.itemsize
    if count < 0 or position < 0 or end > len(data):
        raise ValueError(f"{count} values of {values.itemsize} bytes in {len(data) - position} bytes")
    values.frombytes(memoryview(data)[position:end])
    if sys.byteorder == "big":
        values.byteswap()
    return values, end


def _encode(chunks: list[Chunk]) -> Iterator[bytes]:
    yield _COUNT.pack(len(chunks))
    for chunk in chunks:
        yield b"".join((_COUNT.pack(len(chunk)), little_endian(chunk.keys), chunk.values))


def _decode_count(data: Buffer, position: int) -> tuple[int, int]:
    (count,), end = from_little_endian("I", data, position, 1)
    return count, end


def _decode_chunk(data: Buffer, position: int, width: int) -> tuple[Chunk, int]:
    rows, position = _decode_count(data, position)
    if not 0 < rows <= _DECODED_ROWS_MAX:
        raise ValueError(f"a chunk of {rows} rows")
    keys, position = from_little_endian("q", data, position, rows)
    if not all(map(lt, keys, islice(keys, 1, None))):
        raise ValueError("rows out of order in a chunk")
    end = position + rows * width
    if end > len(data):
        raise ValueError(f"{rows} rows of {width} bytes in {len(data) - position} bytes")
    return Chunk(keys, bytearray(memoryview(data)[position:end])), end
