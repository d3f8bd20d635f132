"""The transaction coordinator as doors and the rest of the program see it: requests in, answers or Deferreds out.

Each request goes to the shard of its transactional id and becomes an operation there. A decision to commit or abort
is answered when its markers are durable; the record that says so need not be: read without it, the same markers are
written again.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Concatenate, ParamSpec, TypeVar

from coordinators.group.groups import OFFSETS_TOPIC
from coordinators.internal_topics import InternalTopic, InternalTopics
from coordinators.producer_ids import ProducerIds
from coordinators.runtime import Runtime
from coordinators.state_machine import ShardTimers, Verdict
from coordinators.transaction.machine import TransactionMachine, TransactionSettings
from coordinators.transaction.ports import NOTHING_TO_WAIT_FOR, Inclusion, MarkerWriter
from coordinators.transaction.transaction import (
    BY_LABEL,
    V0,
    V2,
    ProducerIdentity,
    TopicPartition,
    Transaction,
    TransactionState,
)
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.deferred import Deferred
from engine.errors import (
    BrokerError,
    CoordinatorLoadInProgress,
    InvalidRequest,
    InvalidTransactionTimeout,
    PolicyViolation,
    TransactionalIdAuthorizationFailed,
)
from engine.timers import Timers
from engine.workers import Workers

STATE_TOPIC = "__transaction_state"
FORGOTTEN_SHARE = 16
"""One of so many transactional ids of a shard goes when there are too many, so that not every new one has to look."""
LOOK_AGAIN_S = 1.0

P = ParamSpec("P")
R = TypeVar("R")


class Transactions:
    """All transactional ids that this node coordinates."""

    def __init__(
        self,
        internal_topics: InternalTopics,
        producer_ids: ProducerIds,
        markers: MarkerWriter,
        settings: BrokerSettings,
        clock: Clock,
        timers: Timers,
        workers: Workers,
    ) -> None:
        self.internal_topics = internal_topics
        self.markers = markers
        self.settings = TransactionSettings.of(settings)
        self.clock = clock
        self.runtime: Runtime[TransactionMachine] = Runtime(STATE_TOPIC, self._new_machine, clock, timers, workers)
        self._producer_ids = producer_ids
        self._full_until = 0.0
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(settings.integer("transaction.state.log.min.isr")),
            "segment.bytes": str(settings.integer("transaction.state.log.segment.bytes")),
        }
        count = settings.integer("transaction.state.log.num.partitions")
        factor_key = "transaction.state.log.replication.factor"
        internal_topics.add(InternalTopic(STATE_TOPIC, count, configs, self.runtime, factor_key))

    def _new_machine(self, index: int, leader_epoch: int, timers: ShardTimers[Any]) -> TransactionMachine:
        def note_written(decided: Transaction) -> None:
            self.runtime.run(index, TransactionMachine.complete, decided)

        return TransactionMachine(
            timers, self.clock, self.settings, self._take_id, self.markers, leader_epoch, note_written
        )

    def _take_id(self) -> int:
        producer_id = self._producer_ids.take()
        if producer_id is None:
            raise CoordinatorLoadInProgress("producer ids are being reserved")
        return producer_id

    # -- producers

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdentity | None
    ) -> Deferred[ProducerIdentity]:
        """The identity under which the producer writes from now on."""
        if not 0 < timeout_ms <= self.settings.max_timeout_ms:
            return Deferred.refused(
                InvalidTransactionTimeout(
                    f"a transaction timeout of {timeout_ms} ms: 1 to {self.settings.max_timeout_ms} are taken"
                )
            )

        def operation(shard: TransactionMachine, transactional_id: str) -> Verdict[ProducerIdentity]:
            if transactional_id not in shard.transactions:
                self._make_room()
            return shard.init_producer_id(transactional_id, timeout_ms, expected)

        return self._run(transactional_id, operation)

    def _make_room(self) -> None:
        """For one more transactional id: those that nobody has used for longest are forgotten."""
        most, sizes = self.settings.max_transactional_ids, {}
        for index, machine in self.runtime.loaded():
            sizes[index] = len(machine.transactions)
        if sum(sizes.values()) < most:
            return
        if self.clock.monotonic() >= self._full_until:
            for index in sorted(sizes, key=lambda index: -sizes[index]):
                self.runtime.run(index, TransactionMachine.forget_oldest, FORGOTTEN_SHARE)
                if len(self.runtime.machine(index).transactions) < sizes[index]:
                    return
            # Looking through all of them takes a while: not for everybody who asks.
            self._full_until = self.clock.monotonic() + LOOK_AGAIN_S
        raise PolicyViolation(
            f"max.transactional.ids={most} transactional ids are known, and all of them are in use or were a while ago"
        )

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Iterable[TopicPartition],
        version: int = V0,
    ) -> Deferred[None]:
        """None once the partitions are durably part of the transaction."""
        added = frozenset(partitions)
        return self._run(transactional_id, TransactionMachine.add_partitions, producer, added, version)

    def add_offsets(
        self, transactional_id: str, producer: ProducerIdentity, group_id: str, version: int = V0
    ) -> Deferred[None]:
        """The same for the partition in which a group keeps its offsets."""
        try:
            place = OFFSETS_TOPIC, self.internal_topics.shard_of(OFFSETS_TOPIC, group_id)
        except BrokerError as error:
            return Deferred.refused(error)
        return self.add_partitions(transactional_id, producer, [place], version)

    # -- what leaders of partitions ask (see `TransactionVerification`)

    def knows(self, transactional_id: str, producer: ProducerIdentity, place: TopicPartition) -> bool:
        """Whether the partition is part of the producer's transaction; False where that cannot be told."""
        if self.runtime.is_doubtful:
            return False
        try:
            self._verify(transactional_id, producer, place)
        except BrokerError:
            return False
        return True

    def verify(self, transactional_id: str, producer: ProducerIdentity, place: TopicPartition) -> Deferred[None]:
        """Refused unless the partition is part of the producer's transaction."""
        if self.settings.verifies_partitions:
            if self.runtime.is_doubtful:
                return self._run(transactional_id, _verified, producer, place)
            try:
                self._verify(transactional_id, producer, place)
            except BrokerError as error:
                return Deferred.refused(error)
        return NOTHING_TO_WAIT_FOR

    def add(self, transactional_id: str, producer: ProducerIdentity, places: Iterable[TopicPartition]) -> Inclusion:
        """Add partitions. The shard counts them as added at once: whoever refuses does so before this returns."""
        added = self.add_partitions(transactional_id, producer, places, V2)
        return Inclusion(added if added.refusal is not None else NOTHING_TO_WAIT_FOR, added)

    def _verify(self, transactional_id: str, producer: ProducerIdentity, place: TopicPartition) -> None:
        self.runtime.machine(self._shard(transactional_id)).verify(transactional_id, producer, place)

    # -- endings

    def end(
        self, transactional_id: str, producer: ProducerIdentity, *, commit: bool, version: int = V0
    ) -> Deferred[ProducerIdentity]:
        """The ProducerIdentity to go on with, once the transaction has ended so."""
        return self._run(transactional_id, TransactionMachine.end, producer, commit=commit, version=version)

    # -- administration

    def describe(self, transactional_id: str) -> Deferred[Transaction]:
        """What is known of a transactional id."""
        return self._run(transactional_id, TransactionMachine.describe)

    def list(
        self, states: set[str], producer_ids: set[int], running_ms: int = -1, pattern: re.Pattern[str] | None = None
    ) -> list[Transaction]:
        """The transactional ids of this node that match all filters that are given; `CoordinatorLoadInProgress` while
        some are not known yet."""
        wanted = {BY_LABEL[name] for name in states if name in BY_LABEL}
        now_ms = self.clock.now_ms()
        return [
            transaction
            for machine in self.runtime.all_machines()
            for transaction in machine.transactions.values()
            if transaction.state is not TransactionState.DEAD
            and (not states or transaction.state in wanted)
            and (not producer_ids or transaction.producer_id in producer_ids)
            and (running_ms < 0 or now_ms - transaction.started_ms > running_ms)
            and (pattern is None or pattern.fullmatch(transaction.transactional_id))
        ]

    def check_complete(self) -> None:
        """Raise unless this node coordinates every transactional id that there is, and knows all of them."""
        topic = self.internal_topics.controller.topics.by_name.get(STATE_TOPIC)
        for index in range(topic.partition_count if topic is not None else 0):
            self.runtime.machine(index)

    def statistics(self) -> dict[str, int]:
        """Transactional ids by their state."""
        total: dict[str, int] = {}
        for machine in self.runtime.machines():
            for transaction in machine.transactions.values():
                total[transaction.state.label] = total.get(transaction.state.label, 0) + 1
        return total

    # -- internals

    def _shard(self, transactional_id: str) -> int:
        return self.internal_topics.shard_of(STATE_TOPIC, transactional_id)

    def _run(
        self,
        transactional_id: str,
        operation: Callable[Concatenate[TransactionMachine, str, P], Verdict[R]],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> Deferred[R]:
        if not transactional_id:
            return Deferred.refused(InvalidRequest("a transactional id may not be empty"))
        if "\0" in transactional_id:
            # What stands behind a NUL is outside the namespace of the tenant that asks (wire/kafka/tenancy/view.py).
            reason = "this transactional id is not within the tenant's namespace"
            return Deferred.refused(TransactionalIdAuthorizationFailed(reason))
        try:
            index = self._shard(transactional_id)
        except BrokerError as error:
            return Deferred.refused(error)
        return self.runtime.run(index, operation, transactional_id, *arguments, **options)


def _verified(
    shard: TransactionMachine, transactional_id: str, producer: ProducerIdentity, place: TopicPartition
) -> Verdict[None]:
    shard.verify(transactional_id, producer, place)
    return Verdict()
