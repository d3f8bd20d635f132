"""Whether a segment's batches are sound: framing, checksums, rising offsets. Some at a time, with little memory.

The scrubber of a running broker and `tidegate log verify` both look by this.
"""

from collections.abc import Callable
from typing import NamedTuple

from attrs import define
from crc32c import crc32c

from engine.files.files import File
from engine.records.layout import CHECKSUM_END, HEADER_SIZE, BatchHeader, is_framed, parse_header

PIECE_BYTES = 256 * 1024
CHECKSUM_PROBLEM = "the checksum of this batch does not hold"

OnBatch = Callable[[int, BatchHeader, bool], object]


class FileFault(NamedTuple):
    """What is wrong in a file, and where; `offset` is the one that is expected there."""

    position: int
    offset: int
    text: str


@define
class SegmentCheck:
    """How far a segment was looked at. `next_offset` is the one that comes next, at the earliest."""

    next_offset: int
    position: int = 0
    gaps_allowed: bool = True
    is_broken: bool = False
    """Where framing ends nobody can tell where the next batch begins: what follows was not looked at."""
    batches: int = 0
    records: int = 0

    def look(self, file: File, limit: int, budget_bytes: int, on_batch: OnBatch | None = None) -> list[FileFault]:
        """[thread] Look at the next batches before `limit`: some `budget_bytes`, at least one. `on_batch` is told
        position, header and whether the checksum holds."""
        problems: list[FileFault] = []
        chunk = memoryview(file.pread(min(max(budget_bytes, HEADER_SIZE), limit - self.position), self.position))
        start = self.position
        while self.position < limit:
            at = self.position - start
            if at and at + HEADER_SIZE > len(chunk):
                break
            header = parse_header(chunk, at) if len(chunk) - at >= HEADER_SIZE else None
            if header is None or not is_framed(header) or header.size > limit - self.position:
                text = f"no batch begins here; {limit - self.position} bytes are left"
                problems.append(FileFault(self.position, self.next_offset, text))
                self.is_broken = True
                break
            if at and at + header.size > len(chunk):
                break
            sound = _checksum(file, self.position, header, chunk[at : at + header.size]) == header.crc
            problems += self._take(header, sound)
            if on_batch is not None:
                on_batch(self.position, header, sound)
            self.position += header.size
        return problems

    def _take(self, header: BatchHeader, sound: bool) -> list[FileFault]:
        problems: list[FileFault] = []
        if not sound:
            problems.append(FileFault(self.position, self.next_offset, CHECKSUM_PROBLEM))
        base_offset, expected = header.base_offset, self.next_offset
        delta = max(header.last_offset_delta, 0)
        if base_offset < expected or (base_offset > expected and not self.gaps_allowed):
            text = (
                f"offset {base_offset} comes after {expected - 1}"
                if base_offset < expected
                else f"offset {base_offset} where {expected} is expected"
            )
            problems.append(FileFault(self.position, expected, text))
            base_offset = expected
        self.next_offset = base_offset + delta + 1
        self.batches += 1
        self.records += header.record_count
        return problems


def _checksum(file: File, position: int, header: BatchHeader, known: memoryview) -> int:
    """Of a batch of which the beginning is in memory; the rest is read piece by piece."""
    found = crc32c(known[CHECKSUM_END:])
    done = len(known)
    while done < header.size:
        piece = file.pread(min(PIECE_BYTES, header.size - done), position + done)
        if not piece:
            return -1
        found = crc32c(piece, found)
        done += len(piece)
    return int(found)
