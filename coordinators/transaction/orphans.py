"""Transactions that are open in a partition and unknown to their coordinator: aborted, for nobody else would end them.

They come about when a batch survives a power cut and the record that added its partition to the transaction does not,
or when that record could not be written. Neither was acknowledged. In a cluster nothing is written before that record
is durable (`wire/kafka/nodes/verification.py`); there they come about when a coordinator has lost what it knew, by an
unclean election or a deleted topic, or when partitions are not verified. What this node does not coordinate another one
may: so all coordinators are asked, and only about what has been open for longer than any transaction may take. Nobody
can tell at an instant who coordinates, so it has to be unknown twice in a row.
The marker raises the producer's epoch: should the producer live on, what it repeats is refused, and it cannot commit
without what was aborted.
"""

import logging
from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from attrs import define, field, frozen

from coordinators.transaction.transaction import IDLE, MAX_EPOCH, ProducerIdentity, TopicPartition
from coordinators.transaction.transactions import Transactions
from engine.errors import BrokerError
from engine.log.producer_state import ProducerInfo
from engine.log.transactions import EndMarker

logger = logging.getLogger("tidegate.transactions")

INTERVAL_S = 5.0
"""How often somebody should look."""
GRACE_S = 60.0
"""So much longer than its time may a transaction be open until its coordinator has aborted it."""

Known = Mapping[int, frozenset[TopicPartition]]
"""Partitions by producer."""


class Coordinators(Protocol):
    """Those on all nodes."""

    async def known(self, producer_ids: Collection[int]) -> Known | None:
        """The partitions of these producers' transactions that a coordinator will end; None if one of them could not be
        asked, or has changed meanwhile."""
        ...


@frozen
class UndecidedTransaction:
    """A transaction that a partition has and that has not ended there."""

    place: TopicPartition
    producer: ProducerInfo

    @property
    def key(self) -> tuple[TopicPartition, int, int]:
        """What tells it from others, before and after it."""
        return self.place, self.producer.producer_id, self.producer.transaction_start_offset


@define(eq=False)
class Orphans:
    """Finds and aborts orphans."""

    transactions: Transactions
    coordinators: Coordinators | None = None
    """Where other nodes coordinate, too."""
    _since: dict[tuple[TopicPartition, int, int], float] = field(factory=dict, init=False)
    """When each of those that are open was first seen."""
    _suspected: set[tuple[TopicPartition, int, int]] = field(factory=set, init=False)
    """Those that nobody knew of the last time."""

    async def look(self) -> None:
        """Abort the orphans that there are, as far as can be told."""
        if self.coordinators is None:
            self.sweep()
        else:
            await self._sweep_cluster(self.coordinators)

    async def _sweep_cluster(self, coordinators: Coordinators) -> None:
        old = self._old()
        if not old:
            self._suspected = set()
            return
        known = await coordinators.known({each.producer.producer_id for each in old})
        if known is None:
            return
        still_open = {each.key for each in self._undecided()}
        unknown = [
            each
            for each in old
            if each.key in still_open and each.place not in known.get(each.producer.producer_id, ())
        ]
        for each in unknown:
            if each.key in self._suspected:
                self._abort(each)
        self._suspected = {each.key for each in unknown}

    def _old(self) -> list[UndecidedTransaction]:
        """Those that have been open, on this leader, for longer than a coordinator lets any."""
        now = self.transactions.clock.monotonic()
        undecided = list(self._undecided())
        self._since = {each.key: self._since.get(each.key, now) for each in undecided}
        longest_s = self.transactions.settings.max_timeout_ms / 1000 + GRACE_S
        return [each for each in undecided if now - self._since[each.key] >= longest_s]

    def sweep(self) -> None:
        """Abort the orphans that there are now; nothing while a part of the coordinator is not loaded."""
        undecided = list(self._undecided())
        if not undecided:
            return
        try:
            known = self._known()
        except BrokerError:
            return
        for each in undecided:
            if each.place not in known.get(each.producer.producer_id, ()):
                self._abort(each)

    def _undecided(self) -> Iterator[UndecidedTransaction]:
        controller = self.transactions.internal_topics.controller
        for topic in controller.topics.view:
            for partition in controller.partitions.of_topic(topic.topic_id):
                # Of thousands of partitions hardly any has a transaction open. What another node leads is its business.
                if (not partition.has_stage and partition.log.is_decided) or partition.offline is not None:
                    continue
                if not partition.replicas.leads:
                    continue
                for producer in partition.open_producers():
                    yield UndecidedTransaction((topic.name, partition.index), producer)

    def _known(self) -> Known:
        """The partitions of transactions that their coordinator will end, by producer."""
        self.transactions.check_complete()
        return known_here(self.transactions, set())

    def _abort(self, orphan: UndecidedTransaction) -> None:
        place, producer = orphan.place, orphan.producer
        logger.warning("%s-%d: aborting a transaction of producer %d that nobody knows", *place, producer.producer_id)
        fenced = ProducerIdentity(producer.producer_id, min(producer.epoch + 1, MAX_EPOCH))
        self.transactions.markers.write(place, fenced, EndMarker(False, max(producer.coordinator_epoch, 0)))


def known_here(transactions: Transactions, producer_ids: set[int]) -> Known:
    """What this node coordinates of these producers, all if none is named; raises while a part of it is not loaded."""
    return {
        each.producer_id: each.partitions for each in transactions.list(set(), producer_ids) if each.state not in IDLE
    }
