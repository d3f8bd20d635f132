"""Transactions that are open in a partition and unknown to their coordinator: aborted, for nobody else would end them.

They come about when a batch survives a power cut and the record that added its partition to the transaction does not,
or when that record could not be written. Neither was acknowledged. In a cluster nothing is written before that record
is durable (`wire/kafka/nodes/verification.py`), so there they do not come about; and a node that does not coordinate
every transaction cannot tell an orphan from what another node coordinates: it leaves all of them alone.
The marker raises the producer's epoch: should the producer live on, what it repeats is refused, and it cannot commit
without what was aborted.
"""

import logging
from collections.abc import Iterator

from attrs import define

from coordinators.transaction.transaction import IDLE, MAX_EPOCH, ProducerIdentity, TopicPartition
from coordinators.transaction.transactions import Transactions
from engine.errors import BrokerError
from engine.log.transactions import EndMarker

logger = logging.getLogger("tidegate.transactions")

INTERVAL_S = 5.0
"""How often somebody should sweep."""


@define(eq=False)
class Orphans:
    """Finds and aborts orphans."""

    transactions: Transactions

    def sweep(self) -> None:
        """Abort the orphans that there are now; nothing while a part of the coordinator is not loaded."""
        undecided = list(self._undecided())
        if not undecided:
            return
        try:
            known = self._known()
        except BrokerError:
            return
        for place, producer, coordinator_epoch in undecided:
            if place not in known.get(producer.producer_id, ()):
                self._abort(place, producer, coordinator_epoch)

    def _undecided(self) -> Iterator[tuple[TopicPartition, ProducerIdentity, int]]:
        controller = self.transactions.internal_topics.controller
        for topic in controller.topics.view:
            for partition in controller.partitions.of_topic(topic.topic_id):
                # Of thousands of partitions hardly any has a transaction open. What another node leads is its business.
                if (not partition.has_stage and partition.log.is_decided) or partition.offline is not None:
                    continue
                if not partition.replicas.leads:
                    continue
                for producer in partition.open_producers():
                    identity = ProducerIdentity(producer.producer_id, producer.epoch)
                    yield (topic.name, partition.index), identity, max(producer.coordinator_epoch, 0)

    def _known(self) -> dict[int, frozenset[TopicPartition]]:
        """The partitions of transactions that their coordinator will end, by producer."""
        self.transactions.check_complete()
        return {
            transaction.producer_id: transaction.partitions
            for transaction in self.transactions.list(set(), set())
            if transaction.state not in IDLE
        }

    def _abort(self, place: TopicPartition, producer: ProducerIdentity, coordinator_epoch: int) -> None:
        logger.warning("%s-%d: aborting a transaction of producer %d that nobody knows", *place, producer.producer_id)
        fenced = ProducerIdentity(producer.producer_id, min(producer.epoch + 1, MAX_EPOCH))
        self.transactions.markers.write(place, fenced, EndMarker(False, coordinator_epoch))
