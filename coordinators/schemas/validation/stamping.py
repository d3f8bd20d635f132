"""Records that named no schema get a header with the id of the one that they were held against.

The batch is made anew: as many records in the same order, of the same producer, with the same sequence and times, in
the codec that it came in. So idempotent producers and transactions notice nothing.
"""

from collections.abc import Iterator

from coordinators.schemas.validation.spans import headers_of, record_spans
from engine.records.batch import Batch
from engine.records.compression import compress
from engine.records.layout import HEADER_SIZE, parse_header, seal_batch
from engine.stage.numbers import varint

HEADER = b"schema-id"


def stamped(batch: Batch, section: bytes, schema_id: int, level: int | None) -> Batch:
    """[thread] The batch of these records, uncompressed and sound, with the id in every record that has a value."""
    value = str(schema_id).encode()
    records = b"".join(_stamped_records(section, batch.header.record_count, value))
    data = memoryview(seal_batch(batch.header, compress(batch.codec, records, level)))
    opened = records if batch.codec else None
    return Batch(data, parse_header(data[:HEADER_SIZE]), batch.origin, batch.publisher, opened=opened, is_intact=True)


def _stamped_records(section: bytes, count: int, value: bytes) -> Iterator[bytes]:
    header = varint(len(HEADER)) + HEADER + varint(len(value)) + value
    for span in record_spans(section, count):
        if span.value_end < 0:
            yield section[span.start : span.end]
            continue
        headers = list(headers_of(section, span))
        if (HEADER, value) in headers:
            yield section[span.start : span.end]
            continue
        after_count = span.headers_start + len(varint(len(headers)))
        body = (
            section[span.body_start : span.headers_start]
            + varint(len(headers) + 1)
            + section[after_count : span.end]
            + header
        )
        yield varint(len(body)) + body
