"""Jobs out of a fetch's answer: the records that were acquired, and the offsets among them that have none."""

from collections.abc import Iterator, Sequence
from typing import Any

from engine.records.layout import BatchHeader, record_section, split_batches, walk_records, whole_batches_size
from tidegate.work.job import Job, Place, Settle


def jobs_in(
    records: Any, acquired: Sequence[Any], topic: str, place: Place, settle: Settle
) -> tuple[list[Job], list[int]]:
    """The jobs, in the order of their offsets, and the offsets for which there is no record (control records, those
    that were compacted)."""
    counts = {
        offset: each.delivery_count for each in acquired for offset in range(each.first_offset, each.last_offset + 1)
    }
    data = memoryview(records or b"")
    jobs = []
    for header, batch in split_batches(data[: whole_batches_size(data)]):
        if not header.is_control:
            jobs += [
                Job(topic, place[1], offset, key, value, headers, time_ms, counts.pop(offset), place, settle)
                for offset, time_ms, key, value, headers in _records(header, batch, counts)
            ]
    return jobs, sorted(counts)


def _records(header: BatchHeader, batch: memoryview, wanted: dict[int, int]) -> Iterator[tuple[Any, ...]]:
    if not any(header.base_offset <= offset <= header.last_offset for offset in wanted):
        return
    for span in walk_records(record_section(header, batch), header.record_count):
        offset = header.base_offset + span.offset_delta
        if offset in wanted:
            stamp = header.max_timestamp if header.is_log_append_time else header.base_timestamp + span.timestamp_delta
            headers = tuple((str(name, "utf-8", "replace"), _bytes(value)) for name, value in span.headers)
            yield offset, stamp, _bytes(span.key), _bytes(span.value), headers


def _bytes(view: memoryview | None) -> bytes | None:
    return None if view is None else bytes(view)
