"""Produce (0), versions 3-13: appends one record batch per partition.

Version 0 is advertised although nothing below 3 is served: librdkafka up to 2.11.0 switches compression off
where the range begins later (as Kafka 4 does it too, KIP-896). From version 13 topics are named by id
(KIP-516). acks=0 is not answered; if it fails the connection ends, as Kafka does it, so that the producer
refreshes its metadata. acks=1 is answered after the write, acks=-1 once the batch is under the high
watermark. An error with per-record reasons means that the whole batch was refused (KIP-467). From version 12 a
partition that is written in a transaction is added to it (KIP-890); before, the producer has added it.
Batches with `tide-` headers go to the partition's stage (wire/kafka/extended_produce.py) and have no offset yet.
"""

from collections.abc import Coroutine
from functools import partial
from typing import Any

import trio

from coordinators.release.client_batch import Outcome, Staged
from engine.errors import (
    BrokerError,
    CorruptMessage,
    InvalidRecord,
    InvalidRequiredAcks,
    InvalidTopic,
    RefusedRecords,
    TransactionalIdAuthorizationFailed,
    UnsupportedCompressionType,
    fresh,
)
from engine.files.files import Buffer
from engine.log.validation import NAMED_ERRORS_MAX
from engine.partition.partition import Partition
from engine.records.batch import Batch, Publisher
from engine.records.compression import ZSTD
from engine.records.layout import CODEC_MASK, HEADER_SIZE, LENGTH_OVERHEAD, MAGIC, TRANSACTIONAL_FLAG, parse_header
from wire.kafka.codec import WireError
from wire.kafka.errors import error_code
from wire.kafka.extended_produce import ExtendedProduce
from wire.kafka.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from wire.kafka.opening import FEW_PARTITIONS, Opening, is_plain_and_small, needs_a_look
from wire.kafka.record_services import ProduceServices
from wire.kafka.request import Context, Deferred
from wire.kafka.transactional_produce import Addition, TransactionalProduce

KEY = 0
VERSIONS = (3, 13)
FIRST_ADVERTISED_VERSION = 0

FIRST_ZSTD_VERSION = 7
FIRST_TOPIC_ID_VERSION = 13
PARTITIONS_PER_TURN = 50
Answer = Deferred[ProduceResponse] | ProduceResponse | None


class _Durability:
    """Counts down the partitions that a producer waits for, then answers it."""

    __slots__ = ("acks", "deadline", "deferred", "failure", "response", "waiting")

    def __init__(self, request: ProduceRequest, now: float) -> None:
        self.response = ProduceResponse()
        self.acks = request.acks
        self.deadline = now + max(request.timeout_ms, 0) / 1000
        self.waiting = 1
        self.deferred: Deferred[ProduceResponse] = Deferred()
        self.failure = ""
        """Why the first batch was refused that was."""

    def wait_for(self, partition: Partition, last_offset: int, entry: PartitionProduceResponse) -> None:
        if self.acks != -1:
            return
        self.waiting += 1

        def durable(error: BrokerError | None) -> None:
            if error is not None:
                _set_error(entry, error)
                entry.log_start_offset = -1
            self.one_done()

        partition.when_durable(last_offset, self.deadline, durable)

    def wait_for_outcome(self, partition: Partition, entry: PartitionProduceResponse, outcome: Outcome) -> None:
        """A batch that passed through the stage has its outcome, maybe later than the request was handled."""
        if isinstance(outcome, BrokerError):
            _set_error(entry, outcome)
            if isinstance(outcome, RefusedRecords):
                entry.log_start_offset = partition.log.start_offset
        elif isinstance(outcome, Staged):
            self.wait_for(partition.staged.store, outcome.last_number, entry)
            if outcome.log_end_offset is not None:
                self.wait_for(partition, outcome.log_end_offset - 1, entry)
        else:
            self.wait_for(partition, outcome.last_offset, entry)
        self.one_done()

    def wait_for_addition(self, addition: Addition, transactional: TransactionalProduce) -> None:
        self.waiting += 1

        def added(_: None) -> None:
            self.one_done()

        def not_added(error: BrokerError) -> None:
            for entry in addition.entries:
                _set_error(entry, transactional.told(error))
                entry.log_start_offset = -1
            self.one_done()

        addition.answer.when_settled(added, not_added)

    def one_done(self) -> None:
        self.waiting -= 1
        if self.waiting == 0:
            self.deferred.resolve(self.response)


def handle(
    request: ProduceRequest, context: Context, services: ProduceServices
) -> Answer | Coroutine[Any, Any, Answer]:
    """Append every partition's batch; what fails is reported for its partition alone."""
    opening = None
    if needs_a_look(request):
        opening = Opening(context, services)
        if _has_many(request) or not opening.is_done_at_once(request):
            return _handle_slowly(request, context, services, opening)
    extended = ExtendedProduce(context, services, opening)
    durability = _Durability(request, services.clock.monotonic())
    transactional = None if request.transactional_id is None else _transactional(request, context, services)
    for topic_data in request.topic_data:
        answered = TopicProduceResponse(topic_id=topic_data.topic_id, name=topic_data.name)
        durability.response.responses.append(answered)
        for data in topic_data.partition_data:
            _try_append(topic_data, data, context, services, transactional, extended, answered, durability)
    return _end(durability, transactional)


async def _handle_slowly(
    request: ProduceRequest, context: Context, services: ProduceServices, opening: Opening
) -> Answer:
    """The same for a request of which something takes longer than the loop may wait: one batch after the other, and the
    others have their turn now and then."""
    opening.begin_slowly(request)
    extended = ExtendedProduce(context, services, opening)
    durability = _Durability(request, services.clock.monotonic())
    transactional = None if request.transactional_id is None else _transactional(request, context, services)
    appended = 0
    for topic_data in request.topic_data:
        answered = TopicProduceResponse(topic_id=topic_data.topic_id, name=topic_data.name)
        durability.response.responses.append(answered)
        for data in topic_data.partition_data:
            if is_plain_and_small(data.records):
                _try_append(topic_data, data, context, services, transactional, extended, answered, durability)
                await extended.until_taken()
            else:
                async with opening.opened_slowly(topic_data, data):
                    _try_append(topic_data, data, context, services, transactional, extended, answered, durability)
                    await extended.until_taken()
            appended += 1
            if appended % PARTITIONS_PER_TURN == 0:
                await trio.lowlevel.checkpoint()
    return _end(durability, transactional)


def _has_many(request: ProduceRequest) -> bool:
    """Whether its partitions, however small their batches, take longer than a moment."""
    count = 0
    for topic in request.topic_data:
        count += len(topic.partition_data)
    return count > FEW_PARTITIONS


def _transactional(request: ProduceRequest, context: Context, services: ProduceServices) -> TransactionalProduce:
    assert request.transactional_id is not None
    transactional = TransactionalProduce(request.transactional_id, context, services)
    # Producers of transactions wait for all replicas; one that does not is taken for one that adds by itself.
    if request.acks == -1:
        transactional.add(request)
    return transactional


def _end(durability: _Durability, transactional: TransactionalProduce | None) -> Answer:
    if durability.acks == 0:
        if durability.failure:
            raise WireError(f"a produce request with acks=0 failed: {durability.failure}")
        return None
    if transactional is not None:
        for addition in transactional.additions:
            durability.wait_for_addition(addition, transactional)
    durability.one_done()
    return durability.response if durability.deferred.settled else durability.deferred


def _try_append(
    topic_data: TopicProduceData,
    data: PartitionProduceData,
    context: Context,
    services: ProduceServices,
    transactional: TransactionalProduce | None,
    extended: ExtendedProduce,
    answered: TopicProduceResponse,
    durability: _Durability,
) -> None:
    entry = PartitionProduceResponse(index=data.index)
    answered.partition_responses.append(entry)
    try:
        if durability.acks not in (0, 1, -1):
            raise InvalidRequiredAcks(f"acks must be 0, 1 or -1 (all), not {durability.acks}")
        _append(topic_data, data, context, services, transactional, extended, entry, durability)
    except BrokerError as error:
        _set_error(entry, error)
        # The text alone: an error kept in a frame of its own traceback would live until a collection.
        durability.failure = durability.failure or str(error)


def _append(
    topic_data: TopicProduceData,
    data: PartitionProduceData,
    context: Context,
    services: ProduceServices,
    transactional: TransactionalProduce | None,
    extended: ExtendedProduce,
    entry: PartitionProduceResponse,
    durability: _Durability,
) -> None:
    directory = services.directory
    by_id = context.version >= FIRST_TOPIC_ID_VERSION
    topic = directory.topic(topic_data.topic_id if by_id else topic_data.name)
    if topic.internal:
        raise InvalidTopic(f"{topic.name} is written by the broker alone")
    partition = directory.partition(topic, data.index)
    if directory.partitions.refusal is not None:
        raise fresh(directory.partitions.refusal)
    if durability.acks == -1 and partition.replicas.shortage is not None:
        raise fresh(partition.replicas.shortage)
    batch = _batch(data.records, context.version)
    header = batch.header
    if header.attributes & TRANSACTIONAL_FLAG:
        if transactional is None:
            raise TransactionalIdAuthorizationFailed("a transactional batch in a request without a transactional id")
        transactional.check((topic.name, data.index), partition, batch.header, entry)
    try:
        batch = extended.known(batch.data) or batch
        batch.publisher = Publisher(context.client_id, context.peer.address)
        if extended.must_pass_stage(topic, partition, batch):
            durability.waiting += 1
            then = partial(durability.wait_for_outcome, partition, entry)
            extended.append(topic, partition, batch, entry, then, durability.deadline)
            partition.traffic.received(header.record_count, len(batch.data))
            return
        result = partition.append(batch)
    except RefusedRecords as error:
        entry.log_start_offset = partition.log.start_offset
        if error.header_fault:
            client = context.client_id, context.peer.address
            services.refused_headers.note(topic.name, partition.index, error, *client)
        raise
    entry.base_offset = result.base_offset
    entry.log_append_time_ms = result.append_time_ms
    entry.log_start_offset = result.start_offset
    if not result.duplicate:
        partition.traffic.received(header.record_count, len(batch.data))
    services.tracing.received(topic, partition, batch, result)
    durability.wait_for(partition, result.last_offset, entry)


def _batch(records: Buffer | None, version: int) -> Batch:
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
    if header.attributes & CODEC_MASK == ZSTD and version < FIRST_ZSTD_VERSION:
        raise UnsupportedCompressionType(
            f"zstd needs produce version {FIRST_ZSTD_VERSION}, the request is version {version}"
        )
    return Batch(records, header)


def _set_error(entry: PartitionProduceResponse, error: BrokerError) -> None:
    entry.error_code = error_code(error)
    entry.error_message = str(error)
    entry.base_offset = -1
    entry.log_append_time_ms = -1
    if isinstance(error, RefusedRecords):
        entry.record_errors = [
            BatchIndexAndErrorMessage(index, reason) for index, reason in error.record_errors[:NAMED_ERRORS_MAX]
        ]
