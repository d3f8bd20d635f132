"""Publishing: batches into partitions, for every door and for what the broker itself writes among its clients' records.

A door says which batch goes to which partition, and gets a receipt for each, or a refusal. The rules:
1. What was sent together is taken in its order, each batch whole or not at all; one that is refused keeps no other
   back.
2. What takes longer than the loop may wait (opening.py) is done in threads and slices, one batch after the other.
3. A transactional batch goes only into a partition that its producer's transaction has (transactional.py).
4. A batch whose records ask for a delay, a lane, a cancellation passes through the partition's stage; so does whatever
   comes while a release is in the way, and everything for a prioritised topic. It has no offset yet.
5. Who asks for durability is answered once the records are under the high watermark, or staged durably, or when its
   time is over.
6. What the broker itself writes, dead letters and events of traces, is nobody's (`NOBODY`) and no client's
   (`Batch.origin`): neither admission nor traces nor the counts of traffic concern it, and its headers are plain data.
   A dead letter, which was staged before, uses the room that a full disk keeps for such: it does not ask for its
   `destination`.
"""

from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

import trio
from msgspec import Struct, field
from stringzilla import find

from coordinators.records.admission import Admission
from coordinators.records.directory import PartitionDirectory
from coordinators.records.opening import (
    FEW_PARTITIONS,
    PLAIN_BYTES,
    Opener,
    Opening,
    is_plain_and_small,
    open_in_haste,
    read_headers,
)
from coordinators.records.opening_room import OpeningRoom
from coordinators.records.publication import Publication
from coordinators.records.refused_headers import RefusedHeaders
from coordinators.records.skipped_sequences import SkippedSequences
from coordinators.records.transactional import Question, TransactionalPublishing
from coordinators.release.releases import Releases
from coordinators.schemas.validation.validation import SchemaValidation
from coordinators.topics import Topic
from coordinators.tracing.tracing import Tracing
from coordinators.transaction.ports import TransactionVerification
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.deferred import Deferred
from engine.errors import (
    BrokerError,
    InvalidTopic,
    RefusedRecords,
    TransactionalIdAuthorizationFailed,
    fresh,
    kept,
)
from engine.log.types import Origin, Receipt
from engine.partition.partition import Partition
from engine.records.batch import NOBODY, Publisher
from engine.records.layout import CODEC_MASK, TRANSACTIONAL_FLAG
from engine.stage.config import ExtensionConfig
from engine.stage.headers import PREFIX, sniff
from engine.workers import Workers

PUBLISHED_PER_TURN = 50


class Publishing:
    """What every publication needs of the broker around it."""

    def __init__(
        self,
        directory: PartitionDirectory,
        releases: Releases,
        verification: TransactionVerification,
        tracing: Tracing,
        opener: Opener,
        refused_headers: RefusedHeaders,
        clock: Clock,
        admission: Admission | None = None,
    ) -> None:
        self.directory = directory
        self.releases = releases
        self.verification = verification
        self.tracing = tracing
        self.opener = opener
        self.refused_headers = refused_headers
        self.clock = clock
        self.admission = admission
        """Who may write what, and how fast; without one, everybody everything."""
        self.skipped = SkippedSequences(clock)
        self.validation: SchemaValidation | None = None
        """Of records by schemas; without one, none."""
        self._partitions = directory.partitions

    @classmethod
    def compose(
        cls,
        directory: PartitionDirectory,
        releases: Releases,
        verification: TransactionVerification,
        tracing: Tracing,
        settings: BrokerSettings,
        clock: Clock,
        workers: Workers,
    ) -> "Publishing":
        """As the broker's configuration wants it."""
        opener = Opener(
            releases,
            OpeningRoom(settings.integer("queued.max.decompressed.bytes")),
            workers,
            clock,
            settings.integer("decompression.max.ratio"),
            settings.integer("request.max.decompressed.bytes"),
        )
        return cls(directory, releases, verification, tracing, opener, RefusedHeaders(clock), clock)

    def validate_by(self, validation: SchemaValidation) -> None:
        """Hold records against schemas, where topics ask for it."""
        self.validation = self.opener.validation = validation

    @property
    def is_doubtful(self) -> bool:
        """Whether this node cannot tell if it still leads: whoever waits for anything waits for all replicas then."""
        return self._partitions.is_doubtful

    def destination(self, publisher: Publisher, topic: Topic, index: int, *, durable: bool) -> Partition:
        """The partition to which a batch goes, if it may."""
        if self.admission is not None and publisher is not NOBODY:
            self.admission.check_write(publisher, topic)
        if topic.internal and publisher is not NOBODY:
            raise InvalidTopic(f"{topic.name} is written by the broker alone")
        partition = self.directory.partition(topic, index)
        refusal = self._partitions.refusal or (partition.replicas.shortage if durable else None)
        if refusal is not None:
            raise fresh(refusal)
        return partition

    async def deliver(
        self, publication: Publication, *, publisher: Publisher = NOBODY, durable: bool, deadline: float
    ) -> Receipt:
        """Publish one batch and wait for its receipt; raises the refusal."""
        delivery = _Delivery(self, publisher, [publication], durable, deadline)
        rest = delivery.publish()
        if rest is not None:
            await rest
        await delivery.ended.wait()
        if publication.refusal is not None:
            raise fresh(publication.refusal)
        assert publication.receipt is not None, "a publication ends with a receipt or a refusal"
        return publication.receipt


class Submission(Struct, eq=False):
    """Batches that one publisher sends together, to be answered together. Each door makes its own kind of it, which
    says in `done` what follows."""

    publishing: Publishing
    publisher: Publisher
    publications: Sequence[Publication]
    durable: bool
    """Whether the publisher waits until its records are durable."""
    deadline: float
    """Of that wait, and of one for a turn behind a release."""
    transaction: TransactionalPublishing | None = None
    throttle_ms: int = 0
    """How long the publisher should pause before it sends more."""
    waiting: int = 1
    """For so many things, one of them the end of `publish` itself."""
    taken: trio.Event | None = None
    """Set when the batch that had to wait for its turn behind a release is taken or refused."""

    def done(self) -> None:
        """Every publication is done with. Called once."""
        raise NotImplementedError

    def publish(self) -> Coroutine[Any, Any, None] | None:
        """Publish everything; a coroutine that does so, if that takes longer than the loop may wait."""
        publications = self.publications
        size, is_compressed = 0, False
        for publication in publications:
            batch = publication.batch
            size += len(batch.data)
            if batch.header.attributes & CODEC_MASK:
                is_compressed = True
        # Most are few, small and plain.
        is_unusual = is_compressed or size > PLAIN_BYTES or len(publications) > FEW_PARTITIONS
        if is_unusual and not self._are_open(publications):
            return self._publish_slowly()
        validation = self.publishing.validation
        if validation is not None and validation.rules and not validation.are_done_at_once(publications):
            return self._publish_slowly()
        if self.transaction is not None and not self.transaction.ask(publications):
            return self._publish_slowly()
        for publication in publications:
            self._publish(publication)
        self._end(size)
        return None

    def _are_open(self, publications: Sequence[Publication]) -> bool:
        """Whether nothing takes long about these. What the broker writes is never compressed, nor are its headers
        read."""
        if self.publisher is NOBODY:
            return True
        return len(publications) <= FEW_PARTITIONS and Opening(self.publishing.opener).is_done_at_once(publications)

    async def _publish_slowly(self) -> None:
        """The same for batches of which something takes long: one after the other, and others have their turn now and
        then."""
        size = 0
        for publication in self.publications:
            # The buffer that all connections share is filled by another one while this one waits.
            batch = publication.batch
            batch.data = memoryview(bytes(batch.data))
            size += len(batch.data)
        opening = Opening(self.publishing.opener)
        if self.transaction is not None:
            await self.transaction.ask_and_wait(self.publications)
        for number, publication in enumerate(self.publications, 1):
            if is_plain_and_small(publication.batch):
                await self._judge(publication, opening)
            else:
                async with opening.opened(publication):
                    await self._judge(publication, opening)
            if number % PUBLISHED_PER_TURN == 0:
                await trio.lowlevel.checkpoint()
        self._end(size)

    async def _judge(self, publication: Publication, opening: Opening) -> None:
        """Hold one batch against schemas, if its topic wants that, and publish it."""
        validation, batch = self.publishing.validation, publication.batch
        if validation is not None and validation.rules:
            await validation.judge(publication)
        if publication.batch is batch:
            self._publish(publication)
            await self._until_taken()
        else:
            # It was made anew: what was found out about it holds no longer.
            async with opening.opened(publication):
                self._publish(publication)
                await self._until_taken()

    async def _until_taken(self) -> None:
        """Wait until the bytes of the last batch are no longer needed, if it had to wait for its turn."""
        if self.taken is not None:
            await self.taken.wait()

    def _end(self, size: int) -> None:
        if self.transaction is not None and self.durable:
            for question in self.transaction.questions:
                self.waiting += 1
                question.inclusion.durable.when_settled(self._one_done, partial(self._not_included, question))
        if self.publishing.admission is not None and self.publisher is not NOBODY:
            self.throttle_ms = self.publishing.admission.throttle_ms(self.publisher, size)
        self.waiting -= 1
        if self.waiting == 0:
            self.done()

    # -- one batch

    def _publish(self, publication: Publication) -> None:
        publishing, batch, partition = self.publishing, publication.batch, publication.partition
        attributes = batch.header.attributes
        try:
            if publication.refusal is not None:
                raise publication.refusal
            publishing.skipped.check(publication)
            if attributes & TRANSACTIONAL_FLAG:
                self._check_transaction(publication)
            config = publishing.releases.config(publication.topic)
            priority = config.priority_enable
            batch.shows_lanes = priority != "false"
            # Most batches are not compressed and hold no header that could ask for anything: one search tells. A stray
            # match among the bytes of the batch's own header does no harm.
            may_ask = attributes & CODEC_MASK or find(batch.data, PREFIX) >= 0
            has_lanes = priority == "true" and config.extensions_enable
            if (may_ask and self._must_hold(publication, config)) or has_lanes:
                publishing.releases.stage_of(partition, publication.topic)
            outcome = partition.append(batch, deadline=self.deadline)
        except BrokerError as error:
            self._refuse(publication, error)
        else:
            if isinstance(outcome, Receipt):
                self._appended(publication, outcome)
            else:
                self._await_turn(publication, outcome)

    def _check_transaction(self, publication: Publication) -> None:
        if self.transaction is None:
            raise TransactionalIdAuthorizationFailed("a transactional batch in a request without a transactional id")
        self.transaction.check(publication)

    def _must_hold(self, publication: Publication, config: ExtensionConfig) -> bool:
        """Whether any record asks for what only a stage can do; a compressed batch is opened, should that be wanted."""
        batch, can_ask = publication.batch, config.extensions_enable
        if batch.opened is None and batch.codec and (can_ask or publication.partition.has_release_in_the_way):
            open_in_haste(batch)
        if can_ask and batch.origin is Origin.CLIENT and (batch.asked is not None or sniff(batch.section())):
            read_headers(batch, config, self.publishing.clock.now_ms())
        return batch.hold

    def _await_turn(self, publication: Publication, receipt: Deferred[Receipt]) -> None:
        """A release is in the way: the batch is taken, or refused, later than the others."""
        self.waiting += 1
        taken = self.taken = trio.Event()
        # For whoever looks at it then: what it came in is a buffer that is filled again before.
        publication.batch = publication.batch.bare()

        def resolved(receipt: Receipt) -> None:
            self._appended(publication, receipt)
            ended()

        def refused(error: BrokerError) -> None:
            self._refuse(publication, error)
            ended()

        def ended() -> None:
            taken.set()
            self._one_done()

        receipt.when_settled(resolved, refused)

    def _appended(self, publication: Publication, receipt: Receipt) -> None:
        publication.receipt = receipt
        batch, partition = publication.batch, publication.partition
        if batch.origin is Origin.CLIENT and not receipt.duplicate:
            partition.traffic.received(batch.header.record_count, len(batch.data))
            if receipt.staged_number < 0:
                # Of staged ones the stage's observer tells.
                self.publishing.tracing.received(publication.topic, partition, batch, receipt)
        if self.durable:
            self.waiting += 1
            partition.when_durable(receipt, self.deadline, partial(self._durable, publication))
        batch.let_go()

    def _refuse(self, publication: Publication, error: BrokerError) -> None:
        publication.refusal = kept(error)
        batch, partition = publication.batch, publication.partition
        self.publishing.skipped.note(batch.header, publication.topic.name, partition.index, error)
        batch.let_go()
        if isinstance(error, RefusedRecords) and error.header_fault:
            self.publishing.refused_headers.note(publication.topic.name, partition.index, error, self.publisher)

    # -- durability

    def _durable(self, publication: Publication, error: BrokerError | None) -> None:
        if error is not None:
            publication.refusal = error
        self.waiting -= 1
        if self.waiting == 0:
            self.done()

    def _not_included(self, question: Question, error: BrokerError) -> None:
        assert self.transaction is not None
        for publication in question.publications:
            publication.refusal = self.transaction.told(error)
        self._one_done()

    def _one_done(self, _: None = None) -> None:
        self.waiting -= 1
        if self.waiting == 0:
            self.done()


class _Delivery(Submission, eq=False, kw_only=True):
    """What a task waits for."""

    ended: trio.Event = field(default_factory=trio.Event)

    def done(self) -> None:
        """Let the task go on."""
        self.ended.set()
