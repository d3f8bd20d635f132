"""What is known of one transactional id, and the states that it passes through.

A transaction is Ongoing from its first partition on. Its end is decided when Prepare... is durable; Complete...
follows when every partition has its marker. PrepareEpochFence exists in Kafka's memory only and is never written.
"""

from enum import IntEnum
from typing import Any

from attrs import evolve, frozen

NO_ID = -1
NO_EPOCH = -1
NO_TIME = -1
MAX_EPOCH = 2**15 - 1

V0 = 0
"""The classic flow."""
V2 = 2
"""KIP-890, part 2: partitions are added implicitly, and every end raises the epoch."""

TopicPartition = tuple[str, int]


class TransactionState(IntEnum):
    """With the numbers under which Kafka's records hold them."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """Kafka's name of the state, as tools show it."""
        return "".join(word.capitalize() for word in self.name.split("_"))


PREPARED = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
COMPLETED = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
IDLE = COMPLETED | {TransactionState.EMPTY}

BEFORE: dict[TransactionState, frozenset[TransactionState]] = {
    TransactionState.EMPTY: IDLE,
    TransactionState.ONGOING: IDLE | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    # Under transaction version 2 a producer may abort what it never began, to have its epoch raised (KIP-890).
    TransactionState.PREPARE_ABORT: IDLE | {TransactionState.ONGOING},
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
}

BY_LABEL = {state.label: state for state in TransactionState}


@frozen
class ProducerIdentity:
    """A producer id and its epoch."""

    producer_id: int
    epoch: int


@frozen
class Transaction:
    """A transactional id: its producer, and its latest transaction.

    `last_epoch` is the epoch that the producer had before its latest own change of it: who comes with that one
    repeats a request. `next_producer_id` takes over when the transaction completes, where the epochs are used up.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: frozenset[TopicPartition] = frozenset()
    started_ms: int = NO_TIME
    updated_ms: int = NO_TIME
    last_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_ID
    next_producer_id: int = NO_ID
    version: int = V0

    @property
    def identity(self) -> ProducerIdentity:
        """Who may write: the identity that the client is told, also while a change of the id is under way."""
        if self.next_producer_id != NO_ID:
            return ProducerIdentity(self.next_producer_id, 0)
        return ProducerIdentity(self.producer_id, self.epoch)

    @property
    def is_exhausted(self) -> bool:
        """Whether no epoch is left to give to a client; the very last one is kept for fencing."""
        return is_exhausted(self.epoch)

    @property
    def committed(self) -> bool:
        """Which way a prepared transaction ends."""
        assert self.state in PREPARED
        return self.state is TransactionState.PREPARE_COMMIT

    @property
    def deadline_ms(self) -> int:
        """When an ongoing transaction has taken too long."""
        return self.started_ms + self.timeout_ms

    def to(self, state: TransactionState, now_ms: int, **changes: Any) -> "Transaction":
        """The next state of it."""
        assert self.state in BEFORE[state], f"{self.transactional_id}: {self.state.name} to {state.name}"
        return evolve(self, state=state, updated_ms=now_ms, **changes)


def is_exhausted(epoch: int) -> bool:
    return epoch >= MAX_EPOCH - 1
