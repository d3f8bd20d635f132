"""Reading the batches of sealed segments from first to last, whole."""

from collections.abc import Iterator

from engine.errors import CorruptMessage
from engine.log.segment import Segment
from engine.records.layout import HEADER_SIZE, BatchHeader, checksum, is_framed, parse_header

CHUNK_BYTES = 512 * 1024


def read_batches(segment: Segment) -> Iterator[tuple[BatchHeader, bytes]]:
    """[thread] Every batch; `CorruptMessage` where they do not follow each other as they must.

    The file is opened anew: the segment's own belongs to readers on the loop.
    """
    file = segment.files.open(segment.path)
    try:
        offset, position = segment.base_offset, 0
        chunk, chunk_start = b"", 0
        while position < segment.size:
            at = position - chunk_start
            if at + HEADER_SIZE > len(chunk):
                chunk, chunk_start, at = file.pread(CHUNK_BYTES, position), position, 0
            header = parse_header(chunk, at) if len(chunk) - at >= HEADER_SIZE else None
            if header is None or not _follows(header, offset) or position + header.size > segment.size:
                raise CorruptMessage(f"{segment.path} is damaged at byte {position}")
            if at + header.size > len(chunk):
                chunk, chunk_start, at = file.pread(max(CHUNK_BYTES, header.size), position), position, 0
            batch = chunk[at : at + header.size]
            if len(batch) < header.size:
                raise CorruptMessage(f"{segment.path} ends early at byte {position}")
            yield header, batch
            offset, position = header.next_offset, position + header.size
    finally:
        file.close()


def _follows(header: BatchHeader, offset: int) -> bool:
    return is_framed(header) and header.base_offset >= offset and header.last_offset_delta >= 0


def is_intact(header: BatchHeader, batch: bytes) -> bool:
    return checksum(memoryview(batch)) == header.crc
