"""Opening what publishers send: decompressing, reading over records, reading what they ask for, compressing anew.

What is soon done is done at once, on the loop: up to `AT_ONCE_BYTES` of content, whatever a batch says of itself. If
anything that was sent together takes longer it is handled slowly, one batch after the other: a thread opens it, within
the broker's bounds, then it is appended, then the next one. So effects keep their order, and a connection holds the
content of one batch at a time. Where records ask for something each is looked at, in slices between which others have
their turn.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import trio
from attrs import define

from coordinators.records.opening_room import OpeningRoom
from coordinators.records.publication import Publication
from coordinators.release.releases import Releases
from coordinators.schemas.validation.validation import SchemaValidation
from coordinators.waiting import in_worker
from engine.clock import Clock
from engine.errors import BrokerError, RecordTooLarge, kept
from engine.log.types import LogConfig, Origin
from engine.log.validation import check_record_count
from engine.records.batch import Batch
from engine.records.compression import GZIP, LZ4, NONE, ZSTD, TooLargeDecompressed
from engine.records.walk import SMALLEST_RECORD_BYTES, is_compiled
from engine.stage.config import ExtensionConfig
from engine.stage.headers import open_in_slices, open_records, sniff
from engine.workers import Workers

KIBIBYTE, MEBIBYTE = 2**10, 2**20
PLAIN_BYTES = 64 * KIBIBYTE
"""What is sent together in fewer bytes, none of them compressed, is not looked at more closely."""
FEW_PARTITIONS = 200
SMALL_BYTES = 20 * KIBIBYTE
AT_ONCE_BYTES = 256 * KIBIBYTE
AT_ONCE_TOGETHER_BYTES = MEBIBYTE
WALKED_AT_ONCE = 300_000 if is_compiled else 3_000
"""Records; some five milliseconds."""
SLICE_RECORDS = 500
COMPRESSED_AT_ONCE_BYTES = 16 * KIBIBYTE
QUICK_LEVELS = {GZIP: 6, LZ4: 9, ZSTD: 9}
RATIO_FLOOR_BYTES = 8 * MEBIBYTE
"""From so much content on it is asked how much it expanded."""


def is_plain_and_small(batch: Batch) -> bool:
    """Whether nothing takes long about a batch, so that there is nothing to open for it."""
    return len(batch.data) <= SMALL_BYTES and not batch.codec


class Opener:
    """What all openings share: the room, the threads, the bounds."""

    def __init__(
        self,
        releases: Releases,
        room: OpeningRoom,
        workers: Workers,
        clock: Clock,
        max_ratio: int = 1_000,
        max_together_bytes: int = 256 * MEBIBYTE,
    ) -> None:
        self.releases = releases
        self.room = room
        self.workers = workers
        self.clock = clock
        self.max_ratio = max_ratio
        self.max_together_bytes = max_together_bytes
        self.validation: SchemaValidation | None = None


@define(eq=False)
class Sent:
    """A batch that can be opened, and what its topic has to say about that."""

    batch: Batch
    log: LogConfig
    extensions: ExtensionConfig
    has_stage: bool
    is_judged: bool = False
    """Whether its records are held against schemas."""

    @property
    def codec(self) -> int:
        """In which it was sent."""
        return self.batch.codec

    @property
    def count(self) -> int:
        """How many records it says to hold."""
        return self.batch.header.record_count

    def must_open(self) -> bool:
        """Whether anybody wants to see the records of a compressed batch."""
        log = self.log
        checked = log.validates_structure or log.cleanup_compact or self.extensions.extensions_enable
        return checked or self.has_stage or self.is_judged or log.codec(self.codec) != self.codec

    def is_soon_compressed(self) -> bool:
        """Whether the batch is stored as it came, or in another codec that is quick with it."""
        wanted, log = self.log.codec(self.codec), self.log
        if wanted in (self.codec, NONE):
            return True
        level = log.level(wanted)
        return len(self.batch.data) <= COMPRESSED_AT_ONCE_BYTES and (level is None or level <= QUICK_LEVELS[wanted])

    def asks(self) -> bool:
        """Whether any record, uncompressed by now, asks for something."""
        batch = self.batch
        return batch.origin is Origin.CLIENT and self.extensions.extensions_enable and sniff(batch.section())


class Opening:
    """What is opened of batches that were sent together."""

    __slots__ = ("_opener", "_spent_bytes")

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._spent_bytes = 0

    def _sent(self, publication: Publication) -> Sent | None:
        """None for what will be refused for its size."""
        partition, batch = publication.partition, publication.batch
        config = partition.log.config
        if len(batch.data) > config.max_message_bytes:
            return None
        validation = self._opener.validation
        is_judged = validation is not None and validation.concerns(publication.topic)
        return Sent(batch, config, self._opener.releases.config(publication.topic), partition.has_stage, is_judged)

    # -- at once

    def is_done_at_once(self, publications: Sequence[Publication]) -> bool:
        """Open what has to be opened; False if that takes too long for the loop."""
        walked = 0
        for publication in publications:
            sent = self._sent(publication)
            if sent is None:
                continue
            if not sent.is_soon_compressed():
                return False
            if sent.codec:
                if not sent.must_open():
                    continue
                if not self._is_opened_at_once(sent, publication):
                    return False
                if publication.refusal is not None:
                    continue
            count = min(sent.count, len(sent.batch.section()) // SMALLEST_RECORD_BYTES)
            walked += count
            if walked > WALKED_AT_ONCE or (count > SLICE_RECORDS and sent.asks()):
                return False
        return True

    def _is_opened_at_once(self, sent: Sent, publication: Publication) -> bool:
        """Whether the batch is open now, or refused."""
        room = min(AT_ONCE_BYTES, AT_ONCE_TOGETHER_BYTES - self._spent_bytes)
        bound = sent.extensions.extensions_max_decompressed_bytes
        if room <= 0:
            return False
        try:
            check_record_count(sent.count, sent.log)
            self._spent_bytes += len(sent.batch.section(min(room, bound)))
        except TooLargeDecompressed as error:
            if bound > room:
                return False
            publication.refusal = _too_large(error, "extensions.max.decompressed.bytes")
        except BrokerError as error:
            publication.refusal = kept(error)
        return True

    # -- slowly

    @asynccontextmanager
    async def opened(self, publication: Publication) -> AsyncIterator[None]:
        """Open one batch, or have it refused. Room is held for what was found out as long as the context lasts; then it
        is forgotten, and so is the batch."""
        sent, batch = self._sent(publication), publication.batch
        if sent is None or (sent.codec and not sent.must_open()):
            yield
            return
        bound, key = self._bound(sent)
        async with self._opener.room.holding(bound if sent.codec else 0):
            try:
                check_record_count(sent.count, sent.log)
                await self._find_out(sent, bound, key)
            except BrokerError as error:
                publication.refusal = kept(error)
            yield
            batch.let_go()

    def _bound(self, sent: Sent) -> tuple[int, str]:
        """How much content the batch may have, and the key that says so."""
        opener, size = self._opener, len(sent.batch.data)
        bounds = {
            "extensions.max.decompressed.bytes": sent.extensions.extensions_max_decompressed_bytes,
            "decompression.max.ratio": max(RATIO_FLOOR_BYTES, opener.max_ratio * size),
            "request.max.decompressed.bytes": max(0, opener.max_together_bytes - self._spent_bytes),
        }
        key = min(bounds, key=bounds.__getitem__)
        return bounds[key], key

    async def _find_out(self, sent: Sent, bound: int, key: str) -> None:
        opener, batch = self._opener, sent.batch
        async with opener.room.threads:
            outcome = await in_worker(opener.workers, _opened_in_thread, sent, bound)
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
            rules, now_ms = sent.extensions.header_rules, opener.clock.now_ms()
            slices = open_in_slices(section, sent.count, rules, now_ms, SLICE_RECORDS)
            while batch.asked is None:
                batch.asked = next(slices)
                await trio.lowlevel.checkpoint()


def _opened_in_thread(sent: Sent, bound: int) -> bool | BrokerError:
    """[thread] Open the records, read over them, compress them anew where the topic wants that; whether any asks for
    more."""
    batch, log = sent.batch, sent.log
    try:
        batch.verify()
        batch.section(bound)
        if log.validates_structure or log.cleanup_compact:
            batch.walked()
        wanted = log.codec(batch.codec)
        if wanted not in (batch.codec, NONE) and batch.unsound is None:
            batch.recompress(wanted, log.level(wanted))
    except BrokerError as error:
        # Its traceback, and that of what led to it, would hold what was decompressed in vain until a collection.
        return kept(error)
    return sent.asks()


# -- what records ask for


def read_headers(batch: Batch, config: ExtensionConfig, now_ms: int) -> None:
    """Find out what a batch that can ask for something asks for, unless that is known already."""
    if batch.asked is None:
        batch.verify()
        count = batch.header.record_count
        check_asking(count, config)
        batch.asked = open_records(batch.section(), count, config.header_rules, now_ms)
    batch.hold = _must_hold(batch)


def _must_hold(batch: Batch) -> bool:
    """Whether any record asks for what only the stage can do. A time to live alone concerns whoever delivers it."""
    for _, _, _, directive in batch.asked or ():
        if (
            directive.delay_ms is not None
            or directive.deliver_at_ms is not None
            or directive.cancel is not None
            or directive.schedule_id is not None
            or directive.priority is not None
        ):
            return True
    return False


def check_asking(count: int, config: ExtensionConfig) -> None:
    """Refuse a batch that has to be opened record by record and holds too many."""
    if count > config.extensions_max_records:
        raise RecordTooLarge(
            f"a batch of {count} records with tide- headers among them exceeds "
            f"extensions.max.records, {config.extensions_max_records}"
        )


def open_in_haste(batch: Batch) -> None:
    """Open a batch that nobody wanted to see when it came, and now somebody does."""
    try:
        batch.section(AT_ONCE_BYTES)
    except TooLargeDecompressed as error:
        raise _too_large(error, "what can be opened at once") from None


def _too_large(error: BrokerError, key: str) -> RecordTooLarge:
    # Not as damaged, which clients send again and again; a batch too large they split, if they can.
    return RecordTooLarge(f"{error}, by {key}")
