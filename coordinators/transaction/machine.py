"""The state of one partition of `__transaction_state`: its transactional ids, and the operations on them.

Hard state is `transactions`. Soft are the timer for overdue transactions, the one for forgotten ids, and the decisions
that are being carried out.

A transaction ends in three durable steps: the decision (a record here), a marker in every partition (`markers.py`), and
the completion (a record here again). Whoever decides returns the record with a `MarkerWriting` that begins when the
record is durable; it calls `note_written`, which has the completion written. A shard that is loaded begins again with
every decision that it finds without its completion.
"""

import logging
from collections.abc import Callable
from functools import partial
from heapq import nsmallest
from typing import Any

from attrs import define, field, frozen

from coordinators.state_machine import Record, ShardTimers, Verdict
from coordinators.transaction import formats
from coordinators.transaction.endings import Ending, completed, fenced, judge, prepared
from coordinators.transaction.identities import TakeId, begun, check_expected, renewed
from coordinators.transaction.markers import MarkerWriting
from coordinators.transaction.ports import MarkerWriter
from coordinators.transaction.transaction import (
    IDLE,
    PREPARED,
    ProducerIdentity,
    TopicPartition,
    Transaction,
    TransactionState,
)
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.errors import (
    BrokerError,
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    ProducerFenced,
    TransactionAbortable,
    TransactionalIdNotFound,
)

logger = logging.getLogger("tidegate.transactions")

LATE_MS = 1
"""A transaction may use up its timeout to the last millisecond."""

ABORT_AGAIN_MS = 1_000
COMPLETE_AGAIN_MS = 100

Complete = Callable[[Transaction], object]
"""Has `TransactionMachine.complete` run by the shard as it is then, which may have been loaded again."""


@frozen
class TransactionSettings:
    """Kafka's keys `transaction*`; the defaults are Kafka's."""

    max_timeout_ms: int = 900_000
    expiration_ms: int = 7 * 24 * 3_600_000
    expiration_check_interval_ms: int = 3_600_000
    verifies_partitions: bool = True
    max_transactional_ids: int = 100_000

    @classmethod
    def of(cls, settings: BrokerSettings) -> "TransactionSettings":
        """What the broker's configuration says."""
        return cls(
            max_timeout_ms=settings.integer("transaction.max.timeout.ms"),
            expiration_ms=settings.integer("transactional.id.expiration.ms"),
            expiration_check_interval_ms=settings.integer("transaction.remove.expired.transaction.cleanup.interval.ms"),
            max_transactional_ids=settings.integer("max.transactional.ids"),
            verifies_partitions=settings.flag("transaction.partition.verification.enable"),
        )


@define(eq=False)
class TransactionMachine:
    """A shard. `coordinator_epoch` is the leader epoch of its partition, which partitions remember with each marker."""

    timers: ShardTimers[Any]
    clock: Clock
    settings: TransactionSettings
    take_id: TakeId
    markers: MarkerWriter
    coordinator_epoch: int
    note_written: Complete
    transactions: dict[str, Transaction] = field(factory=dict, init=False)
    _ongoing: dict[str, int] = field(factory=dict, init=False)
    _next_check_ms: int | None = field(default=None, init=False)
    _unopened: dict[str, bytes | None] = field(factory=dict, init=False)
    _live: bool = field(default=False, init=False)

    # -- replay

    def replays_at(self, _base_offset: int) -> None:
        """Compaction frees what is not needed any more, wherever it lies."""

    def replay(self, record: Record, _producer_id: int) -> None:
        """Apply a record."""
        if isinstance(record, formats.StateRecord) and self._live:
            self._replace(record.transaction)
            return
        transactional_id = formats.decode_key(record.key)
        if transactional_id is None:
            logger.warning("passed over a record whose key is of a later version")
            return
        if self._live:
            self._apply(transactional_id, record.value)
        else:
            # Of the many records of an id only the last one counts: the others need not be opened.
            self._unopened[transactional_id] = record.value

    def _apply(self, transactional_id: str, value: bytes | None) -> None:
        if value is None:
            self._ongoing.pop(transactional_id, None)
            self.transactions.pop(transactional_id, None)
            return
        self._replace(formats.decode_value(transactional_id, value))

    def _replace(self, transaction: Transaction) -> None:
        transactional_id = transaction.transactional_id
        self._ongoing.pop(transactional_id, None)
        self.transactions[transactional_id] = transaction
        if transaction.state is TransactionState.ONGOING:
            self._ongoing[transactional_id] = transaction.deadline_ms
            self._check_by(transaction.deadline_ms)

    def open_all(self) -> None:
        """Everything was replayed: from now on each record is applied at once."""
        for transactional_id, value in self._unopened.items():
            self._apply(transactional_id, value)
        self._unopened = {}
        self._live = True

    def replay_marker(self, _producer_id: int, _committed: bool) -> None:
        """Nobody writes to this topic in a transaction."""

    def nothing(self) -> Record:
        """No transactional id is empty."""
        return formats.tombstone("")

    def loaded(self) -> None:
        """Carry out what was decided before, and see to what is overdue."""
        self.open_all()
        if self._ongoing:
            self._check_by(min(self._ongoing.values()))
        for transaction in tuple(self.transactions.values()):
            if transaction.state in PREPARED:
                MarkerWriting(self, transaction).begin()
        self._expire_later()

    def unloaded(self) -> None:
        """Who waits for a decision to be carried out is answered by whoever carries it out."""

    # -- operations

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdentity | None
    ) -> Verdict[ProducerIdentity]:
        """The producer's identity; a transaction that is open is aborted first, and the client asks again."""
        now_ms = self.clock.now_ms()
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            return _write(begun(transactional_id, timeout_ms, now_ms, self.take_id))
        check_expected(transaction, expected)
        if transaction.state in PREPARED:
            raise _concurrent(transaction)
        if transaction.state is TransactionState.ONGOING:
            writing = MarkerWriting(self, fenced(transaction, now_ms))
            refusal = _concurrent(transaction)
            return Verdict([formats.record(writing.decided)], completions=[writing.begin], refusal=refusal)
        return _write(renewed(transaction, timeout_ms, expected, now_ms, self.take_id))

    def add_partitions(
        self, transactional_id: str, producer: ProducerIdentity, partitions: frozenset[TopicPartition], version: int
    ) -> Verdict[None]:
        """The partitions are part of the transaction, which begins with its first."""
        transaction = self._writable(transactional_id, producer)
        if transaction.state is TransactionState.ONGOING and partitions <= transaction.partitions:
            return Verdict()
        now_ms = self.clock.now_ms()
        ongoing = transaction.state is TransactionState.ONGOING
        added = transaction.to(
            TransactionState.ONGOING,
            now_ms,
            partitions=transaction.partitions | partitions if ongoing else partitions,
            started_ms=transaction.started_ms if ongoing else now_ms,
            version=version,
        )
        return Verdict([formats.record(added)])

    def verify(self, transactional_id: str, producer: ProducerIdentity, partition: TopicPartition) -> None:
        """Raise unless the partition is part of the producer's transaction (KIP-890, part 1)."""
        transaction = self._writable(transactional_id, producer)
        if transaction.state is not TransactionState.ONGOING or partition not in transaction.partitions:
            raise TransactionAbortable(f"{partition[0]}-{partition[1]} was not added to {transactional_id!r}")

    def end(
        self, transactional_id: str, producer: ProducerIdentity, *, commit: bool, version: int
    ) -> Verdict[ProducerIdentity]:
        """The identity to go on with, when every partition knows the end."""
        transaction = self._existing(transactional_id)
        if judge(transaction, producer, commit=commit, version=version) is Ending.DONE_BEFORE:
            return Verdict(response=transaction.identity)
        decided = prepared(
            transaction, commit=commit, version=version, now_ms=self.clock.now_ms(), take_id=self.take_id
        )
        writing = MarkerWriting(self, decided)
        return Verdict([formats.record(decided)], writing.answer, [writing.begin])

    def describe(self, transactional_id: str) -> Verdict[Transaction]:
        """What is known of it."""
        transaction = self.transactions.get(transactional_id)
        if transaction is None or transaction.state is TransactionState.DEAD:
            raise TransactionalIdNotFound(f"nothing is known of {transactional_id!r}")
        return Verdict(response=transaction)

    # -- carrying decisions out

    def stands(self, decided: Transaction) -> bool:
        """Whether the decision is still to be carried out."""
        return self.transactions.get(decided.transactional_id) == decided

    def complete(self, decided: Transaction) -> Verdict[None]:
        """Every partition has its marker: write the completion, unless that was done before. Nobody waits for it;
        without it the same markers would be written again, which changes nothing."""
        if not self.stands(decided):
            return Verdict()
        record = formats.record(completed(decided, self.clock.now_ms()))
        return Verdict([record], completions=[partial(self._completed, decided)])

    def _completed(self, decided: Transaction, error: BrokerError | None) -> None:
        if error is not None:
            key = ("completion", decided.transactional_id)
            self.timers.set(key, COMPLETE_AGAIN_MS, lambda shard: shard.complete(decided))

    # -- internals

    def _existing(self, transactional_id: str) -> Transaction:
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            raise InvalidProducerIdMapping(f"{transactional_id!r} has no producer id")
        return transaction

    def _writable(self, transactional_id: str, producer: ProducerIdentity) -> Transaction:
        """The producer's own transactional id, unless it is just being completed."""
        transaction = self._existing(transactional_id)
        if transaction.state in PREPARED:
            # First of all: while it is completed, the producer may already know its next identity.
            raise _concurrent(transaction)
        if transaction.producer_id != producer.producer_id:
            raise InvalidProducerIdMapping(
                f"{transactional_id!r} belongs to producer {transaction.producer_id}, not to {producer.producer_id}"
            )
        if transaction.epoch != producer.epoch:
            raise ProducerFenced(
                f"producer {producer.producer_id} comes with epoch {producer.epoch}, its latest is {transaction.epoch}"
            )
        return transaction

    # -- time

    def _check_by(self, deadline_ms: int) -> None:
        """Have overdue transactions looked for when this one is due."""
        if not self._live or (self._next_check_ms is not None and self._next_check_ms <= deadline_ms):
            return
        self._next_check_ms = deadline_ms
        delay_ms = max(deadline_ms + LATE_MS - self.clock.now_ms(), 0)
        self.timers.set("overdue", delay_ms, lambda machine: machine.abort_overdue())

    def abort_overdue(self) -> Verdict[None]:
        """Abort what has taken too long; its producer is fenced."""
        self._next_check_ms = None
        now_ms = self.clock.now_ms()
        overdue = [key for key, deadline_ms in self._ongoing.items() if deadline_ms < now_ms]
        remaining = [deadline_ms for deadline_ms in self._ongoing.values() if deadline_ms >= now_ms]
        if remaining:
            self._check_by(min(remaining))
        if not overdue:
            return Verdict()
        logger.info("aborting %d transactions that took longer than their timeout", len(overdue))
        # Should it not be possible to write that down now, it is tried again.
        self._check_by(now_ms + ABORT_AGAIN_MS)
        writings = [MarkerWriting(self, fenced(self.transactions[key], now_ms)) for key in overdue]
        records = [formats.record(writing.decided) for writing in writings]
        return Verdict(records, completions=[writing.begin for writing in writings])

    def _expire_later(self) -> None:
        interval_ms = self.settings.expiration_check_interval_ms
        self.timers.set("expiration", interval_ms, lambda machine: machine.expire())

    def expire(self) -> Verdict[None]:
        """Forget transactional ids that nobody has used for long."""
        self._expire_later()
        latest_ms = self.clock.now_ms() - self.settings.expiration_ms
        return Verdict(
            [
                formats.tombstone(transaction.transactional_id)
                for transaction in self.transactions.values()
                if transaction.state in IDLE and transaction.updated_ms <= latest_ms
            ]
        )

    def forget_oldest(self, share: int) -> Verdict[int]:
        """Make room: forget one of so many ids, those that nobody has used for longest; how many. One that was used
        just now may belong to a producer that lives, one with a transaction open does."""
        latest_ms = self.clock.now_ms() - self.settings.max_timeout_ms
        idle = [each for each in self.transactions.values() if each.state in IDLE and each.updated_ms <= latest_ms]
        count = max(len(self.transactions) // share, 1)
        oldest = nsmallest(count, idle, key=lambda each: each.updated_ms)
        return Verdict([formats.tombstone(each.transactional_id) for each in oldest], len(oldest))


def _write(transaction: Transaction) -> Verdict[ProducerIdentity]:
    return Verdict([formats.record(transaction)], transaction.identity)


def _concurrent(transaction: Transaction) -> ConcurrentTransactions:
    return ConcurrentTransactions(f"the transaction of {transaction.transactional_id!r} is not completed yet")
