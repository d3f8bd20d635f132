"""A sorted multiset of pairs of integers, without a Python object per pair.

Pairs lie in leaves of at most a thousand, each two arrays: a pair costs 16 bytes. Adding one bisects for its leaf and
its place there, and moves at most a leaf's worth of memory; taking from the front takes slices off leaves.

Encoding, little endian: the number of pairs (u64), all first values (i64), all second values (i64).
"""

import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import islice
from operator import le

from attrs import define, field

from engine.stage.sorted_rows import Buffer, from_little_endian, little_endian

Pair = tuple[int, int]
LEAF_PAIRS = 1024
_COUNT = struct.Struct("<Q")


@define(eq=False)
class _Leaf:
    """Some pairs in order."""

    firsts: "array[int]" = field(factory=lambda: array("q"))
    seconds: "array[int]" = field(factory=lambda: array("q"))

    def place(self, first: int, second: int) -> int:
        low = bisect_left(self.firsts, first)
        if low == len(self.firsts) or self.firsts[low] != first:
            return low
        high = bisect_right(self.firsts, first, low)
        return bisect_right(self.seconds, second, low, high)

    def insert(self, first: int, second: int) -> None:
        place = self.place(first, second)
        self.firsts.insert(place, first)
        self.seconds.insert(place, second)

    def cut(self, start: int, end: int) -> "_Leaf":
        return _Leaf(self.firsts[start:end], self.seconds[start:end])


@define(eq=False)
class SortedPairs:
    """See the module."""

    leaf_pairs: int = LEAF_PAIRS
    _leaves: list[_Leaf] = field(factory=list, init=False)
    _starts: list[Pair] = field(factory=list, init=False)
    """What each leaf began with when it was made: a pair goes to the last leaf that starts at or before it."""
    _count: int = field(default=0, init=False)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Pair]:
        for leaf in self._leaves:
            yield from zip(leaf.firsts, leaf.seconds, strict=True)

    def first(self) -> int | None:
        """The first value of the least pair."""
        return self._leaves[0].firsts[0] if self._leaves else None

    def add(self, first: int, second: int) -> None:
        if not self._leaves:
            self._leaves.append(_Leaf())
            self._starts.append((first, second))
        at = max(bisect_right(self._starts, (first, second)) - 1, 0)
        leaf = self._leaves[at]
        if len(leaf.firsts) >= self.leaf_pairs:
            leaf = self._split(at, first, second)
        leaf.insert(first, second)
        self._count += 1

    def take(self, greatest: int, limit: int) -> list[Pair]:
        """Removes and gives the least pairs whose first value is at most `greatest`, at most `limit` of them."""
        taken: list[Pair] = []
        emptied = 0
        for leaf in self._leaves:
            count = min(bisect_right(leaf.firsts, greatest), limit - len(taken))
            taken += zip(leaf.firsts[:count], leaf.seconds[:count], strict=True)
            if count < len(leaf.firsts):
                del leaf.firsts[:count], leaf.seconds[:count]
                break
            emptied += 1
        del self._leaves[:emptied], self._starts[:emptied]
        self._count -= len(taken)
        return taken

    def count_below(self, first: int) -> int:
        """How many pairs have a first value less than this."""
        count = 0
        for leaf in self._leaves:
            count += bisect_left(leaf.firsts, first)
        return count

    def encode(self) -> Iterator[bytes]:
        yield _COUNT.pack(self._count)
        for leaf in self._leaves:
            yield little_endian(leaf.firsts)
        for leaf in self._leaves:
            yield little_endian(leaf.seconds)

    @classmethod
    def decode(cls, data: Buffer, position: int) -> tuple["SortedPairs", int]:
        """What `encode` gave, and where it ended. ValueError: it is something else."""
        (count,), position = from_little_endian("Q", data, position, 1)
        firsts, position = from_little_endian("q", data, position, count)
        seconds, position = from_little_endian("q", data, position, count)
        pairs = zip(firsts, seconds, strict=True)
        following = islice(zip(firsts, seconds, strict=True), 1, None)
        if not all(map(le, pairs, following)):
            raise ValueError("pairs out of order")
        decoded = cls()
        whole = _Leaf(firsts, seconds)
        for start in range(0, count, decoded.leaf_pairs):
            decoded._leaves.append(whole.cut(start, start + decoded.leaf_pairs))
            decoded._starts.append((firsts[start], seconds[start]))
        decoded._count = count
        return decoded, position

    def _split(self, at: int, first: int, second: int) -> _Leaf:
        """Halves a full leaf; gives the half that this pair belongs to. A pair beyond the very end begins a leaf of
        its own: pairs that come in order leave full leaves behind."""
        leaf = self._leaves[at]
        size = len(leaf.firsts)
        half = size // 2
        if at + 1 == len(self._leaves) and leaf.place(first, second) == size:
            half = size
        following = leaf.cut(half, size)
        start = (following.firsts[0], following.seconds[0]) if half < size else (first, second)
        self._leaves[at : at + 1] = [leaf.cut(0, half), following]
        self._starts.insert(at + 1, start)
        return self._leaves[at] if (first, second) < start else following
