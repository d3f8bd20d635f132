"""InitProducerId: which identity a producer gets for its transactional id (KIP-98, KIP-360).

Every call fences the instances before: it raises the epoch, or takes a new producer id when the epochs are used up.
A producer that brings its identity goes on with it, if nobody else came in between.
"""

from collections.abc import Callable

from coordinators.transaction.transaction import (
    NO_EPOCH,
    NO_ID,
    ProducerIdentity,
    Transaction,
    TransactionState,
    is_exhausted,
)
from engine.errors import ProducerFenced

TakeId = Callable[[], int]


def begun(transactional_id: str, timeout_ms: int, now_ms: int, take_id: TakeId) -> Transaction:
    """A transactional id that is used for the first time."""
    return Transaction(transactional_id, take_id(), 0, timeout_ms, TransactionState.EMPTY, updated_ms=now_ms)


def check_expected(transaction: Transaction, expected: ProducerIdentity | None) -> None:
    """Refuse a producer whose identity was never, or is no longer, the one of its transactional id."""
    if expected is None or expected.producer_id == transaction.producer_id:
        return
    if expected.producer_id == transaction.previous_producer_id and is_exhausted(expected.epoch):
        return
    raise ProducerFenced(f"producer {expected.producer_id} is not that of {transaction.transactional_id!r} any more")


def renewed(
    transaction: Transaction, timeout_ms: int, expected: ProducerIdentity | None, now_ms: int, take_id: TakeId
) -> Transaction:
    """The next identity of a transactional id with no transaction open."""
    if transaction.is_exhausted and (expected is None or expected.epoch == transaction.epoch):
        return _rotated(transaction, timeout_ms, expected, now_ms, take_id)
    epoch, last_epoch = _next_epoch(transaction, expected)
    return transaction.to(
        TransactionState.EMPTY,
        now_ms,
        epoch=epoch,
        last_epoch=last_epoch,
        timeout_ms=timeout_ms,
        partitions=frozenset(),
        started_ms=-1,
    )


def _next_epoch(transaction: Transaction, expected: ProducerIdentity | None) -> tuple[int, int]:
    """(epoch, epoch before); the latter is kept only for the producer that brought it."""
    if expected is None:
        return transaction.epoch + 1, NO_EPOCH
    if expected.epoch == transaction.epoch:
        return transaction.epoch + 1, transaction.epoch
    if expected.epoch == transaction.last_epoch:
        # A repetition: had another instance come meanwhile, the last epoch would not be known.
        return transaction.epoch, transaction.last_epoch
    raise ProducerFenced(
        f"producer {expected.producer_id} comes with epoch {expected.epoch}, its latest is {transaction.epoch}"
    )


def _rotated(
    transaction: Transaction, timeout_ms: int, expected: ProducerIdentity | None, now_ms: int, take_id: TakeId
) -> Transaction:
    return transaction.to(
        TransactionState.EMPTY,
        now_ms,
        producer_id=take_id(),
        previous_producer_id=transaction.producer_id,
        next_producer_id=NO_ID,
        epoch=0,
        last_epoch=NO_EPOCH if expected is None else transaction.epoch,
        timeout_ms=timeout_ms,
        partitions=frozenset(),
        started_ms=-1,
    )
