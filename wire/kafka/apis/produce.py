"""Produce (0), versions 3-13: appends one record batch per partition.

Version 0 is advertised although nothing below 3 is served: librdkafka up to 2.11.0 switches compression off
where the range begins later (as Kafka 4 does it too, KIP-896). From version 13 topics are named by id
(KIP-516). acks=0 is not answered; if it fails the connection ends, as Kafka does it, so that the producer
refreshes its metadata. acks=1 is answered after the write, acks=-1 once the batch is under the high
watermark. An error with per-record reasons means that the whole batch was refused (KIP-467). From version 12 a
partition that is written in a transaction is added to it (KIP-890); before, the producer has added it.
The publishing itself is `coordinators/records/publishing.py`. What other nodes send are dead letters
(`wire/kafka/nodes/letters_taken.py`).

A producer whose batch was staged (`tide-` headers) is told no offset, for there is none yet: base offset -1.
librdkafka, franz-go and aiokafka add a record's place in the batch to it; they are told a base so far below zero that
no sum looks like an offset.
"""

from collections.abc import Coroutine
from functools import partial
from operator import attrgetter
from typing import Any

import trio

from coordinators.records.opening import FEW_PARTITIONS
from coordinators.records.publication import NO_OFFSET, Publication
from coordinators.records.publishing import Publishing, Submission
from coordinators.records.transactional import TransactionalPublishing
from engine.errors import (
    BrokerError,
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    CorruptMessage,
    InvalidProducerEpoch,
    InvalidRecord,
    InvalidRequiredAcks,
    InvalidTxnState,
    NotCoordinator,
    NotEnoughReplicas,
    NotLeader,
    ProducerFenced,
    RefusedRecords,
    RequestTimedOut,
    StorageError,
    TransactionAbortable,
    UnsupportedCompressionType,
)
from engine.files.files import Buffer
from engine.log.types import Origin
from engine.log.validation import NAMED_ERRORS_MAX
from engine.records.batch import Batch, Publisher
from engine.records.compression import ZSTD
from engine.records.layout import CODEC_MASK, HEADER_SIZE, LENGTH_OVERHEAD, MAGIC, parse_header
from wire.kafka.codec import WireError
from wire.kafka.errors import error_code
from wire.kafka.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from wire.kafka.nodes.letters_taken import take_letters
from wire.kafka.request import Context, Deferred
from wire.kafka.rights import WRITE_TOPIC, WRITE_TRANSACTION, Each, Need, Rights, by_name_or_id
from wire.kafka.told_nodes import ToldNodes, add_endpoint

KEY = 0
VERSIONS = (3, 13)
FIRST_ADVERTISED_VERSION = 0
RIGHTS = Rights(
    Need(WRITE_TRANSACTION, attrgetter("transactional_id")),
    Each(
        WRITE_TOPIC,
        "topic_data",
        by_name_or_id,
        "responses",
        lambda topic, error: _denied(topic, error),
        ProduceResponse,
        attrgetter("name"),
    ),
    refuse=lambda request, _, error: ProduceResponse([_denied(topic, error) for topic in request.topic_data]),
    has_answer=lambda request: request.acks != 0,
)

FIRST_ZSTD_VERSION = 7
FIRST_HINT_VERSION = 10
FIRST_ABORTABLE_VERSION = 11
FIRST_ADDING_VERSION = 12
FIRST_TOPIC_ID_VERSION = 13
CLIENT = Origin.CLIENT
ALL, LEADER, NONE = -1, 1, 0
"""What a producer wants acknowledged."""
TRANSLATED_PER_TURN = 50
FAR_BELOW_ZERO = -(2**40)
ADDING_CLIENTS = ("librdkafka", "confluent-kafka", "rust-rdkafka", "kgo", "franz-go", "aiokafka")
"""How clients name themselves that add a record's place to whatever base offset they get."""
# What older producers do not try again although they could; NOT_ENOUGH_REPLICAS they do.
_RETRIABLE = (
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
    RequestTimedOut,
    StorageError,
)

Answer = Deferred[ProduceResponse] | ProduceResponse | None


class _Part(Publication, eq=False, kw_only=True):
    """What is published of a request for one partition."""

    entry: PartitionProduceResponse
    """Its part of the answer."""


class _Produce(Submission, eq=False, kw_only=True):
    """One request, and what it is answered. It is there until the answer is, so it holds nothing of the records."""

    parts: list[_Part]
    """Its publications."""
    acks: int
    transactional_id: str | None
    context: Context
    nodes: ToldNodes
    response: ProduceResponse
    answer: Deferred[ProduceResponse] | None = None
    """If it comes later."""
    failure: str = ""
    """Why the first batch was refused that was."""

    def translate(
        self, topic_data: TopicProduceData, data: PartitionProduceData, answered: TopicProduceResponse
    ) -> None:
        """Have a partition's batch published, and an entry for the answer."""
        context, publishing, publisher = self.context, self.publishing, self.publisher
        entry = PartitionProduceResponse(data.index)
        answered.partition_responses.append(entry)
        named = topic_data.topic_id if context.version >= FIRST_TOPIC_ID_VERSION else topic_data.name
        try:
            if self.acks not in (ALL, LEADER, NONE):
                raise InvalidRequiredAcks(f"acks must be 0, 1 or -1 (all), not {self.acks}")
            topic = publishing.directory.topic(named)
            partition = publishing.destination(publisher, topic, data.index, durable=self.durable)
            batch = _batch(data.records, context.version, publisher)
        except BrokerError as error:
            self._tell(entry, error)
            self.failure = self.failure or str(error)
            if data.records is not None and len(data.records) >= HEADER_SIZE:
                publishing.skipped.note(parse_header(data.records), named, data.index, error)
        else:
            self.parts.append(_Part(topic, partition, batch, entry=entry))

    def handle(self) -> Answer | Coroutine[Any, Any, Answer]:
        """Publish what was translated."""
        if self.transactional_id is not None:
            self.transaction = self._transaction(self.transactional_id)
        rest = self.publish()
        return self._end_later(rest) if rest is not None else self._answer()

    def _transaction(self, transactional_id: str) -> TransactionalPublishing:
        version = self.context.version
        # Producers of transactions wait for all replicas; one that does not is taken for one that adds by itself.
        adds = version >= FIRST_ADDING_VERSION and self.durable
        told = partial(_told, version)
        publishing = self.publishing
        return TransactionalPublishing(publishing.verification, transactional_id, adds, told)

    def done(self) -> None:
        """Complete the answer, and give it if somebody waits for it."""
        for part in self.parts:
            entry, refusal, receipt = part.entry, part.refusal, part.receipt
            if refusal is not None:
                self._tell(entry, refusal)
                if receipt is None and isinstance(refusal, RefusedRecords):
                    entry.log_start_offset = part.partition.log.start_offset
                continue
            assert receipt is not None, "a publication ends with a receipt or a refusal"
            offset = receipt.base_offset
            entry.base_offset = offset if offset != NO_OFFSET else _unknown_offset(self.context)
            entry.log_append_time_ms = receipt.append_time_ms
            entry.log_start_offset = receipt.start_offset
        if self.answer is not None:
            self.answer.resolve(self.response)

    def _tell(self, entry: PartitionProduceResponse, error: BrokerError) -> None:
        _refuse(entry, error)
        if isinstance(error, NotLeader) and error.leader >= 0 and self.context.version >= FIRST_HINT_VERSION:
            entry.current_leader = LeaderIdAndEpoch(error.leader, error.leader_epoch)
            add_endpoint(self.response.node_endpoints, NodeEndpoint, self.nodes.one(error.leader, self.context.peer))

    def _answer(self) -> Answer:
        """What the handler returns when everything was published, though perhaps not durable yet."""
        if self.throttle_ms:
            self.response.throttle_time_ms = self.throttle_ms
        if self.acks == NONE:
            refusals = (str(part.refusal) for part in self.parts if part.refusal is not None)
            failure = self.failure or next(refusals, "")
            if failure:
                raise WireError(f"a produce request with acks=0 failed: {failure}")
            return None
        if self.waiting:
            self.answer = Deferred()
            return self.answer
        return self.response

    async def _end_later(self, rest: Coroutine[Any, Any, None]) -> Answer:
        await rest
        return self._answer()


def handle(
    request: ProduceRequest, context: Context, publishing: Publishing, nodes: ToldNodes
) -> Answer | Coroutine[Any, Any, Answer]:
    """Append every partition's batch; what fails is reported for its partition alone."""
    if context.peer.node_id is not None:
        return take_letters(request, publishing)
    deadline = publishing.clock.monotonic() + max(request.timeout_ms, 0) / 1000
    parts: list[_Part] = []
    response, publisher = ProduceResponse(), context.publisher
    produce = _Produce(
        publishing,
        publisher,
        parts,
        request.acks == ALL or (request.acks == LEADER and publishing.is_doubtful),
        deadline,
        parts=parts,
        acks=request.acks,
        transactional_id=request.transactional_id,
        context=context,
        nodes=nodes,
        response=response,
    )
    count = 0
    for topic_data in request.topic_data:
        count += len(topic_data.partition_data)
    if count > FEW_PARTITIONS:
        return _handle_many(request, produce)
    for topic_data in request.topic_data:
        answered = TopicProduceResponse(topic_id=topic_data.topic_id, name=topic_data.name)
        response.responses.append(answered)
        for data in topic_data.partition_data:
            produce.translate(topic_data, data, answered)
    return produce.handle()


async def _handle_many(request: ProduceRequest, produce: _Produce) -> Answer:
    """The same for so many partitions that translating them takes longer than a moment: others have their turn now and
    then."""
    for topic_data in request.topic_data:
        for data in topic_data.partition_data:
            # The buffer that all connections share is filled by another one while this one waits.
            data.records = None if data.records is None else bytes(data.records)
    translated = 0
    for topic_data in request.topic_data:
        answered = TopicProduceResponse(topic_id=topic_data.topic_id, name=topic_data.name)
        produce.response.responses.append(answered)
        for data in topic_data.partition_data:
            produce.translate(topic_data, data, answered)
            translated += 1
            if translated % TRANSLATED_PER_TURN == 0:
                await trio.lowlevel.checkpoint()
    answer = produce.handle()
    return await answer if isinstance(answer, Coroutine) else answer


def _batch(records: Buffer | None, version: int, publisher: Publisher) -> Batch:
    """The batch that a partition is sent, as far as the request itself requires something of it; the log checks the
    rest."""
    if records is None or len(records) < HEADER_SIZE:
        raise InvalidRecord(f"a produce request of version {version} must hold one record batch per partition")
    header = parse_header(records)
    magic = header.magic
    if not 0 <= magic <= MAGIC:
        raise CorruptMessage(f"a batch of magic {magic}, which is unknown")
    if magic < MAGIC:
        raise InvalidRecord(f"a produce request of version {version} may only hold batches of magic 2, not {magic}")
    if header.length + LENGTH_OVERHEAD != len(records):
        raise InvalidRecord(f"a produce request of version {version} must hold exactly one record batch per partition")
    if version < FIRST_ZSTD_VERSION and header.attributes & CODEC_MASK == ZSTD:
        raise UnsupportedCompressionType(
            f"zstd needs produce version {FIRST_ZSTD_VERSION}, the request is version {version}"
        )
    return Batch(records if type(records) is memoryview else memoryview(records), header, CLIENT, publisher)


def _refuse(entry: PartitionProduceResponse, error: BrokerError) -> None:
    entry.error_code = error_code(error)
    entry.error_message = str(error)
    entry.base_offset = NO_OFFSET
    if isinstance(error, RefusedRecords):
        entry.record_errors = [
            BatchIndexAndErrorMessage(index, reason) for index, reason in error.record_errors[:NAMED_ERRORS_MAX]
        ]


def _unknown_offset(context: Context) -> int:
    """What this client is told as the base offset of a batch that has none yet."""
    # aiokafka speaks an ApiVersions too old to name itself in; there is only the client id that it makes up.
    name = context.peer.software_name or context.client_id or ""
    return FAR_BELOW_ZERO if name.startswith(ADDING_CLIENTS) else NO_OFFSET


def _told(version: int, error: BrokerError) -> BrokerError:
    """An error of the transaction's coordinator as one that producers of this version expect."""
    if isinstance(error, _RETRIABLE):
        return NotEnoughReplicas(f"the partition cannot be added to the transaction now: {error}")
    if isinstance(error, ProducerFenced):
        return InvalidProducerEpoch(str(error))
    if isinstance(error, TransactionAbortable) and version < FIRST_ABORTABLE_VERSION:
        return InvalidTxnState(str(error))
    return error


def _denied(topic: TopicProduceData, error: BrokerError) -> TopicProduceResponse:
    answered = TopicProduceResponse(topic_id=topic.topic_id, name=topic.name)
    for data in topic.partition_data:
        entry = PartitionProduceResponse(data.index)
        _refuse(entry, error)
        answered.partition_responses.append(entry)
    return answered
