"""Carrying a decision out: a marker in every partition of the transaction, until each is durable.

A marker that cannot be written now is tried again, for as long as the decision stands; the pauses grow, and each try
looks for the partition's leader anew. Before each it is asked whether the decision still stands: a marker that came
after the producer has begun its next transaction would end the wrong one.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from attrs import define, field

from coordinators.records.directory import PartitionDirectory
from coordinators.state_machine import ShardTimers, Verdict
from coordinators.transaction.ports import MarkerWriter
from coordinators.transaction.transaction import V2, ProducerIdentity, TopicPartition, Transaction
from engine.clock import Clock
from engine.deferred import Deferred
from engine.errors import (
    BrokerError,
    InvalidProducerEpoch,
    TransactionCoordinatorFenced,
    UnknownTopicOrPartition,
)
from engine.log.transactions import EndMarker

logger = logging.getLogger("tidegate.transactions")

DURABLE_WITHIN_S = 30.0
RETRY_MS = 100
LONGEST_RETRY_MS = 5_000
TELL_S = 60.0
ANY_EPOCH = -1
"""Where it does not matter in which epoch the partition is led."""


@define(eq=False)
class LocalMarkers:
    """Writes markers into the partitions that this node leads."""

    directory: PartitionDirectory
    clock: Clock

    def write(
        self, place: TopicPartition, producer: ProducerIdentity, marker: EndMarker, leader_epoch: int = ANY_EPOCH
    ) -> Deferred[None]:
        """See `MarkerWriter`; `NotLeader` for a partition that another node leads, `StaleLeader` or
        `UnknownLeaderEpoch` where it is led in another epoch than whoever asks means."""
        deadline = self.clock.monotonic() + DURABLE_WITHIN_S
        try:
            partition = self.directory.find(*place)
            partition.check_leader_epoch(leader_epoch)
            return partition.end_transaction(
                producer.producer_id, producer.epoch, marker, now_ms=self.clock.now_ms(), deadline=deadline
            )
        except BrokerError as error:
            return Deferred.refused(error)


class DecidingShard(Protocol):
    """The shard whose decision is carried out."""

    clock: Clock
    timers: ShardTimers[Any]
    markers: MarkerWriter
    coordinator_epoch: int
    note_written: Callable[[Transaction], object]
    """Told when every partition has its marker."""

    def stands(self, decided: Transaction) -> bool:
        """Whether the decision is still to be carried out."""
        ...


@define(eq=False)
class MarkerWriting:
    """One decision that is being carried out. `answer` is the identity with which the producer goes on: given when all
    markers are durable, or when one could not be written, for the decision is certain all the same."""

    shard: DecidingShard
    decided: Transaction
    answer: Deferred[ProducerIdentity] = field(factory=Deferred, init=False)
    _missing: set[TopicPartition] = field(factory=set, init=False)
    _pauses_ms: dict[TopicPartition, int] = field(factory=dict, init=False)
    _told_at: float = field(default=-TELL_S, init=False)

    def begin(self, error: BrokerError | None = None) -> None:
        """The decision is durable. If it could not be written the shard is loaded again, and finds out what holds."""
        if error is not None:
            return
        self._missing = set(self.decided.partitions)
        for place in sorted(self._missing):
            self._write(place)
        if not self.decided.partitions:
            self._finish()

    def _write(self, place: TopicPartition) -> None:
        decided = self.decided
        producer = ProducerIdentity(decided.producer_id, decided.epoch)
        marker = EndMarker(decided.committed, self.shard.coordinator_epoch, raises_epoch=decided.version >= V2)
        written = self.shard.markers.write(place, producer, marker)
        written.when_settled(partial(self._settled, place), partial(self._refused, place))

    def _refused(self, place: TopicPartition, error: BrokerError) -> None:
        if isinstance(error, InvalidProducerEpoch | TransactionCoordinatorFenced):
            logger.warning("%s-%d needs no marker of %r: %s", *place, self.decided.transactional_id, error)
            self._settled(place)
        elif isinstance(error, UnknownTopicOrPartition):
            self._settled(place)
        else:
            self._try_later(place, error)

    def _settled(self, place: TopicPartition, _: None = None) -> None:
        self._missing.discard(place)
        if not self._missing:
            self._finish()

    def _finish(self) -> None:
        # Noted before the answer: the producer's next request must find its transaction completed.
        self.shard.note_written(self.decided)
        self.answer.resolve(self.decided.identity)

    def _try_later(self, place: TopicPartition, error: BrokerError) -> None:
        now = self.shard.clock.monotonic()
        if now - self._told_at >= TELL_S:
            self._told_at = now
            logger.warning("%s-%d has no marker of %r yet: %s", *place, self.decided.transactional_id, error)
        self.answer.resolve(self.decided.identity)
        # The longer it lasts the seldomer it is tried: a full disk stays full for a while.
        pause_ms = self._pauses_ms.get(place, RETRY_MS)
        self._pauses_ms[place] = min(2 * pause_ms, LONGEST_RETRY_MS)
        key = ("marker", self.decided.transactional_id, place)
        self.shard.timers.set(key, pause_ms, lambda shard: self._try_again(shard, place))

    def _try_again(self, shard: DecidingShard, place: TopicPartition) -> Verdict[None]:
        if shard.stands(self.decided):
            self._write(place)
        return Verdict()
