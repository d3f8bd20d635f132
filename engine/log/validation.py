"""What a log asks of a batch before it takes it, and what it changes in it.

Most checks look at the batch's header alone. With `message.validation=structure`, the default, all records are read
over too (engine/records/walk.py); a compacted topic wants keys, and a topic with a codec of its own has the records
compressed again. For a client's batch, whatever of this takes long was done in a thread before: its `Batch` holds the
results.
"""

from collections.abc import Sequence

from crc32c import crc32c

from engine.errors import InvalidRecord, InvalidTimestamp, OffsetOutOfRange, RecordTooLarge
from engine.files.files import Buffer
from engine.log.producer_state import BatchMark, ProducerState
from engine.log.transactions import parse_marker
from engine.log.types import LogConfig, Origin
from engine.records.batch import Batch
from engine.records.compression import ZSTD, TooLargeDecompressed
from engine.records.layout import (
    CHECKSUM_END,
    CLIENT_BITS,
    CODEC_MASK,
    CONTROL_FLAG,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME_FLAG,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    PREFIX_SIZE,
    BatchHeader,
    walk_records,
)
from engine.records.walk import first_unsound, refuse, without_key

Piece = tuple[BatchHeader, Sequence[Buffer]]
Accepted = tuple[list[Piece], BatchMark | None]

NAMED_ERRORS_MAX = 100
"""A batch may have 100,000 bad records; the answer names the first of them."""
LOOKED_AT_MAX = 2_000
"""How many records, from the first on, are searched for those whose time is out of bounds, to name them."""
LOOKED_AT_BYTES_MAX = 256 * 1024


def accept(
    batches: Sequence[Batch], config: LogConfig, producers: ProducerState, end_offset: int, now_ms: int, name: str
) -> Accepted:
    """The batches, all of one origin, as they will be stored; or none and the original, if this is an idempotent
    retry."""
    pieces: list[Piece] = []
    for batch in batches:
        header, origin = batch.header, batch.origin
        if origin is Origin.RELEASE:
            pieces.append(prepare(batch, config, now_ms))
            continue
        if origin is Origin.LETTER:
            if config.cleanup_compact:
                _check_keys(batch.section(), 0, header.record_count, name)
            original = producers.check(header, now_ms)
            if original is not None:
                return [], original
            pieces.append(prepare(batch, config, now_ms))
            continue
        if origin is Origin.REPLICA:
            # Its leader has taken it, maybe under a greater bound: only what its way has done to it is looked for.
            batch.verify()
            if header.base_offset < end_offset:
                raise OffsetOutOfRange(f"a replica appends offset {header.base_offset}, {end_offset} is next")
            end_offset = header.next_offset
            pieces.append((header, (batch.data[PREFIX_SIZE:],)))
            continue
        check_intact(batch, config)
        if origin is Origin.COORDINATOR and header.producer_id != NO_PRODUCER_ID:
            is_marker = header.attributes & CONTROL_FLAG
            marker = parse_marker(header, memoryview(batch.data)[HEADER_SIZE:]) if is_marker else None
            producers.check_coordinator(header, marker.coordinator_epoch if marker else None)
        if origin is Origin.CLIENT:
            check_client(batch, config, now_ms, name)
            if header.producer_id != NO_PRODUCER_ID:
                if len(batches) > 1:
                    raise InvalidRecord("an idempotent producer sends one batch at a time")
                original = producers.check(header, now_ms)
                if original is not None:
                    return [], original
        pieces.append(prepare(batch, config, now_ms))
    return pieces, None


def is_plain(config: LogConfig) -> bool:
    """Whether the topic stores batches as they come, without looking into them."""
    return (
        config.timestamp_type == "CreateTime" and config.compression_type == "producer" and not config.cleanup_compact
    )


def is_ordinary(batch: Batch, config: LogConfig, now_ms: int) -> bool:
    """Whether a plain topic takes the batch as it is; False if anything is unusual or wrong."""
    header, data = batch.header, batch.data
    earliest, latest = now_ms - config.timestamp_before_max_ms, now_ms + config.timestamp_after_max_ms
    if (
        header[0] == 0
        and HEADER_SIZE < len(data) <= config.max_message_bytes
        and 0 <= header[5] <= ZSTD  # a codec and no flags
        and header[6] == header[12] - 1 >= 0
        and header[12] <= config.max_message_records
        and earliest <= header[7] <= latest
        and earliest <= header[8] <= latest
        and (header[9] == NO_PRODUCER_ID or header[11] >= 0)
        and (batch.is_intact or crc32c(data[CHECKSUM_END:]) == header[4])
    ):
        batch.is_intact = True
        if not config.validates_structure:
            return True
        if not batch.is_walked:
            if not header[5]:
                # Most batches come to this: it is what `walked` does, in fewer calls.
                batch.unsound, batch.is_walked = first_unsound(data, HEADER_SIZE, header[12]), True
            elif batch.opened is not None:
                batch.walked()
        # A compressed one that nobody has opened is opened by the general path.
        return batch.is_walked and batch.unsound is None
    return False


def check_intact(batch: Batch, config: LogConfig) -> None:
    """What every batch is asked, wherever it comes from."""
    size = len(batch.data)
    if size > config.max_message_bytes and not batch.header.attributes & CONTROL_FLAG:
        raise RecordTooLarge(f"a batch of {size} bytes exceeds max.message.bytes, {config.max_message_bytes}")
    if not batch.is_intact:
        batch.verify()


def check_client(batch: Batch, config: LogConfig, now_ms: int, name: str) -> None:
    """What is asked of a client's batch in addition."""
    header = batch.header
    count = header.record_count
    if count <= 0 or header.last_offset_delta != count - 1:
        raise InvalidRecord(f"{count} records with a last offset delta of {header.last_offset_delta}")
    check_record_count(count, config)
    if header.base_offset != 0:
        raise InvalidRecord(f"a batch to append starts at offset 0, not {header.base_offset}")
    if header.attributes & CODEC_MASK > ZSTD:
        raise InvalidRecord(f"unknown compression codec {header.codec}")
    if header.attributes & CONTROL_FLAG:
        raise InvalidRecord(f"clients may not write control records, in topic partition {name}")
    if header.producer_id != NO_PRODUCER_ID and header.base_sequence < 0:
        raise InvalidRecord(f"producer {header.producer_id} sends sequence {header.base_sequence}")
    _check_time(batch, config, now_ms)
    if header.attributes & ~CLIENT_BITS:
        # Bits that mean something to the broker (a delete horizon, a batch whose headers are plain data), or will.
        raise InvalidRecord(
            f"attribute bits {header.attributes & ~CLIENT_BITS & 0xFFFF:#06x} are not for clients to set"
        )
    if config.validates_structure or config.cleanup_compact:
        _check_records(batch, config, name)


def check_record_count(count: int, config: LogConfig) -> None:
    """Refuse a batch of too many records; its header tells, so that it need not be opened."""
    if count > config.max_message_records:
        raise RecordTooLarge(f"a batch of {count} records exceeds max.message.records, {config.max_message_records}")


def _check_time(batch: Batch, config: LogConfig, now_ms: int) -> None:
    header = batch.header
    if header.attributes & LOG_APPEND_TIME_FLAG:
        raise InvalidTimestamp("only the broker may set the timestamp type to LogAppendTime")
    if config.timestamp_type != "CreateTime":
        return
    earliest, latest = now_ms - config.timestamp_before_max_ms, now_ms + config.timestamp_after_max_ms
    for timestamp in (header.base_timestamp, header.max_timestamp):
        if timestamp != NO_TIMESTAMP and not earliest <= timestamp <= latest:
            raise _out_of_bounds(batch, earliest, latest)


def _out_of_bounds(batch: Batch, earliest: int, latest: int) -> InvalidTimestamp:
    """Which records it is, as far as that is soon found; the batch is opened only to say so."""
    message = "One or more records have been rejected due to invalid timestamp"
    try:
        section = batch.section(LOOKED_AT_BYTES_MAX)
    except TooLargeDecompressed:
        return InvalidTimestamp(message)
    errors: list[tuple[int, str]] = []
    header = batch.header
    for number, record in zip(range(LOOKED_AT_MAX), walk_records(section, header.record_count), strict=False):
        timestamp = header.base_timestamp + record.timestamp_delta
        if not earliest <= timestamp <= latest:
            errors.append((number, f"timestamp {timestamp} is not within [{earliest}, {latest}]"))
            if len(errors) == NAMED_ERRORS_MAX:
                break
    return InvalidTimestamp(message, record_errors=tuple(errors))


def _check_records(batch: Batch, config: LogConfig, name: str) -> None:
    """Read over all records: they must be what the header says of them, and in a compacted topic have keys."""
    buffer, start = batch.walked()
    count = batch.header.record_count
    if batch.unsound is not None:
        refuse(buffer, batch.unsound, count)
    if config.cleanup_compact:
        _check_keys(buffer, start, count, name)


def _check_keys(buffer: Buffer, start: int, count: int, name: str) -> None:
    missing, indexes = without_key(buffer, start, count, NAMED_ERRORS_MAX)
    if missing:
        message = f"Compacted topic cannot accept message without key in topic partition {name}"
        errors = tuple((index, message) for index in indexes)
        raise InvalidRecord(f"{missing} of {count} records have no key", record_errors=errors)


def prepare(batch: Batch, config: LogConfig, now_ms: int) -> Piece:
    """The batch as this topic stores it: its header, and the bytes that follow the 16-byte prefix."""
    header, data = batch.header, batch.data
    if header.attributes & CONTROL_FLAG:
        return header, (data[PREFIX_SIZE:],)
    codec = header.attributes & CODEC_MASK
    wanted = config.codec(codec)
    append_time = config.timestamp_type == "LogAppendTime"
    if wanted == codec and not append_time:
        return header, (data[PREFIX_SIZE:],)
    section: Buffer = data[HEADER_SIZE:]
    if wanted != codec:
        section = batch.recompress(wanted, config.level(wanted))
        header = header._replace(attributes=header.attributes & ~CODEC_MASK | wanted)
    if append_time:
        header = header._replace(attributes=header.attributes | LOG_APPEND_TIME_FLAG, max_timestamp=now_ms)
    header = header._replace(length=HEADER_SIZE - LENGTH_OVERHEAD + len(section))
    header = header._replace(crc=crc32c(section, crc32c(memoryview(header.pack())[CHECKSUM_END:])))
    return header, (header.pack()[PREFIX_SIZE:], section)
