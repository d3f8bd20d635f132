"""How old the records of a sealed segment are, without loading its index for good."""

from engine.files.files import read_whole
from engine.log.index import open_sealed
from engine.log.segment import Segment, walk_headers
from engine.records.layout import NO_TIMESTAMP


def largest_timestamp(segment: Segment) -> int:
    """[thread] The greatest timestamp in it; where its records have none, the time it was made or opened."""
    _know_times(segment)
    return segment.max_timestamp if segment.max_timestamp >= 0 else segment.created_ms


def first_timestamp(segment: Segment) -> int:
    """[thread] The time of its first batch, or if that has none, as above."""
    _know_times(segment)
    return segment.first_timestamp if segment.first_timestamp >= 0 else largest_timestamp(segment)


def latest_release(segment: Segment) -> int:
    """[thread] When records were last released into it. A released batch has that as its base timestamp."""
    if segment.latest_release_ms is not None:
        return segment.latest_release_ms
    file = segment.files.open(segment.path)
    try:
        latest = max((header.base_timestamp for _, header in walk_headers(file, 0, segment.size)), default=NO_TIMESTAMP)
    finally:
        file.close()
    if segment.sealed:
        segment.latest_release_ms = latest
    return latest


def _know_times(segment: Segment) -> None:
    """A segment whose index is loaded knows; another is told, from the index file or else from its headers."""
    if segment.index is not None or segment.max_timestamp != NO_TIMESTAMP or not segment.sealed:
        return
    opened = open_sealed(read_whole(segment.files, segment.index_path) or b"", segment.size)
    if opened is not None:
        segment.first_timestamp, segment.max_timestamp = opened[1].first_timestamp, opened[1].max_timestamp
        return
    file = segment.files.open(segment.path)
    try:
        times = [header.max_timestamp for _, header in walk_headers(file, 0, segment.size)]
    finally:
        file.close()
    segment.first_timestamp, segment.max_timestamp = times[0], max(times)
