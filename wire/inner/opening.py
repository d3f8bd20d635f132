"""Records out of the bytes of a fetch: batches opened within bounds, aborted ones and markers left out.

The bytes are a log's own, but what is inside compressed batches is its producers': whatever it says, no more than a
bound is made of it.
"""

from collections.abc import Iterator, Sequence

import msgspec

from engine.errors import BrokerError, CorruptMessage, kept
from engine.records.compression import decompress
from engine.records.layout import CODEC_MASK, HEADER, HEADER_SIZE, LENGTH_OVERHEAD, BatchHeader, parse_header
from wire.inner.records import ReadRecord
from wire.kafka.messages.fetch import AbortedTransaction

_LEAST_BYTES = HEADER_SIZE
_ABORT = b"\x00\x00"
_KIND = slice(2, 4)


class WantedRecords(msgspec.Struct, frozen=True):
    """What is wanted of the bytes."""

    offset: int
    """The first."""
    max_records: int
    max_bytes: int
    """Of keys, values and headers; one record is given whatever its size."""
    bound: int
    """The most that a compressed batch may hold."""


class Opened(msgspec.Struct):
    """What was found: records, and where the next read goes on."""

    records: list[ReadRecord]
    next_offset: int
    size: int = 0

    def is_full(self, wanted: WantedRecords) -> bool:
        """Whether no further record is wanted."""
        return len(self.records) >= wanted.max_records or self.size >= wanted.max_bytes


def is_soon_opened(data: bytes, at_once_bytes: int) -> bool:
    """Whether it takes no longer than a moment."""
    if len(data) > at_once_bytes:
        return False
    return not any(header.attributes & CODEC_MASK for header, _ in batches(data))


def batches(data: bytes) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The whole batches; an answer may end inside one."""
    view, position = memoryview(data), 0
    while len(view) - position >= _LEAST_BYTES:
        header = parse_header(view[position : position + HEADER_SIZE])
        end = position + header.size
        if header.size < HEADER_SIZE or end > len(view):
            return
        yield header, view[position:end]
        position = end


def opened(data: bytes, wanted: WantedRecords, aborted: Sequence[AbortedTransaction] | None) -> Opened:
    """[thread] The records from the wanted offset on; those of aborted transactions are not among them."""
    found = Opened([], wanted.offset)
    hidden = _Hidden(aborted or ())
    for header, batch in batches(data):
        if header.last_offset < wanted.offset:
            hidden.pass_by(header, batch)
            continue
        if header.is_control or hidden.hides(header):
            hidden.pass_by(header, batch)
            found.next_offset = header.next_offset
            continue
        if not _take(found, header, batch, wanted):
            break
    return found


def opened_or_why_not(
    data: bytes, wanted: WantedRecords, aborted: Sequence[AbortedTransaction] | None
) -> Opened | BrokerError:
    """[thread] The same; a refusal is handed over without what it would hold in memory."""
    try:
        return opened(data, wanted, aborted)
    except BrokerError as error:
        return kept(error)


def _take(found: Opened, header: BatchHeader, batch: memoryview, wanted: WantedRecords) -> bool:
    """Take the batch's records; whether all of them were wanted."""
    # Imported late: the package brings a whole client along.
    from aiokafka.record.default_records import DefaultRecordBatch

    try:
        for record in DefaultRecordBatch(_plain(header, batch, wanted.bound)):
            if record.offset < wanted.offset:
                continue
            if found.is_full(wanted):
                return False
            headers = tuple((name, value) for name, value in record.headers)
            found.records.append(ReadRecord(record.offset, record.timestamp, record.key, record.value, headers))
            found.size += len(record.key or b"") + len(record.value or b"")
            found.size += sum(len(name) + len(value or b"") for name, value in headers)
            found.next_offset = record.offset + 1
    except BrokerError:
        raise
    except Exception as error:
        raise CorruptMessage(f"the batch at offset {header.base_offset} cannot be opened: {error}") from error
    found.next_offset = header.next_offset
    return True


def _plain(header: BatchHeader, batch: memoryview, bound: int) -> bytes | memoryview:
    """The batch, uncompressed."""
    codec = header.attributes & CODEC_MASK
    if not codec:
        return batch
    section = decompress(codec, batch[HEADER_SIZE:], bound)
    length = HEADER_SIZE - LENGTH_OVERHEAD + len(section)
    plain = header._replace(attributes=header.attributes & ~CODEC_MASK, length=length)
    return HEADER.pack(*plain) + section


class _Hidden:
    """Which batches belong to aborted transactions (KIP-98)."""

    def __init__(self, aborted: Sequence[AbortedTransaction]) -> None:
        self._coming = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
        self._producers: set[int] = set()

    def hides(self, header: BatchHeader) -> bool:
        """Whether nobody who reads committed records may see it."""
        while self._coming and self._coming[-1].first_offset <= header.last_offset:
            self._producers.add(self._coming.pop().producer_id)
        return header.is_transactional and header.producer_id in self._producers

    def pass_by(self, header: BatchHeader, batch: memoryview) -> None:
        """A batch that gives no record: if it ends an aborted transaction, what its producer writes next counts."""
        self.hides(header)
        if header.is_control and header.producer_id in self._producers and _is_abort(batch):
            self._producers.discard(header.producer_id)


def _is_abort(batch: memoryview) -> bool:
    from aiokafka.record.default_records import DefaultRecordBatch

    try:
        key = next(iter(DefaultRecordBatch(bytes(batch)))).key
    except Exception:
        return False
    return key is not None and key[_KIND] == _ABORT
