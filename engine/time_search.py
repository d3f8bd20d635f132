"""Finding records by their time: which segment, which batch, then the very record inside it."""

from collections.abc import Iterator, Sequence

from engine.log_types import TimedOffset
from engine.records import BatchHeader, record_section, walk_records
from engine.segment import Segment


def find_by_time(
    segments: Sequence[Segment], timestamp_ms: int, start_offset: int, end_offset: int
) -> TimedOffset | None:
    """The first record in [start_offset, end_offset) that is as late as `timestamp_ms`."""
    for segment in segments:
        if segment.base_offset >= end_offset:
            break
        segment.loaded_index()
        if segment.max_timestamp < timestamp_ms:
            continue
        for position, header in segment.batches_by_time(timestamp_ms):
            if header.base_offset >= end_offset:
                return None
            if header.max_timestamp < timestamp_ms or header.last_offset < start_offset:
                continue
            for found in _records(segment, position, header):
                if start_offset <= found.offset < end_offset and found.timestamp_ms >= timestamp_ms:
                    return found
    return None


def find_max_timestamp(segments: Sequence[Segment], start_offset: int, end_offset: int) -> TimedOffset | None:
    """The first of the latest records in [start_offset, end_offset)."""
    best: TimedOffset | None = None
    for segment in segments:
        if segment.base_offset >= end_offset:
            break
        segment.loaded_index()
        if best is not None and segment.max_timestamp <= best.timestamp_ms:
            continue
        best = _segment_max(segment, start_offset, end_offset, best)
    return best


def _segment_max(segment: Segment, start_offset: int, end_offset: int, best: TimedOffset | None) -> TimedOffset | None:
    floor = best.timestamp_ms if best else -1
    whole = start_offset <= segment.base_offset
    # Where nothing of the segment is hidden, its greatest timestamp stands just where the index says.
    search = segment.batches_by_time(segment.max_timestamp if whole else floor + 1)
    for position, header in search:
        if header.base_offset >= end_offset:
            if whole and (best is None or best.timestamp_ms == floor):
                return _segment_scan(segment, start_offset, end_offset, best)
            break
        if header.max_timestamp <= floor or header.last_offset < start_offset:
            continue
        for found in _records(segment, position, header):
            if start_offset <= found.offset < end_offset and found.timestamp_ms > floor:
                best, floor = found, found.timestamp_ms
        if best is not None and floor >= segment.max_timestamp:
            break
    return best


def _segment_scan(segment: Segment, start_offset: int, end_offset: int, best: TimedOffset | None) -> TimedOffset | None:
    """The greatest timestamp lies beyond the end that the reader may see: look at every batch before it."""
    floor = best.timestamp_ms if best else -1
    for position, header in segment.batches_by_time(floor + 1):
        if header.base_offset >= end_offset:
            break
        if header.max_timestamp <= floor or header.last_offset < start_offset:
            continue
        for found in _records(segment, position, header):
            if start_offset <= found.offset < end_offset and found.timestamp_ms > floor:
                best, floor = found, found.timestamp_ms
    return best


def _records(segment: Segment, position: int, header: BatchHeader) -> Iterator[TimedOffset]:
    """Offset and time of every record of a batch."""
    if header.is_log_append_time:
        for offset in range(header.base_offset, header.next_offset):
            yield TimedOffset(offset, header.max_timestamp, header.leader_epoch)
        return
    batch = memoryview(segment.file().pread(header.size, position))
    for record in walk_records(record_section(header, batch), header.record_count):
        timestamp = header.base_timestamp + record.timestamp_delta
        yield TimedOffset(header.base_offset + record.offset_delta, timestamp, header.leader_epoch)
