"""Reading a log's batches from first to last where every byte must be right: each is checked, or the reading ends.

What a coordinator or a stage knows is the sum of its log. One wrong bit would make another state that looks as good as
the right one, so nothing is passed on that could be wrong. The checksum covers a batch except its offset, its length
and its leader epoch; a wrong length breaks the checksum, and a wrong offset breaks the order.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.damage import DamagedFile
from engine.files.files import File
from engine.log.segment import Segment
from engine.log.types import LogPosition
from engine.records.layout import HEADER_SIZE, BatchHeader, checksum, is_framed, parse_header

CHUNK_BYTES = 512 * 1024


class Replayed(NamedTuple):
    """A batch that is what was written, and where it lies."""

    header: BatchHeader
    batch: memoryview
    segment: int
    position: int


def replayed_batches(
    segments: Sequence[Segment], start: LogPosition, end: LogPosition, *, gaps_allowed: bool
) -> Iterator[Replayed]:
    """[thread] Every batch from `start` to `end`; `DamagedFile` where one is not what it must be.

    `start` is a batch's place, or the beginning of a segment: then what lies below its offset is only looked at. Where
    `gaps_allowed` (compaction makes them) a batch may begin later than the one before it ended. The segments are those
    of one moment: if they are replaced meanwhile, the old ones are read to their end.
    """
    expected, path = start.offset if start.position else start.segment, ""
    for segment in segments:
        if not start.segment <= segment.base_offset <= end.segment:
            continue
        file, path = segment.file(), segment.path
        first = start.position if segment.base_offset == start.segment else 0
        # A position is that of the segment as it was; a cleaned one lies below the end as a whole.
        limit = end.position if segment.base_offset == end.segment and not segment.cleaned else segment.size
        for position, header, batch in _batches(file, first, limit, expected):
            if problem := _disorder(header, expected, end.offset, gaps_allowed):
                raise DamagedFile(file.path, position, expected, problem)
            expected = header.next_offset
            if expected > start.offset:
                yield Replayed(header, batch, segment.base_offset, position)
    if expected != end.offset and not gaps_allowed:
        raise DamagedFile(path, end.position, expected, f"the log goes on to {end.offset}, and nothing is here")


def _batches(file: File, position: int, limit: int, offset: int) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """The batches of a file whose checksums hold; `DamagedFile` at one that does not. `offset` is for the error."""
    chunk, chunk_start = memoryview(b""), position
    while position < limit:
        at = position - chunk_start
        if at + HEADER_SIZE > len(chunk):
            chunk, chunk_start, at = memoryview(file.pread(min(CHUNK_BYTES, limit - position), position)), position, 0
        header = parse_header(chunk, at) if len(chunk) - at >= HEADER_SIZE else None
        if header is None or not is_framed(header) or header.size > limit - position:
            raise DamagedFile(file.path, position, offset, "no batch begins here")
        if at + header.size > len(chunk):
            size = min(max(CHUNK_BYTES, header.size), limit - position)
            chunk, chunk_start, at = memoryview(file.pread(size, position)), position, 0
        batch = chunk[at : at + header.size]
        if len(batch) < header.size or checksum(batch) != header.crc:
            raise DamagedFile(file.path, position, offset, "the checksum of this batch does not hold")
        yield position, header, batch
        position, offset = position + header.size, header.next_offset


def _disorder(header: BatchHeader, expected: int, end: int, gaps_allowed: bool) -> str | None:
    """Why this batch cannot come next."""
    base_offset = header.base_offset
    if header.last_offset_delta < 0 or header.next_offset > end:
        return f"its offsets {base_offset} to {header.last_offset} are not below {end}"
    if base_offset == expected or (gaps_allowed and base_offset > expected):
        return None
    return f"its offset is {base_offset} where {expected} is expected"
