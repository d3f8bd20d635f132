"""The batches of what was read of a log, by their headers alone: which offsets lie where.

Headers are read from memory only. Where the disk would have to be asked, a thread brings the bytes into memory first.
"""

from collections.abc import Sequence
from typing import NamedTuple

from engine.errors import StorageError
from engine.files.files import FileRegion
from engine.files.page_cache import read_resident
from engine.log.aborted_index import AbortedTransaction
from engine.log.types import LogRead
from engine.records.layout import HEADER_SIZE, BatchHeader, is_framed, parse_header

CHUNK_BYTES = 4096


class LogBatch(NamedTuple):
    """A whole batch within a region: its header, and where it begins in the file."""

    header: BatchHeader
    position: int

    @property
    def end_position(self) -> int:
        """Where the next one begins."""
        return self.position + self.header.size


def batches_of(read: LogRead, upto_offset: int) -> list[LogBatch] | None:
    """The whole batches that were read, up to the one that holds `upto_offset`; None if they are not in memory."""
    region = read.regions[0]
    found: list[LogBatch] = []
    position, end = region.position, region.position + region.size
    chunk, chunk_start = b"", position
    while end - position >= HEADER_SIZE:
        at = position - chunk_start
        if at + HEADER_SIZE > len(chunk):
            resident = _resident(region, position, min(CHUNK_BYTES, end - position))
            if resident is None:
                return None
            chunk, chunk_start, at = resident, position, 0
        header = parse_header(chunk, at)
        if not is_framed(header):
            raise StorageError(f"{region.file.path} is damaged at byte {position}")
        if position + header.size > end:
            break
        found.append(LogBatch(header, position))
        if header.last_offset >= upto_offset:
            break
        position += header.size
    return found


def _resident(region: FileRegion, position: int, size: int) -> bytes | None:
    descriptor = region.file.fileno()
    try:
        if descriptor is None:
            return region.file.pread(size, position)
        return read_resident(descriptor, position, size)
    except OSError as error:
        raise StorageError(f"a batch cannot be read: {error}") from error


def read_batch(region: FileRegion, batch: LogBatch) -> bytes | None:
    """A whole batch; None if it is not in memory."""
    return _resident(region, batch.position, batch.header.size)


def region_of(read: LogRead, batches: Sequence[LogBatch], first_offset: int, last_offset: int) -> LogRead:
    """What has to be sent for these offsets: whole batches."""
    wanted = [
        batch
        for batch in batches
        if batch.header.last_offset >= first_offset and batch.header.base_offset <= last_offset
    ]
    if not wanted:
        return LogRead((), 0, read.start_offset)
    start = wanted[0].position
    region = FileRegion(read.regions[0].file, start, wanted[-1].end_position - start)
    return LogRead((region,), region.size, read.start_offset)


def is_aborted(header: BatchHeader, aborted: Sequence[AbortedTransaction]) -> bool:
    """Whether the transaction that a batch belongs to was aborted."""
    if not header.is_transactional or header.is_control:
        return False
    return any(
        one.producer_id == header.producer_id and one.first_offset <= header.base_offset <= one.last_offset
        for one in aborted
    )
