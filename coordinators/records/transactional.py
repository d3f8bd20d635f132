"""Transactional batches: each partition must be part of the producer's transaction (KIP-890).

The coordinator of the transaction is asked before anything is published: to add the partitions, or whether the producer
has added them by itself. Where this node coordinates, the answer is there at once; a coordinator on another node has to
be waited for. A partition that is being added may be written before that is durable, and the publisher is answered when
both are; should only the batch survive a power cut, it is aborted as an orphan (coordinators/transaction/orphans.py).
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

from attrs import define, field

from coordinators.records.publication import Publication
from coordinators.transaction.ports import Inclusion, TransactionVerification
from coordinators.transaction.transaction import ProducerIdentity, TopicPartition
from coordinators.waiting import result_of
from engine.errors import BrokerError, ConcurrentTransactions, OutOfOrderSequence, fresh


@define(eq=False)
class Question:
    """Partitions that the coordinator was asked about, and the batches that depend on its answer."""

    inclusion: Inclusion
    publications: list[Publication] = field(factory=list)


@define(eq=False)
class TransactionalPublishing:
    """The transactional side of what one publisher sends together."""

    verification: TransactionVerification
    transactional_id: str
    adds_partitions: bool
    """Whether the broker adds partitions that the transaction does not have yet."""
    told: Callable[[BrokerError], BrokerError]
    """A refusal of the coordinator as the publishers of this door expect it."""
    _asked: dict[TopicPartition, Question] | None = None

    @property
    def questions(self) -> list[Question]:
        """What has to be durable before the publisher is answered."""
        return list(dict.fromkeys((self._asked or {}).values()))

    def ask(self, publications: Sequence[Publication]) -> bool:
        """Ask about every partition that is not known to be part of the transaction; whether all is answered."""
        if self._asked is None:
            self._asked = {}
            unknown: dict[ProducerIdentity, list[TopicPartition]] = {}
            for publication in publications:
                if publication.batch.header.is_transactional and not self._is_known(publication):
                    unknown.setdefault(_producer(publication), []).append(_place(publication))
            for producer, places in unknown.items():
                self._ask(self._asked, producer, places)
        return all(question.inclusion.granted.settled for question in self._asked.values())

    def _ask(
        self, asked: dict[TopicPartition, Question], producer: ProducerIdentity, places: list[TopicPartition]
    ) -> None:
        if self.adds_partitions:
            question = Question(self.verification.add(self.transactional_id, producer, places))
            asked.update(dict.fromkeys(places, question))
            return
        for place in places:
            verified = self.verification.verify(self.transactional_id, producer, place)
            asked[place] = Question(Inclusion(verified, verified))

    async def ask_and_wait(self, publications: Sequence[Publication]) -> None:
        """The same, until everything is answered."""
        self.ask(publications)
        for question in self.questions:
            with suppress(BrokerError):
                await result_of(question.inclusion.granted)

    def check(self, publication: Publication) -> None:
        """Raise unless the batch's producer may write it; it is refused later should the partition not be added after
        all."""
        assert self._asked is not None, "the coordinator is asked first"
        if self.adds_partitions:
            _check_begins(publication)
        question = self._asked.get(_place(publication))
        if question is not None:
            refusal = question.inclusion.granted.refusal
            if refusal is not None:
                raise self.told(fresh(refusal))
            question.publications.append(publication)
        elif not self.adds_partitions and not self._is_known(publication):
            # It was when the coordinator could have been asked: meanwhile the batch was opened, and that took long.
            verified = self.verification.verify(self.transactional_id, _producer(publication), _place(publication))
            if verified.refusal is not None:
                raise self.told(fresh(verified.refusal))
            if not verified.settled:
                raise self.told(
                    ConcurrentTransactions("the transaction has ended meanwhile, and another may have begun")
                )

    def _is_known(self, publication: Publication) -> bool:
        header = publication.batch.header
        # A producer that adds its partitions itself has added this one before it first wrote there.
        if not self.adds_partitions and publication.partition.has_open_transaction(
            header.producer_id, header.producer_epoch
        ):
            return True
        return self.verification.knows(self.transactional_id, _producer(publication), _place(publication))


def _check_begins(publication: Publication) -> None:
    """A producer of which the partition knows nothing begins at 0, for every transaction raises its epoch (KIP-890):
    else something before this batch has not arrived."""
    header = publication.batch.header
    if header.base_sequence > 0 and not publication.partition.log.knows_producer(header.producer_id):
        raise OutOfOrderSequence(
            f"producer {header.producer_id} begins with sequence {header.base_sequence}, not 0, in a partition that "
            "knows nothing of it"
        )


def _place(publication: Publication) -> TopicPartition:
    return publication.topic.name, publication.partition.index


def _producer(publication: Publication) -> ProducerIdentity:
    header = publication.batch.header
    return ProducerIdentity(header.producer_id, header.producer_epoch)
