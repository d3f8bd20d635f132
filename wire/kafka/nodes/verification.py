"""Whether a producer may write to a partition in its transaction, wherever that is coordinated (AddPartitionsToTxn).

In a cluster a batch is appended only once its partition is durably part of the transaction, also where this node
coordinates it. On one node both reach the disk together (ADR 0008); here either may be lost without the other when a
leader fails, and nobody would end what the new coordinator never heard of.

What was found out is remembered by the partition itself: while a producer's transaction is open in it, in one epoch of
the producer, it has been asked for. Nothing else is kept, so nothing has to be forgotten in time.
"""

from collections.abc import Iterable

from attrs import define

from coordinators.background import Background
from coordinators.records.directory import PartitionDirectory
from coordinators.replication.ports import LinkBroken
from coordinators.transaction.ports import NOTHING_TO_WAIT_FOR, Inclusion
from coordinators.transaction.transaction import ProducerIdentity, TopicPartition
from coordinators.transaction.transactions import STATE_TOPIC, Transactions
from engine.deferred import Deferred
from engine.errors import BrokerError, ClusterAuthorizationFailed, CoordinatorNotAvailable
from wire.kafka.errors import broker_error
from wire.kafka.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from wire.kafka.nodes.links import SharedLinks

VERSIONS = (4, 5)


@define(eq=False)
class ClusterVerification:
    """See the module, and `TransactionVerification`."""

    transactions: Transactions
    directory: PartitionDirectory
    links: SharedLinks
    background: Background

    def knows(self, transactional_id: str, producer: ProducerIdentity, place: TopicPartition) -> bool:
        """Whether it was asked for already, in this transaction."""
        try:
            partition = self.directory.find(*place)
            is_open = partition.has_open_transaction(producer.producer_id, producer.epoch)
            # What this node coordinates it knows better: the transaction may just be ending.
            return is_open and (
                not self._is_here(self._coordinator(transactional_id))
                or self.transactions.knows(transactional_id, producer, place)
            )
        except BrokerError:
            return False

    def verify(self, transactional_id: str, producer: ProducerIdentity, place: TopicPartition) -> Deferred[None]:
        """Ask, unless that is turned off."""
        if not self.transactions.settings.verifies_partitions:
            return NOTHING_TO_WAIT_FOR
        try:
            coordinator = self._coordinator(transactional_id)
        except BrokerError as error:
            return Deferred.refused(error)
        if self._is_here(coordinator):
            return self.transactions.verify(transactional_id, producer, place)
        return self._asked(coordinator, transactional_id, producer, [place], verify_only=True)

    def add(self, transactional_id: str, producer: ProducerIdentity, places: Iterable[TopicPartition]) -> Inclusion:
        """Both are settled when the partitions are durably part of the transaction."""
        try:
            coordinator = self._coordinator(transactional_id)
        except BrokerError as error:
            added: Deferred[None] = Deferred.refused(error)
        else:
            if self._is_here(coordinator):
                added = self.transactions.add(transactional_id, producer, places).durable
            else:
                added = self._asked(coordinator, transactional_id, producer, places, verify_only=False)
        return Inclusion(added, added)

    def _coordinator(self, transactional_id: str) -> int:
        return self.transactions.internal_topics.coordinator_of(STATE_TOPIC, transactional_id)

    def _is_here(self, coordinator: int) -> bool:
        return coordinator == self.directory.topics.node_id

    def _asked(
        self,
        coordinator: int,
        transactional_id: str,
        producer: ProducerIdentity,
        places: Iterable[TopicPartition],
        *,
        verify_only: bool,
    ) -> Deferred[None]:
        if coordinator < 0 or not self.background.is_open:
            return Deferred.refused(CoordinatorNotAvailable("the transaction has no coordinator that can be asked now"))
        topics: dict[str, list[int]] = {}
        for name, index in places:
            topics.setdefault(name, []).append(index)
        asked = AddPartitionsToTxnTransaction(
            transactional_id,
            producer.producer_id,
            producer.epoch,
            verify_only,
            [AddPartitionsToTxnTopic(name, indexes) for name, indexes in topics.items()],
        )
        answer: Deferred[None] = Deferred()
        self.background.start_soon(self._ask, coordinator, AddPartitionsToTxnRequest([asked]), answer)
        return answer

    async def _ask(self, coordinator: int, request: AddPartitionsToTxnRequest, answer: Deferred[None]) -> None:
        try:
            response = await self.links.ask(coordinator, request, VERSIONS)
        except LinkBroken as error:
            answer.refuse(CoordinatorNotAvailable(f"node {coordinator}, which coordinates it: {error}"))
            return
        refusal = _refusal(request, response)
        if refusal is None:
            answer.resolve(None)
        else:
            answer.refuse(refusal)


def _refusal(request: AddPartitionsToTxnRequest, response: AddPartitionsToTxnResponse) -> BrokerError | None:
    """Why not; None only if every partition that was asked about was said to be in."""
    if response.error_code:
        error = broker_error(response.error_code)
        # Nodes that do not know each other yet: no fault of the producer.
        return CoordinatorNotAvailable(str(error)) if isinstance(error, ClusterAuthorizationFailed) else error
    codes = {
        (topic.name, each.partition_index): each.partition_error_code
        for result in response.results_by_transaction
        for topic in result.topic_results
        for each in topic.results_by_partition
    }
    for topic in request.transactions[0].topics:
        for index in topic.partitions:
            code = codes.get((topic.name, index))
            if code is None:
                return CoordinatorNotAvailable("nothing was said of the partition")
            if code:
                return broker_error(code)
    return None
