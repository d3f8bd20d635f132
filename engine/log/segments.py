"""The segments of a log, in order: finding the one that holds an offset, and where reading it ends."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from engine.log.segment import Segment
from engine.log.types import LogPosition


class SegmentList:
    """Segments that tile the offsets: each one's base offset is the end of the one before.

    Only the last, the active one, is written to. Readers in other threads take `tuple(list)`.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = list(segments)
        self._bases = [segment.base_offset for segment in segments]
        self.sealed_bytes = sum(segment.size for segment in segments[:-1])
        self.active = segments[-1] if segments else None

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __getitem__(self, number: int) -> Segment:
        return self._segments[number]

    @property
    def size_bytes(self) -> int:
        return self.sealed_bytes + (self.active.size if self.active else 0)

    def sealed(self) -> Sequence[Segment]:
        return self._segments[:-1]

    def activate(self, segment: Segment) -> None:
        """Appends a segment; the active one is sealed."""
        if self.active is not None:
            self.sealed_bytes += self.active.size
            self.active.seal()
        self._segments.append(segment)
        self._bases.append(segment.base_offset)
        self.active = segment

    def number_of(self, offset: int) -> int:
        """Which segment holds `offset`; the first, if it lies before all."""
        return max(bisect_right(self._bases, offset) - 1, 0)

    def end_of(self, number: int) -> int | None:
        """The end offset of a sealed segment; None for the active one."""
        return self._bases[number + 1] if number + 1 < len(self._bases) else None

    def below(self, offset: int) -> list[Segment]:
        """Sealed segments that end at or before `offset`."""
        return [segment for segment, end in zip(self._segments, self._bases[1:], strict=False) if end <= offset]

    def limit(self, number: int, upto: LogPosition) -> int:
        """Where reading a segment ends. `upto` may be older than a compaction: then its offset counts."""
        segment = self._segments[number]
        end = self.end_of(number)
        if end is not None and end <= upto.offset:
            return segment.size
        if upto.segment == segment.base_offset and not segment.cleaned:
            return min(upto.position, segment.size)
        if upto.offset <= segment.base_offset:
            return 0
        found = segment.locate(upto.offset)
        return found[0] if found else segment.size

    def position_of(self, offset: int) -> LogPosition | None:
        """The start of the batch that holds `offset`, or of the next one; None at the end."""
        for number in range(self.number_of(offset), len(self._segments)):
            segment = self._segments[number]
            found = segment.locate(offset)
            if found is not None:
                return LogPosition(offset, segment.base_offset, found[0])
        return None

    def replace(self, old: Sequence[Segment], new: Sequence[Segment]) -> None:
        """Puts `new` in the place of `old`, which are sealed and lie next to each other."""
        start = self._segments.index(old[0])
        end = start + len(old)
        assert self._segments[start:end] == list(old)
        assert end < len(self._segments)
        self._segments[start:end] = new
        self._bases[start:end] = [segment.base_offset for segment in new]
        self.sealed_bytes += sum(s.size for s in new) - sum(s.size for s in old)

    def close(self) -> None:
        for segment in self._segments:
            segment.close()
