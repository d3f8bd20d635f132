"""Record batches made by hand and looked at field by field."""

import struct
import time
from collections.abc import Iterator, Sequence

from attrs import frozen
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

CODEC_NUMBERS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
CODEC_NAMES = {number: name for name, number in CODEC_NUMBERS.items()}
HEADER_SIZE = 61


@frozen
class Batch:
    """A batch as it came from the broker."""

    base_offset: int
    last_offset: int
    codec: str
    log_append_time: bool
    max_timestamp_ms: int
    leader_epoch: int
    producer_id: int
    base_sequence: int
    values: tuple[bytes | None, ...]
    timestamps_ms: tuple[int, ...]
    offsets: tuple[int, ...]
    is_control: bool
    size: int


def build(
    values: Sequence[bytes | None],
    *,
    codec: str = "none",
    key: bytes | None = b"k",
    timestamps_ms: Sequence[int] | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
) -> bytes:
    """One batch of the given values."""
    producer = (transactional, producer_id, producer_epoch, sequence)
    builder = DefaultRecordBatchBuilder(2, CODEC_NUMBERS[codec], *producer, 1 << 30)
    now = int(time.time() * 1000)
    for index, value in enumerate(values):
        stamp = now if timestamps_ms is None else timestamps_ms[index]
        builder.append(index, stamp, key, value, [])
    return bytes(builder.build())


def parse(data: bytes) -> list[Batch]:
    """The whole batches in a Fetch answer; what is cut off at its end is left out, as clients do."""
    return [_batch(piece) for piece in split(data)]


def split(data: bytes) -> Iterator[bytes]:
    while len(data) >= 12:
        size = 12 + struct.unpack_from(">i", data, 8)[0]
        if len(data) < size:
            return
        yield data[:size]
        data = data[size:]


def _batch(piece: bytes) -> Batch:
    batch = DefaultRecordBatch(piece)
    assert batch.validate_crc()
    records = list(batch)
    return Batch(
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        codec=CODEC_NAMES[batch.compression_type],
        log_append_time=batch.timestamp_type == 1,
        max_timestamp_ms=batch.max_timestamp,
        leader_epoch=batch.leader_epoch,
        producer_id=batch.producer_id,
        base_sequence=batch.base_sequence,
        values=tuple(record.value for record in records),
        timestamps_ms=tuple(record.timestamp for record in records),
        offsets=tuple(record.offset for record in records),
        is_control=batch.is_control_batch,
        size=len(piece),
    )
