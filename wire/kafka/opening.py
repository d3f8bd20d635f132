"""Opening the batches of a Produce request: decompressing, reading over records, compressing anew.

What is soon done is done at once, on the loop: up to `AT_ONCE_BYTES` of content, whatever a batch says of itself. If
anything of a request takes longer it is handled slowly, one batch after the other: a thread opens it, within the
broker's bounds, then it is appended, then the next one. So effects keep their order, and a connection holds the content
of one batch at a time. Where records ask for something each is looked at, in slices between which others have
their turn.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from attrs import define

from coordinators.waiting import in_worker
from engine.errors import BrokerError, RecordTooLarge
from engine.files.files import Buffer
from engine.log.types import LogConfig
from engine.log.validation import check_record_count
from engine.records.batch import Batch
from engine.records.compression import GZIP, LZ4, NONE, ZSTD, TooLargeDecompressed
from engine.records.layout import ATTRIBUTES_POSITION, CODEC_MASK, HEADER_SIZE, is_framed, parse_header
from engine.records.walk import SMALLEST_RECORD_BYTES, is_compiled
from engine.stage.config import ExtensionConfig
from engine.stage.headers import open_in_slices, sniff
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


@define(eq=False)
class _Sent:
    """One batch of a request whose partition there is."""

    batch: Batch
    log: LogConfig
    extensions: ExtensionConfig
    has_stage: bool

    @property
    def codec(self) -> int:
        return self.batch.codec

    @property
    def count(self) -> int:
        return self.batch.header.record_count

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
        return len(self.batch.data) <= COMPRESSED_AT_ONCE_BYTES and (level is None or level <= QUICK_LEVELS[wanted])

    def asks(self, section: Buffer) -> bool:
        """Whether any record asks for something."""
        return self.extensions.extensions_enable and sniff(section)


@define
class Found:
    """A batch that knows what was found out about it; or why it is refused."""

    batch: Batch
    refusal: BrokerError | None = None

    def content(self) -> Batch:
        """The batch, or raise why it is refused."""
        if self.refusal is None:
            return self.batch
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
                if records[ATTRIBUTES_POSITION] & CODEC_MASK:
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
                sent = self._sent(topic_data, data)
                if sent is None:
                    continue
                if not sent.is_soon_compressed():
                    return False
                if sent.codec and sent.must_open():
                    found = self._opened_at_once(sent)
                    if found is None:
                        return False
                    self._found[id(data.records)] = found
                    if found.refusal is not None:
                        continue
                elif sent.codec:
                    continue
                section = sent.batch.section()
                count = min(sent.count, len(section) // SMALLEST_RECORD_BYTES)
                walked += count
                if walked > WALKED_AT_ONCE or (count > SLICE_RECORDS and sent.asks(section)):
                    return False
        return True

    def _opened_at_once(self, sent: _Sent) -> Found | None:
        room = min(AT_ONCE_BYTES, AT_ONCE_REQUEST_BYTES - self._spent_bytes)
        bound = sent.extensions.extensions_max_decompressed_bytes
        if room <= 0:
            return None
        try:
            check_record_count(sent.count, sent.log)
            section = sent.batch.section(min(room, bound))
        except TooLargeDecompressed as error:
            refusal = _too_large(error, "extensions.max.decompressed.bytes")
            return Found(sent.batch, refusal) if bound <= room else None
        except BrokerError as error:
            return Found(sent.batch, error.with_traceback(None))
        self._spent_bytes += len(section)
        return Found(sent.batch)

    def _sent(self, topic_data: TopicProduceData, data: PartitionProduceData) -> _Sent | None:
        directory, records = self._services.directory, data.records
        by_id = self._context.version >= FIRST_TOPIC_ID_VERSION
        topic = (
            directory.topics.by_id.get(topic_data.topic_id) if by_id else directory.topics.by_name.get(topic_data.name)
        )
        partition = None if topic is None else directory.partitions.get(topic.topic_id, data.index)
        if topic is None or partition is None or records is None or len(records) < HEADER_SIZE:
            return None
        config, has_stage = partition.log.config, partition.staged is not None
        header = parse_header(records)
        if len(records) > config.max_message_bytes or not is_framed(header) or header.size != len(records):
            return None  # it will be refused for that
        return _Sent(Batch(records, header), config, self._services.releases.config(topic), has_stage)

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
        sent = self._sent(topic_data, data)
        if sent is None or (sent.codec and not sent.must_open()):
            yield
            return
        found, room = Found(sent.batch), self._services.opening_room
        assert self._found is not None
        self._found[id(data.records)] = found
        bound, key = self._bound(sent)
        async with room.holding(bound if sent.codec else 0):
            try:
                check_record_count(sent.count, sent.log)
                await self._find_out(sent, bound, key)
            except BrokerError as error:
                found.refusal = error.with_traceback(None)
            yield
            del self._found[id(data.records)]

    def _bound(self, sent: _Sent) -> tuple[int, str]:
        """How much content the batch may have, and the key that says so."""
        limits, size = self._services.limits, len(sent.batch.data)
        bounds = {
            "extensions.max.decompressed.bytes": sent.extensions.extensions_max_decompressed_bytes,
            "decompression.max.ratio": max(RATIO_FLOOR_BYTES, limits.max_decompression_ratio * size),
            "request.max.decompressed.bytes": max(0, limits.max_request_decompressed_bytes - self._spent_bytes),
        }
        key = min(bounds, key=bounds.__getitem__)
        return bounds[key], key

    async def _find_out(self, sent: _Sent, bound: int, key: str) -> None:
        services, batch = self._services, sent.batch
        async with services.opening_room.threads:
            outcome = await in_worker(services.workers, _opened_in_thread, sent, bound)
        if isinstance(outcome, TooLargeDecompressed):
            # What was decompressed in vain was work too.
            self._spent_bytes += bound
            raise _too_large(outcome, key)
        if isinstance(outcome, BrokerError):
            raise outcome
        section = batch.section()
        self._spent_bytes += len(section) if sent.codec else 0
        if outcome and batch.unsound is None:
            check_asking(sent.count, sent.extensions)
            slices = open_in_slices(
                section, sent.count, sent.extensions.header_rules, services.clock.now_ms(), SLICE_RECORDS
            )
            while batch.asked is None:
                batch.asked = next(slices)
                await trio.lowlevel.checkpoint()


def is_plain_and_small(records: Buffer | None) -> bool:
    """Whether nothing takes long about a batch, so that there is nothing to open for it."""
    if records is None or len(records) < HEADER_SIZE:
        return True
    return len(records) <= SMALL_BYTES and not records[ATTRIBUTES_POSITION] & CODEC_MASK


def check_asking(count: int, config: ExtensionConfig) -> None:
    """Refuse a batch that has to be opened record by record and holds too many."""
    if count > config.extensions_max_records:
        raise RecordTooLarge(
            f"a batch of {count} records with tide- headers among them exceeds "
            f"extensions.max.records, {config.extensions_max_records}"
        )


def open_in_haste(batch: Batch) -> None:
    """Open a batch that nobody wanted to see when the request came, and now somebody does."""
    try:
        batch.section(AT_ONCE_BYTES)
    except TooLargeDecompressed as error:
        raise _too_large(error, "what can be opened at once") from None


def _opened_in_thread(sent: _Sent, bound: int) -> bool | BrokerError:
    """[thread] Open the records, read over them, compress them anew where the topic wants that; whether any asks for
    more."""
    batch, log = sent.batch, sent.log
    try:
        batch.verify()
        section = batch.section(bound)
        if log.validates_structure or log.cleanup_compact:
            batch.walked()
        wanted = log.codec(batch.codec)
        if wanted not in (batch.codec, NONE) and batch.unsound is None:
            batch.recompress(wanted, log.level(wanted))
    except BrokerError as error:
        # Its traceback, and that of what led to it, would hold what was decompressed in vain until a collection.
        error.__context__ = None
        return error.with_traceback(None)
    return sent.asks(section)


def _too_large(error: BrokerError, key: str) -> RecordTooLarge:
    # Not as damaged, which clients send again and again; a batch too large they split, if they can.
    return RecordTooLarge(f"{error}, by {key}")
