"""What compaction leaves of one batch.

Offsets never change: a batch keeps its first and last offset, its producer's fields and its codec, and loses
records. Records that stay are copied byte for byte, unless the batch gets a delete horizon.

Tombstones (KIP-534): the first pass that sees one in a batch sets the time from which it may go, the delete
horizon. It stands in the field of the base timestamp, marked by an attribute; the records' timestamp deltas
count from there, so readers see the times that they always saw. A later pass, past the horizon, drops it.

Left as they are: batches that are damaged or cannot be opened, because a new checksum would hide that they
are. How transactions are cleaned stands in `engine.cleaner.transaction_cleaning`.
"""

from collections.abc import Iterator

from attrs import frozen

from engine.cleaner.keyed_records import KeyedRecord, keyed_records, timestamp_delta, with_timestamp_delta
from engine.cleaner.offset_map import OffsetMap
from engine.errors import BrokerError, CorruptMessage
from engine.log.producer_state import NO_SEQUENCE, ProducerInfo
from engine.log.segment import Segment
from engine.records.compression import NONE, compress, decompress
from engine.records.layout import (
    CODEC_MASK,
    DELETE_HORIZON_FLAG,
    HEADER_SIZE,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
    checksum,
    is_framed,
    parse_header,
    seal_batch,
)

CHUNK_BYTES = 512 * 1024
_NO_EPOCH = -1


@frozen
class CleaningRules:
    """What a pass goes by."""

    offsets: OffsetMap
    now_ms: int
    delete_retention_ms: int
    producers: dict[int, ProducerInfo]
    """Those that are remembered: the last batch of each is kept even when empty, for its sequence numbers."""

    @property
    def horizon_ms(self) -> int:
        """From when on what this pass gives a delete horizon may go."""
        return self.now_ms + self.delete_retention_ms


def open_keyed(header: BatchHeader, batch: bytes) -> tuple[bytes, list[KeyedRecord]] | None:
    """The uncompressed records of a batch that compaction may touch; None for the others."""
    if not is_intact(header, batch):
        return None
    try:
        section = batch[HEADER_SIZE:]
        if header.codec != NONE:
            section = bytes(decompress(header.codec, section)) if header.record_count else b""
        return section, keyed_records(section, header.record_count, header.last_offset_delta)
    except BrokerError:
        return None


def note_keys(header: BatchHeader, batch: bytes, offsets: OffsetMap) -> None:
    """Takes a batch's keys into the map."""
    opened = open_keyed(header, batch)
    if opened is not None:
        offsets.note(header.base_offset, opened[1])
    offsets.end = header.next_offset


def clean_batch(header: BatchHeader, batch: bytes, cleaning: CleaningRules) -> bytes | None:
    """What remains of a batch; the very same bytes if nothing changes, None if nothing remains."""
    if header.base_offset >= cleaning.offsets.end:
        return batch
    opened = open_keyed(header, batch)
    if opened is None:
        return batch
    section, records = opened
    kept = _retained(header, records, cleaning)
    if not kept:
        return what_is_left(header, batch, cleaning)
    horizon_due = not header.attributes & DELETE_HORIZON_FLAG and not all(record[4] for record in kept)
    if len(kept) == len(records) and not horizon_due:
        return batch
    return _rebuilt(header, section, kept, cleaning.horizon_ms if horizon_due else None)


def what_is_left(header: BatchHeader, batch: bytes, cleaning: CleaningRules) -> bytes | None:
    """What remains of a batch that loses all its records."""
    producer = cleaning.producers.get(header.producer_id)
    is_last = producer is not None and producer.last_offset == header.last_offset
    return emptied(header, batch) if is_last else None


def with_delete_horizon(header: BatchHeader, batch: bytes, cleaning: CleaningRules) -> bytes:
    """The batch with all its records, which may go from the horizon on."""
    opened = open_keyed(header, batch)
    return batch if opened is None else _rebuilt(header, *opened, cleaning.horizon_ms)


def is_past_horizon(header: BatchHeader, cleaning: CleaningRules) -> bool:
    return bool(header.attributes & DELETE_HORIZON_FLAG) and header.base_timestamp <= cleaning.now_ms


def emptied(header: BatchHeader, batch: bytes) -> bytes:
    """The batch without its records: it holds its place, and its producer's sequence numbers."""
    if header.record_count == 0:
        return batch
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON_FLAG)
    # No record, no time: a search by time must not end here.
    empty = header._replace(
        attributes=attributes, record_count=0, base_timestamp=NO_TIMESTAMP, max_timestamp=NO_TIMESTAMP
    )
    return seal_batch(empty, b"")


def place_holder(header: BatchHeader) -> bytes:
    """An empty batch in the place of one that went: nobody's, so that it keeps no marker from going."""
    nobodys = header._replace(
        attributes=0, producer_id=NO_PRODUCER_ID, producer_epoch=_NO_EPOCH, base_sequence=NO_SEQUENCE,
        record_count=0, base_timestamp=NO_TIMESTAMP, max_timestamp=NO_TIMESTAMP,
    )  # fmt: skip
    return seal_batch(nobodys, b"")


def _retained(header: BatchHeader, records: list[KeyedRecord], cleaning: CleaningRules) -> list[KeyedRecord]:
    kept = cleaning.offsets.latest(header.base_offset, records)
    if is_past_horizon(header, cleaning):
        return [record for record in kept if record[4]]
    return kept


def _rebuilt(header: BatchHeader, section: bytes, kept: list[KeyedRecord], horizon_ms: int | None) -> bytes:
    if not header.is_log_append_time:
        latest = max(timestamp_delta(section, record[0]) for record in kept)
        header = header._replace(max_timestamp=header.base_timestamp + latest)
    if horizon_ms is None:
        content = b"".join([section[record[0] : record[1]] for record in kept])
    else:
        shift_ms = header.base_timestamp - horizon_ms
        content = b"".join([with_timestamp_delta(section, record[0], record[1], shift_ms) for record in kept])
        header = header._replace(base_timestamp=horizon_ms, attributes=header.attributes | DELETE_HORIZON_FLAG)
    return seal_batch(header._replace(record_count=len(kept)), compress(header.codec, content))


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
