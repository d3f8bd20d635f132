"""Transactional batches in Produce requests: each partition must be part of the producer's transaction (KIP-890).

Clients of transaction version 2 (Produce 12 and later) do not add partitions themselves: that is done for them. It is
written before the batch and answered when both are durable; should only the batch survive a power cut, it is aborted
as an orphan (coordinators/transaction/orphans.py). For the others the coordinator is asked whether they added the
partition, unless it already holds records of the open transaction.
"""

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
    fresh,
)
from engine.partition.partition import Partition
from engine.records.layout import HEADER_SIZE, BatchHeader, parse_header
from wire.kafka.messages.produce import PartitionProduceResponse, ProduceRequest
from wire.kafka.record_services import ProduceServices
from wire.kafka.request import Context, Deferred

FIRST_ABORTABLE_VERSION = 11
FIRST_ADDING_VERSION = 12
FIRST_TOPIC_ID_VERSION = 13

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
class Addition:
    """Partitions that are being added, and the answers that depend on it."""

    answer: Deferred[None]
    entries: list[PartitionProduceResponse] = field(factory=list)


@define(eq=False)
class TransactionalProduce:
    """The transactional side of one request."""

    transactional_id: str
    context: Context
    services: ProduceServices
    _additions: dict[TopicPartition, Addition] = field(factory=dict)

    @property
    def additions(self) -> list[Addition]:
        """What has to be durable before the request is answered."""
        return list(dict.fromkeys(self._additions.values()))

    def add(self, request: ProduceRequest) -> None:
        """Add the partitions that the transaction does not have yet, where that is up to the broker."""
        if self.context.version < FIRST_ADDING_VERSION:
            return
        transactions = self.services.transactions
        missing: dict[ProducerIdentity, list[TopicPartition]] = {}
        for place, producer in self._batches(request):
            if not transactions.is_added(self.transactional_id, producer, place):
                missing.setdefault(producer, []).append(place)
        for producer, places in missing.items():
            answer = transactions.add_partitions(self.transactional_id, producer, places, V2)
            self._additions.update(dict.fromkeys(places, Addition(answer)))

    def _batches(self, request: ProduceRequest) -> Iterator[tuple[TopicPartition, ProducerIdentity]]:
        """Places and producers of transactional batches for partitions that exist."""
        directory = self.services.directory
        by_id = self.context.version >= FIRST_TOPIC_ID_VERSION
        for topic_data in request.topic_data:
            topics = directory.topics
            topic = topics.by_id.get(topic_data.topic_id) if by_id else topics.by_name.get(topic_data.name)
            for data in topic_data.partition_data if topic is not None else ():
                assert topic is not None
                partition, records = directory.partitions.get(topic.topic_id, data.index), data.records
                if partition is None or records is None or len(records) < HEADER_SIZE:
                    continue
                header = parse_header(records)
                if header.is_transactional:
                    yield (topic.name, data.index), _producer_of(header)

    def check(
        self,
        place: TopicPartition,
        partition: Partition,
        header: BatchHeader,
        entry: PartitionProduceResponse,
    ) -> None:
        """Raise unless the batch's producer may write it; `entry` is told should the partition not be added after
        all."""
        addition = self._additions.get(place)
        if addition is not None:
            refusal = addition.answer.refusal
            if refusal is not None:
                raise self.told(fresh(refusal))
            addition.entries.append(entry)
            return
        producer = _producer_of(header)
        if partition.has_open_transaction(producer.producer_id, producer.epoch):
            return
        try:
            self.services.transactions.verify(self.transactional_id, producer, place)
        except BrokerError as error:
            raise self.told(error) from error

    def told(self, error: BrokerError) -> BrokerError:
        """An error of the coordinator as one that producers of this version expect."""
        if isinstance(error, _RETRIABLE):
            return NotEnoughReplicas(f"the partition cannot be added to the transaction now: {error}")
        if isinstance(error, ProducerFenced):
            return InvalidProducerEpoch(str(error))
        if isinstance(error, TransactionAbortable) and self.context.version < FIRST_ABORTABLE_VERSION:
            return InvalidTxnState(str(error))
        return error


def _producer_of(header: BatchHeader) -> ProducerIdentity:
    return ProducerIdentity(header.producer_id, header.producer_epoch)
