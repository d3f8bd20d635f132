"""Finding records by their time: which segment, which batch, then the very record inside it."""

from collections.abc import Iterator, Sequence

from engine.log.segment import Segment
from engine.log.types import TimedOffset
from engine.records.layout import BatchHeader, record_section, walk_records


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
    # Mostly the greatest timestamp is visible, and the index leads to it; else every batch is looked at.
    found = _scan(segment, segment.max_timestamp, start_offset, end_offset, best)
    if found is not None and found.timestamp_ms == segment.max_timestamp:
        return found
    return _scan(segment, best.timestamp_ms + 1 if best else 0, start_offset, end_offset, best)


def _scan(
    segment: Segment, timestamp_ms: int, start_offset: int, end_offset: int, best: TimedOffset | None
) -> TimedOffset | None:
    """The first of the latest records not before `timestamp_ms`, if it is later than `best`."""
    for position, header in segment.batches_by_time(timestamp_ms):
        if header.base_offset >= end_offset:
            break
        if header.max_timestamp < timestamp_ms or header.last_offset < start_offset:
            continue
        for found in _records(segment, position, header):
            later = best is None or found.timestamp_ms > best.timestamp_ms
            if later and start_offset <= found.offset < end_offset:
                best = found
    return best


def _records(segment: Segment, position: int, header: BatchHeader) -> Iterator[TimedOffset]:
    """Offset and time of every record of a batch."""
    if header.is_log_append_time and header.record_count > header.last_offset_delta:
        for offset in range(header.base_offset, header.next_offset):
            yield TimedOffset(offset, header.max_timestamp, header.leader_epoch)
        return
    batch = memoryview(segment.file().pread(header.size, position))
    for record in walk_records(record_section(header, batch), header.record_count):
        timestamp = header.base_timestamp + record.timestamp_delta
        if header.is_log_append_time:
            timestamp = header.max_timestamp
        yield TimedOffset(header.base_offset + record.offset_delta, timestamp, header.leader_epoch)
