"""EndTxn: what a request to commit or abort means in each state.

Under transaction version 2 (KIP-890) every end raises the epoch, so a repeated request is told by its epoch, one
below the current; and a producer may abort without having begun, only to have its epoch raised.
"""

from enum import Enum
from typing import Any

from coordinators.transaction.identities import TakeId
from coordinators.transaction.transaction import (
    COMPLETED,
    MAX_EPOCH,
    NO_ID,
    PREPARED,
    V2,
    ProducerIdentity,
    Transaction,
    TransactionState,
)
from engine.errors import ConcurrentTransactions, InvalidProducerIdMapping, InvalidTxnState, ProducerFenced


class Ending(Enum):
    """What is to be done about a request that is not refused."""

    BEGIN = 1
    DONE_BEFORE = 2


_COMMITS = {TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT}


def judge(transaction: Transaction, producer: ProducerIdentity, *, commit: bool, version: int) -> Ending:
    """Whether the transaction is to be ended, was ended by the same request before, or neither."""
    repeats = _repeats(transaction, producer)
    _check_identity(transaction, producer, repeats=repeats)
    state = transaction.state
    if state is TransactionState.ONGOING:
        return Ending.BEGIN
    same_end = (state in _COMMITS) == commit
    if state in PREPARED:
        if same_end:
            raise ConcurrentTransactions(f"{transaction.transactional_id!r} is being completed")
        raise _wrong_state(transaction, commit=commit)
    if state in COMPLETED and transaction.version < V2 and same_end:
        return Ending.DONE_BEFORE
    if state in COMPLETED and repeats:
        if same_end:
            return Ending.DONE_BEFORE
        raise _wrong_state(transaction, commit=commit)
    if not commit and version >= V2 and (state is TransactionState.EMPTY or transaction.version >= V2):
        return Ending.BEGIN
    raise _wrong_state(transaction, commit=commit)


def _repeats(transaction: Transaction, producer: ProducerIdentity) -> bool:
    """Whether the producer speaks as it was before its latest transaction ended."""
    if transaction.version < V2:
        return False
    if producer.producer_id == transaction.producer_id:
        return producer.epoch + 1 == transaction.epoch
    is_previous = producer.producer_id == transaction.previous_producer_id
    return is_previous and producer.epoch == MAX_EPOCH - 1 and transaction.epoch == 0


def _check_identity(transaction: Transaction, producer: ProducerIdentity, *, repeats: bool) -> None:
    if producer.producer_id != transaction.producer_id and not repeats:
        raise InvalidProducerIdMapping(
            f"{transaction.transactional_id!r} belongs to producer {transaction.producer_id}, "
            f"not to {producer.producer_id}"
        )
    state, current = transaction.state, producer.epoch == transaction.epoch
    if transaction.version >= V2 and state in PREPARED:
        valid = repeats
    elif transaction.version >= V2 and state in COMPLETED:
        valid = repeats or current
    else:
        valid = current
    if not valid:
        raise ProducerFenced(
            f"producer {producer.producer_id} comes with epoch {producer.epoch}, its latest is {transaction.epoch}"
        )


def _wrong_state(transaction: Transaction, *, commit: bool) -> InvalidTxnState:
    wish = "committed" if commit else "aborted"
    return InvalidTxnState(
        f"{transaction.transactional_id!r} is in state {transaction.state.label} and cannot be {wish}"
    )


def prepared(transaction: Transaction, *, commit: bool, version: int, now_ms: int, take_id: TakeId) -> Transaction:
    """The decision that the transaction ends so, by request of its producer."""
    state = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
    started_ms = transaction.started_ms if transaction.state is TransactionState.ONGOING else now_ms
    if version < V2:
        return transaction.to(state, now_ms, started_ms=started_ms)
    return transaction.to(
        state,
        now_ms,
        started_ms=started_ms,
        partitions=transaction.partitions if transaction.state is TransactionState.ONGOING else frozenset(),
        epoch=transaction.epoch + 1,
        last_epoch=transaction.epoch,
        next_producer_id=take_id() if transaction.is_exhausted else NO_ID,
        version=version,
    )


def fenced(transaction: Transaction, now_ms: int) -> Transaction:
    """The decision that an ongoing transaction is aborted against its producer, whose epoch ends with it."""
    epoch = min(transaction.epoch + 1, MAX_EPOCH)
    return transaction.to(TransactionState.PREPARE_ABORT, now_ms, epoch=epoch, last_epoch=-1)


def completed(transaction: Transaction, now_ms: int) -> Transaction:
    """Every partition has its marker."""
    state = TransactionState.COMPLETE_COMMIT if transaction.committed else TransactionState.COMPLETE_ABORT
    changes: dict[str, Any] = {"partitions": frozenset()}
    if transaction.next_producer_id != NO_ID:
        changes.update(
            producer_id=transaction.next_producer_id,
            previous_producer_id=transaction.producer_id,
            next_producer_id=NO_ID,
            epoch=0,
        )
    return transaction.to(state, now_ms, **changes)
