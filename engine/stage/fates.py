"""What became of delayed records that are gone, to be asked for by schedule id for some time afterwards.

Entries lie in chunks of some thousand, in the order of the events; inside a chunk they are sorted by id. An entry costs
24 bytes. Noting one moves at most a chunk's worth of memory; asking bisects each chunk, the latest first. A chunk goes
whole, when all of it is old or there are more entries than the bound: a fate is kept at least as long as promised,
within the bound, and less than twice as long if `expire` is called now and then.

Encoding, little endian: the number of chunks (u32), whether the next entry begins another (u32); per chunk the number
of entries (u32), the id hashes, the offsets, and the times with the kind in the two lowest bits (i64 each).
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from enum import IntEnum
from hashlib import blake2b
from itertools import islice
from operator import le
from typing import NamedTuple

from attrs import define, field

from engine.stage.sorted_rows import Buffer, from_little_endian, little_endian

CHUNK_ENTRIES = 4096
DEFAULT_ENTRIES = 1_000_000
NO_OFFSET = -1
_KIND_BITS = 2
_KIND_MASK = (1 << _KIND_BITS) - 1
# What fits beside the kind.
_TIME_MAX_MS = 2**60


class FateKind(IntEnum):
    """How a record went."""

    DELIVERED = 0
    CANCELLED = 1
    EXPIRED = 2


class RememberedFate(NamedTuple):
    """How a record went, as the stage keeps it: `offset` is where it was delivered, `at_ms` is the stage's own time."""

    kind: FateKind
    offset: int
    at_ms: int


def id_hash(schedule_id: bytes) -> int:
    """A schedule id as a positive number of 63 bits. By chance two of a billion ids are the same once in twenty
    times; within a partition, where ids must differ, there are far fewer."""
    digest = int.from_bytes(blake2b(schedule_id, digest_size=8).digest(), "big") & (2**63 - 1)
    return digest or 1


@define(eq=False)
class _Chunk:
    """Entries sorted by id; of one id, the latest last."""

    ids: "array[int]" = field(factory=lambda: array("q"))
    offsets: "array[int]" = field(factory=lambda: array("q"))
    times: "array[int]" = field(factory=lambda: array("q"))
    oldest_ms: int = _TIME_MAX_MS
    latest_ms: int = -_TIME_MAX_MS

    def note(self, key: int, kind: FateKind, offset: int, now_ms: int) -> None:
        place = bisect_right(self.ids, key)
        self.ids.insert(place, key)
        self.offsets.insert(place, offset)
        self.times.insert(place, now_ms << _KIND_BITS | kind)
        self.oldest_ms = min(self.oldest_ms, now_ms)
        self.latest_ms = max(self.latest_ms, now_ms)

    def get(self, key: int) -> RememberedFate | None:
        place = bisect_right(self.ids, key) - 1
        if place < 0 or self.ids[place] != key:
            return None
        time = self.times[place]
        return RememberedFate(FateKind(time & _KIND_MASK), self.offsets[place], time >> _KIND_BITS)


@define(eq=False)
class Fates:
    """See the module. At most `max_entries` are kept, or a chunk if that is more."""

    max_entries: int = DEFAULT_ENTRIES
    _chunks: list[_Chunk] = field(factory=list, init=False)
    _entries: int = field(default=0, init=False)
    _sealed: bool = field(default=True, init=False)
    """Whether the next entry begins a chunk."""

    def __len__(self) -> int:
        return self._entries

    def note(self, id_hash: int, kind: FateKind, offset: int, now_ms: int) -> None:
        """A record is gone. The latest fate of an id is the one that counts."""
        if not (0 < id_hash < 2**63 and NO_OFFSET <= offset < 2**63 and abs(now_ms) < _TIME_MAX_MS):
            raise ValueError(f"id hash {id_hash}, offset {offset}, time {now_ms}")
        if self._sealed or len(self._chunks[-1].ids) >= CHUNK_ENTRIES:
            self._chunks.append(_Chunk())
            self._sealed = False
        self._chunks[-1].note(id_hash, kind, offset, now_ms)
        self._entries += 1
        while self._entries > self.max_entries and len(self._chunks) > 1:
            self._entries -= len(self._chunks.pop(0).ids)

    def get(self, id_hash: int) -> RememberedFate | None:
        """The latest fate of a record with this id, if one is remembered."""
        for chunk in reversed(self._chunks):
            fate = chunk.get(id_hash)
            if fate is not None:
                return fate
        return None

    def expire(self, before_ms: int) -> None:
        """Forgets what happened before that time, chunk by chunk."""
        self._chunks = [chunk for chunk in self._chunks if chunk.latest_ms >= before_ms]
        self._entries = sum(len(chunk.ids) for chunk in self._chunks)
        # A chunk that is slow to fill would keep what is old for as long as anything comes: the next begins another.
        if not self._chunks or self._chunks[-1].oldest_ms < before_ms:
            self._sealed = True

    def encode(self) -> Iterator[bytes]:
        """All entries. They must not change meanwhile."""
        yield little_endian(array("I", (len(self._chunks), self._sealed)))
        for chunk in self._chunks:
            yield little_endian(array("I", (len(chunk.ids),)))
            yield from map(little_endian, (chunk.ids, chunk.offsets, chunk.times))

    @classmethod
    def decode(cls, data: Buffer, position: int, max_entries: int = DEFAULT_ENTRIES) -> tuple["Fates", int]:
        """What `encode` gave, and where it ended. ValueError: it is something else."""
        fates = cls(max_entries)
        (chunks, sealed), position = from_little_endian("I", data, position, 2)
        if sealed > 1 or not (chunks or sealed):
            raise ValueError(f"fates of {chunks} chunks, sealed {sealed}")
        fates._sealed = bool(sealed)
        for _ in range(chunks):
            chunk, position = _decode_chunk(data, position)
            fates._chunks.append(chunk)
            fates._entries += len(chunk.ids)
        return fates, position


def _decode_chunk(data: Buffer, position: int) -> tuple[_Chunk, int]:
    (count,), position = from_little_endian("I", data, position, 1)
    if not 0 < count <= CHUNK_ENTRIES:
        raise ValueError(f"a chunk of {count} fates")
    ids, position = from_little_endian("q", data, position, count)
    offsets, position = from_little_endian("q", data, position, count)
    times, position = from_little_endian("q", data, position, count)
    if ids[0] < 1 or not all(map(le, ids, islice(ids, 1, None))):
        raise ValueError("fates out of order")
    if min(offsets) < NO_OFFSET or any(time & _KIND_MASK > FateKind.EXPIRED for time in times):
        raise ValueError("a fate of no kind")
    return _Chunk(ids, offsets, times, min(times) >> _KIND_BITS, max(times) >> _KIND_BITS), position
