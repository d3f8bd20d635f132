"""Transactional batches in Produce requests: each partition must be part of the producer's transaction (KIP-890).

Clients of transaction version 2 (Produce 12 and later) do not add partitions themselves: that is done for them, and
durable before the batch is written, lest a transaction stay open that no coordinator knows of. For the others the
coordinator is asked whether they did. Where a partition already holds records of the open transaction, neither is
needed.
"""

import struct
from collections.abc import Iterator

from attrs import define, field

from coordinators.transaction.transaction import V2, ProducerIdentity, TopicPartition
from engine.errors import (
    BrokerError,
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidProducerEpoch,
    InvalidTxnState,
    NotCoordinator,
    NotEnoughReplicas,
    ProducerFenced,
    RequestTimedOut,
    StorageError,
    TransactionAbortable,
    TransactionalIdAuthorizationFailed,
)
from engine.partition import Partition
from wire.kafka.messages.produce import ProduceRequest
from wire.kafka.request import Context
from wire.kafka.transactional import answer_of

FIRST_ABORTABLE_VERSION = 11
FIRST_ADDING_VERSION = 12
FIRST_TOPIC_ID_VERSION = 13

ATTRIBUTES_POSITION = 21
TRANSACTIONAL_BIT = 0x10
HEADER_SIZE = 61
_attributes = struct.Struct(">21xh")
_producer = struct.Struct(">43xqh")
# What older producers do not try again although they could; NOT_ENOUGH_REPLICAS they do.
_RETRIABLE = (
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
    RequestTimedOut,
    StorageError,
)


@define(eq=False)
class TransactionalProduce:
    """The transactional side of one request."""

    transactional_id: str | None
    context: Context
    refusals: dict[TopicPartition, BrokerError] = field(factory=dict)

    def unadded(self, request: ProduceRequest) -> dict[ProducerIdentity, list[TopicPartition]]:
        """The partitions that have yet to be added to the transaction, where that is up to the broker."""
        found: dict[ProducerIdentity, list[TopicPartition]] = {}
        if self.transactional_id is None or self.context.version < FIRST_ADDING_VERSION:
            return found
        for place, partition, records in self._batches(request):
            producer = _producer_of(records)
            if not partition.log.has_open_transaction(producer.producer_id, producer.epoch):
                found.setdefault(producer, []).append(place)
        return found

    def _batches(self, request: ProduceRequest) -> Iterator[tuple[TopicPartition, Partition, bytes | memoryview]]:
        """Transactional batches for partitions that exist."""
        node = self.context.node
        by_id = self.context.version >= FIRST_TOPIC_ID_VERSION
        for topic_data in request.topic_data:
            topics = node.topics
            topic = topics.by_id.get(topic_data.topic_id) if by_id else topics.by_name.get(topic_data.name)
            for data in topic_data.partition_data if topic is not None else ():
                assert topic is not None
                partition, records = node.partitions.get(topic.topic_id, data.index), data.records
                if partition is not None and _is_transactional(records):
                    assert records is not None
                    yield (topic.name, data.index), partition, records

    async def add(self, unadded: dict[ProducerIdentity, list[TopicPartition]]) -> None:
        """Have them added; what is refused is told when its batch comes up."""
        transactions = self.context.node.transactions
        assert self.transactional_id is not None
        for producer, places in unadded.items():
            answer = await answer_of(transactions.add_partitions(self.transactional_id, producer, places, V2))
            if isinstance(answer, BrokerError):
                self.refusals.update(dict.fromkeys(places, answer))

    def check(self, place: TopicPartition, partition: Partition, records: bytes | memoryview) -> None:
        """Raise unless the batch's producer may write it."""
        if self.transactional_id is None:
            raise TransactionalIdAuthorizationFailed("a transactional batch in a request without a transactional id")
        try:
            self._check(place, partition, _producer_of(records))
        except _RETRIABLE as error:
            raise NotEnoughReplicas(f"it cannot be told whether the transaction has the partition: {error}") from error
        except ProducerFenced as error:
            raise InvalidProducerEpoch(str(error)) from error
        except TransactionAbortable as error:
            if self.context.version >= FIRST_ABORTABLE_VERSION:
                raise
            raise InvalidTxnState(str(error)) from error

    def _check(self, place: TopicPartition, partition: Partition, producer: ProducerIdentity) -> None:
        refusal = self.refusals.get(place)
        if refusal is not None:
            raise refusal
        if not partition.log.has_open_transaction(producer.producer_id, producer.epoch):
            assert self.transactional_id is not None
            self.context.node.transactions.verify(self.transactional_id, producer, place)


def _is_transactional(records: bytes | memoryview | None) -> bool:
    whole = records is not None and len(records) >= HEADER_SIZE
    return whole and bool(_attributes.unpack_from(records)[0] & TRANSACTIONAL_BIT)  # type: ignore[arg-type]


def _producer_of(records: bytes | memoryview) -> ProducerIdentity:
    return ProducerIdentity(*_producer.unpack_from(records))
