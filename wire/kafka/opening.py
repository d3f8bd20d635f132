"""Opening the batches of a Produce request: decompressing, reading over records, compressing anew.

What is soon done is done at once, on the loop: up to `AT_ONCE_BYTES` of content, whatever a batch says of itself. If
anything of a request takes longer it is handled slowly, one batch after the other: a thread opens it, within the
broker's bounds, then it is appended, then the next one. So effects keep their order, and a connection holds the content
of one batch at a time. Where records ask for something each is looked at, in slices between which others have
their turn.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import trio
from attrs import define

from coordinators.waiting import in_worker
from engine.errors import BrokerError, CorruptMessage, RecordTooLarge
from engine.files.files import Buffer
from engine.log.types import LogConfig
from engine.log.validation import check_record_count
from engine.records.compression import GZIP, LZ4, NONE, ZSTD, TooLargeDecompressed, decompress
from engine.records.layout import CODEC_MASK, HEADER_SIZE, checksum, parse_header
from engine.records.opened import OpenedRecords
from engine.records.walk import SMALLEST_RECORD_BYTES, is_compiled
from engine.stage.config import ExtensionConfig
from engine.stage.headers import OpenedRecord, open_in_slices, sniff
from wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from wire.kafka.record_services import ProduceServices
from wire.kafka.request import Context

KIBIBYTE, MEBIBYTE = 2**10, 2**20
PLAIN_BYTES = 64 * KIBIBYTE
"""A request of fewer bytes, none of them compressed, is not looked at more closely."""
SMALL_BYTES = 20 * KIBIBYTE
AT_ONCE_BYTES = 256 * KIBIBYTE
AT_ONCE_REQUEST_BYTES = MEBIBYTE
WALKED_AT_ONCE = 300_000 if is_compiled else 3_000
"""Records; some five milliseconds."""
SLICE_RECORDS = 500
COMPRESSED_AT_ONCE_BYTES = 16 * KIBIBYTE
QUICK_LEVELS = {GZIP: 6, LZ4: 9, ZSTD: 9}
RATIO_FLOOR_BYTES = 8 * MEBIBYTE
"""From so much content on it is asked how much it expanded."""

FEW_PARTITIONS = 200
FIRST_TOPIC_ID_VERSION = 13
_ATTRIBUTES_POSITION = 22
Asked = Sequence[OpenedRecord]


@define(eq=False)
class _Batch:
    """One batch of a request whose partition there is."""

    records: Buffer
    log: LogConfig
    extensions: ExtensionConfig
    has_stage: bool

    @property
    def codec(self) -> int:
        return self.records[_ATTRIBUTES_POSITION] & CODEC_MASK

    @property
    def content(self) -> memoryview:
        return memoryview(self.records)[HEADER_SIZE:]

    @property
    def count(self) -> int:
        return parse_header(self.records).record_count

    def must_open(self) -> bool:
        """Whether anybody wants to see the records of a compressed batch."""
        log = self.log
        checked = log.validates_structure or log.cleanup_compact or self.extensions.extensions_enable
        return checked or self.has_stage or log.codec(self.codec) != self.codec

    def is_soon_compressed(self) -> bool:
        """Whether the batch is stored as it came, or in another codec that is quick with it."""
        wanted, log = self.log.codec(self.codec), self.log
        if wanted in (self.codec, NONE):
            return True
        level = log.level(wanted)
        return len(self.records) <= COMPRESSED_AT_ONCE_BYTES and (level is None or level <= QUICK_LEVELS[wanted])

    def asks(self, section: Buffer) -> bool:
        """Whether any record asks for something."""
        return self.extensions.extensions_enable and sniff(section)


@define
class Found:
    """What was found out about a batch: its records, what they ask for if that is known already, or why it is
    refused."""

    opened: OpenedRecords | None = None
    asked: Asked | None = None
    refusal: BrokerError | None = None

    def content(self) -> OpenedRecords | None:
        """The records, or raise why the batch is refused."""
        if self.refusal is None:
            return self.opened
        refusal, self.refusal = self.refusal, None
        try:
            raise refusal
        finally:
            # An error that a frame of its own traceback holds would live until a collection.
            del refusal


def needs_a_look(request: ProduceRequest) -> bool:
    """Whether the request is not one of the many that are small and plain."""
    size = count = 0
    for topic_data in request.topic_data:
        for data in topic_data.partition_data:
            records = data.records
            count += 1
            if records is not None and (length := len(records)) >= HEADER_SIZE:
                size += length
                if records[_ATTRIBUTES_POSITION] & CODEC_MASK:
                    return True
    return size > PLAIN_BYTES or count > FEW_PARTITIONS


class Opening:
    """The batches of one request that has any which are long or compressed."""

    __slots__ = ("_context", "_found", "_services", "_spent_bytes")

    def __init__(self, context: Context, services: ProduceServices) -> None:
        self._context = context
        self._services = services
        self._found: dict[int, Found] | None = None
        """By the identity of a batch's bytes."""
        self._spent_bytes = 0

    def found(self, records: Buffer) -> Found | None:
        """What is known of a batch of the request; None if nothing had to be found out."""
        return None if self._found is None else self._found.get(id(records))

    # -- at once

    def is_done_at_once(self, request: ProduceRequest) -> bool:
        """Open what has to be opened; False if that takes too long for the loop."""
        self._found = {}
        walked = 0
        for topic_data in request.topic_data:
            for data in topic_data.partition_data:
                batch = self._batch(topic_data, data)
                if batch is None:
                    continue
                if not batch.is_soon_compressed():
                    return False
                section: Buffer = batch.content
                if batch.codec and batch.must_open():
                    found = self._opened_at_once(batch)
                    if found is None:
                        return False
                    self._found[id(data.records)] = found
                    if found.opened is None:
                        continue
                    section = found.opened.section
                elif batch.codec:
                    continue
                count = min(batch.count, len(section) // SMALLEST_RECORD_BYTES)
                walked += count
                if walked > WALKED_AT_ONCE or (count > SLICE_RECORDS and batch.asks(section)):
                    return False
        return True

    def _opened_at_once(self, batch: _Batch) -> Found | None:
        room = min(AT_ONCE_BYTES, AT_ONCE_REQUEST_BYTES - self._spent_bytes)
        bound = batch.extensions.extensions_max_decompressed_bytes
        if room <= 0:
            return None
        try:
            check_record_count(batch.count, batch.log)
            section = decompress(batch.codec, batch.content, min(room, bound))
        except TooLargeDecompressed as error:
            return Found(refusal=_too_large(error, "extensions.max.decompressed.bytes")) if bound <= room else None
        except BrokerError as error:
            return Found(refusal=error.with_traceback(None))
        self._spent_bytes += len(section)
        return Found(OpenedRecords(section))

    def _batch(self, topic_data: TopicProduceData, data: PartitionProduceData) -> _Batch | None:
        directory, records = self._services.directory, data.records
        by_id = self._context.version >= FIRST_TOPIC_ID_VERSION
        topic = (
            directory.topics.by_id.get(topic_data.topic_id) if by_id else directory.topics.by_name.get(topic_data.name)
        )
        partition = None if topic is None else directory.partitions.get(topic.topic_id, data.index)
        if topic is None or partition is None or records is None or len(records) < HEADER_SIZE:
            return None
        config, has_stage = partition.log.config, partition.staged is not None
        if len(records) > config.max_message_bytes:
            return None  # it will be refused for that
        return _Batch(records, config, self._services.releases.config(topic), has_stage)

    # -- slowly

    def begin_slowly(self, request: ProduceRequest) -> None:
        """Take the request's batches out of the buffer that all connections share: another one fills it while this
        one waits."""
        self._found, self._spent_bytes = {}, 0
        for topic_data in request.topic_data:
            for data in topic_data.partition_data:
                data.records = None if data.records is None else bytes(data.records)

    @asynccontextmanager
    async def opened_slowly(self, topic_data: TopicProduceData, data: PartitionProduceData) -> AsyncIterator[None]:
        """Open one batch; what was found out is known, and room is held for it, as long as the context lasts."""
        batch = self._batch(topic_data, data)
        if batch is None or (batch.codec and not batch.must_open()):
            yield
            return
        found, room = Found(), self._services.opening_room
        assert self._found is not None
        self._found[id(data.records)] = found
        bound, key = self._bound(batch)
        async with room.holding(bound if batch.codec else 0):
            try:
                check_record_count(batch.count, batch.log)
                await self._find_out(batch, found, bound, key)
            except BrokerError as error:
                found.refusal = error.with_traceback(None)
            yield
            del self._found[id(data.records)]

    def _bound(self, batch: _Batch) -> tuple[int, str]:
        """How much content the batch may have, and the key that says so."""
        limits, size = self._services.limits, len(batch.records)
        bounds = {
            "extensions.max.decompressed.bytes": batch.extensions.extensions_max_decompressed_bytes,
            "decompression.max.ratio": max(RATIO_FLOOR_BYTES, limits.max_decompression_ratio * size),
            "request.max.decompressed.bytes": max(0, limits.max_request_decompressed_bytes - self._spent_bytes),
        }
        key = min(bounds, key=bounds.__getitem__)
        return bounds[key], key

    async def _find_out(self, batch: _Batch, found: Found, bound: int, key: str) -> None:
        services = self._services
        async with services.opening_room.threads:
            outcome = await in_worker(services.workers, _opened_in_thread, batch, bound)
        if isinstance(outcome, TooLargeDecompressed):
            # What was decompressed in vain was work too.
            self._spent_bytes += bound
            raise _too_large(outcome, key)
        if isinstance(outcome, BrokerError):
            raise outcome
        opened, asks = outcome
        self._spent_bytes += len(opened.section) if batch.codec else 0
        found.opened = opened
        if asks and opened.unsound is None:
            check_asking(batch.count, batch.extensions)
            slices = open_in_slices(
                opened.section, batch.count, batch.extensions.header_rules, services.clock.now_ms(), SLICE_RECORDS
            )
            while found.asked is None:
                found.asked = next(slices)
                await trio.lowlevel.checkpoint()


def is_plain_and_small(records: Buffer | None) -> bool:
    """Whether nothing takes long about a batch, so that there is nothing to open for it."""
    if records is None or len(records) < HEADER_SIZE:
        return True
    return len(records) <= SMALL_BYTES and not records[_ATTRIBUTES_POSITION] & CODEC_MASK


def check_asking(count: int, config: ExtensionConfig) -> None:
    """Refuse a batch that has to be opened record by record and holds too many."""
    if count > config.extensions_max_records:
        raise RecordTooLarge(
            f"a batch of {count} records with tide- headers among them exceeds "
            f"extensions.max.records, {config.extensions_max_records}"
        )


def opened_in_haste(codec: int, records: Buffer) -> OpenedRecords:
    """The records of a batch that nobody wanted to see when the request came, and now somebody does."""
    try:
        return OpenedRecords(decompress(codec, memoryview(records)[HEADER_SIZE:], AT_ONCE_BYTES))
    except TooLargeDecompressed as error:
        raise _too_large(error, "what can be opened at once") from None


def _opened_in_thread(batch: _Batch, bound: int) -> tuple[OpenedRecords, bool] | BrokerError:
    """[thread] The records, read over and compressed anew where the topic wants that; and whether any asks for more."""
    header = parse_header(batch.records)
    if checksum(memoryview(batch.records)) != header.crc:
        return CorruptMessage(f"the batch's checksum is not {header.crc:#010x}")
    codec, log = batch.codec, batch.log
    try:
        section = decompress(codec, batch.content, bound) if codec else batch.content
        opened = OpenedRecords(section)
        if log.validates_structure or log.cleanup_compact:
            opened.walk(header.record_count)
        wanted = log.codec(codec)
        if wanted not in (codec, NONE) and opened.unsound is None:
            opened.recompress(wanted, log)
    except BrokerError as error:
        # Its traceback, and that of what led to it, would hold what was decompressed in vain until a collection.
        error.__context__ = None
        return error.with_traceback(None)
    return opened, batch.asks(section)


def _too_large(error: BrokerError, key: str) -> RecordTooLarge:
    # Not as damaged, which clients send again and again; a batch too large they split, if they can.
    return RecordTooLarge(f"{error}, by {key}")
