"""Carrying a decision out: a marker in every partition of the transaction, until each is durable.

What cannot be written now is tried again, for as long as the decision stands. Before each try it is asked whether it
still does: a marker that comes late, after the producer has begun anew, would end the wrong transaction.
"""

import logging
from collections.abc import Callable

from attrs import define, field

from coordinators.topics import Topics
from coordinators.transaction.transaction import TopicPartition, Transaction
from engine.clock import Clock
from engine.errors import (
    BrokerError,
    InvalidProducerEpoch,
    TransactionCoordinatorFenced,
    UnknownTopicOrPartition,
)
from engine.log.transactions import EndMarker
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from engine.timers import Timers

logger = logging.getLogger("tidegate.transactions")

Done = Callable[[BrokerError | None], object]

DURABLE_WITHIN_S = 30.0
RETRY_S = 0.1
LONGEST_RETRY_S = 5.0
TELL_S = 60.0


@define(eq=False)
class MarkerTargets:
    """The partitions that markers go to."""

    topics: Topics
    partitions: Partitions
    clock: Clock

    def find(self, place: TopicPartition) -> Partition:
        """The partition, if it exists."""
        topic = self.topics.by_name.get(place[0])
        partition = self.partitions.get(topic.topic_id, place[1]) if topic is not None else None
        if partition is None:
            raise UnknownTopicOrPartition(f"there is no partition {place[0]}-{place[1]}")
        return partition

    def append(self, place: TopicPartition, producer_id: int, epoch: int, marker: EndMarker, done: Done) -> None:
        """Write a marker; `done` is called once it is durable, or with why it will not be. Raises if it is refused."""
        partition = self.find(place)
        deadline = self.clock.monotonic() + DURABLE_WITHIN_S
        ended = partition.end_transaction(producer_id, epoch, marker, now_ms=self.clock.now_ms(), deadline=deadline)
        ended.when_settled(done, done)


@define(eq=False)
class MarkerWriting:
    """One decision that is being carried out."""

    targets: MarkerTargets
    timers: Timers
    clock: Clock
    decided: Transaction
    coordinator_epoch: int
    still_stands: Callable[[], bool]
    done: Callable[[], object]
    delayed: Callable[[], object]
    _waiting: set[TopicPartition] = field(factory=set, init=False)
    _pauses_s: dict[TopicPartition, float] = field(factory=dict, init=False)
    _told_at: float = field(default=-TELL_S, init=False)

    def start(self) -> None:
        """Write all markers; `done` is called when they are durable, `delayed` if that will take longer."""
        self._waiting = set(self.decided.partitions)
        self._write(sorted(self._waiting))

    def _write(self, places: list[TopicPartition]) -> None:
        if not self.still_stands():
            return
        for place in places:
            self._write_one(place)
        if not places:
            self.done()

    def _write_one(self, place: TopicPartition) -> None:
        decided = self.decided
        marker = EndMarker(decided.committed, self.coordinator_epoch)

        def ended(error: BrokerError | None) -> None:
            if error is None or isinstance(error, UnknownTopicOrPartition):
                self._settled(place)
            elif isinstance(error, InvalidProducerEpoch | TransactionCoordinatorFenced):
                logger.warning("%s-%d needs no marker of %r: %s", *place, decided.transactional_id, error)
                self._settled(place)
            else:
                self._try_again(place, error)

        try:
            self.targets.append(place, decided.producer_id, decided.epoch, marker, ended)
        except BrokerError as error:
            ended(error)

    def _settled(self, place: TopicPartition) -> None:
        self._waiting.discard(place)
        if not self._waiting:
            self.done()

    def _try_again(self, place: TopicPartition, error: BrokerError) -> None:
        now = self.clock.monotonic()
        if now - self._told_at >= TELL_S:
            self._told_at = now
            logger.warning("%s-%d has no marker of %r yet: %s", *place, self.decided.transactional_id, error)
        self.delayed()
        # The longer it lasts the seldomer it is tried: a full disk stays full for a while.
        pause_s = self._pauses_s.get(place, RETRY_S)
        self._pauses_s[place] = min(2 * pause_s, LONGEST_RETRY_S)
        self.timers.call_at(now + pause_s, lambda: self._write([place]))
