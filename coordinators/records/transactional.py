"""Transactional batches: each partition must be part of the producer's transaction (KIP-890).

Some publishers add the partitions to their transaction by themselves; for others that is done here. It is written
before the batch and answered when both are durable; should only the batch survive a power cut, it is aborted as an
orphan (coordinators/transaction/orphans.py). For the former the coordinator is asked whether they added the partition,
unless it already holds records of the open transaction.
"""

from collections.abc import Callable, Sequence

from attrs import define, field

from coordinators.records.publication import Publication
from coordinators.transaction.transaction import V2, ProducerIdentity, TopicPartition
from coordinators.transaction.transactions import Transactions
from engine.deferred import Deferred
from engine.errors import BrokerError, fresh
from engine.records.layout import BatchHeader


@define(eq=False)
class Addition:
    """Partitions that are being added, and the batches that depend on it."""

    answer: Deferred[None]
    publications: list[Publication] = field(factory=list)


@define(eq=False)
class TransactionalPublishing:
    """The transactional side of what one publisher sends together."""

    transactions: Transactions
    transactional_id: str
    adds_partitions: bool
    """Whether the broker adds partitions that the transaction does not have yet."""
    told: Callable[[BrokerError], BrokerError]
    """A refusal of the coordinator as the publishers of this door expect it."""
    _additions: dict[TopicPartition, Addition] = field(factory=dict)

    @property
    def additions(self) -> list[Addition]:
        """What has to be durable before the publisher is answered."""
        return list(dict.fromkeys(self._additions.values()))

    def begin(self, publications: Sequence[Publication]) -> None:
        """Add the partitions that the transaction does not have yet, where that is up to the broker."""
        if not self.adds_partitions:
            return
        missing: dict[ProducerIdentity, list[TopicPartition]] = {}
        for publication in publications:
            header = publication.batch.header
            if header.is_transactional:
                place, producer = _place(publication), _producer_of(header)
                if not self.transactions.is_added(self.transactional_id, producer, place):
                    missing.setdefault(producer, []).append(place)
        for producer, places in missing.items():
            answer = self.transactions.add_partitions(self.transactional_id, producer, places, V2)
            self._additions.update(dict.fromkeys(places, Addition(answer)))

    def check(self, publication: Publication) -> None:
        """Raise unless the batch's producer may write it; it is refused later should the partition not be added after
        all."""
        place = _place(publication)
        addition = self._additions.get(place)
        if addition is not None:
            refusal = addition.answer.refusal
            if refusal is not None:
                raise self.told(fresh(refusal))
            addition.publications.append(publication)
            return
        producer = _producer_of(publication.batch.header)
        if publication.partition.has_open_transaction(producer.producer_id, producer.epoch):
            return
        try:
            self.transactions.verify(self.transactional_id, producer, place)
        except BrokerError as error:
            raise self.told(error) from error


def _place(publication: Publication) -> TopicPartition:
    return publication.topic.name, publication.partition.index


def _producer_of(header: BatchHeader) -> ProducerIdentity:
    return ProducerIdentity(header.producer_id, header.producer_epoch)
