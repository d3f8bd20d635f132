"""What a request to end a transaction means in each state."""

import pytest

from coordinators.transaction.endings import Ending, completed, fenced, judge, prepared
from coordinators.transaction.transaction import MAX_EPOCH, V0, V2, ProducerIdentity, Transaction, TransactionState
from engine.errors import (
    BrokerError,
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidTxnState,
    ProducerFenced,
)

PLACES = frozenset({("t", 0)})


def at(state: TransactionState, *, version: int = V0, epoch: int = 5) -> Transaction:
    return Transaction("a", 1, epoch, 1000, state, PLACES, started_ms=10, version=version)


CLASSIC = [
    (TransactionState.EMPTY, True, InvalidTxnState),
    (TransactionState.EMPTY, False, InvalidTxnState),
    (TransactionState.ONGOING, True, Ending.BEGIN),
    (TransactionState.ONGOING, False, Ending.BEGIN),
    (TransactionState.PREPARE_COMMIT, True, ConcurrentTransactions),
    (TransactionState.PREPARE_COMMIT, False, InvalidTxnState),
    (TransactionState.PREPARE_ABORT, True, InvalidTxnState),
    (TransactionState.PREPARE_ABORT, False, ConcurrentTransactions),
    (TransactionState.COMPLETE_COMMIT, True, Ending.DONE_BEFORE),
    (TransactionState.COMPLETE_COMMIT, False, InvalidTxnState),
    (TransactionState.COMPLETE_ABORT, True, InvalidTxnState),
    (TransactionState.COMPLETE_ABORT, False, Ending.DONE_BEFORE),
]

# With the current epoch (5), and with the one before (4): the latter is a repetition.
VERSION_2 = [
    (TransactionState.EMPTY, True, 5, InvalidTxnState),
    (TransactionState.EMPTY, False, 5, Ending.BEGIN),
    (TransactionState.EMPTY, False, 4, ProducerFenced),
    (TransactionState.ONGOING, True, 5, Ending.BEGIN),
    (TransactionState.ONGOING, True, 4, ProducerFenced),
    (TransactionState.PREPARE_COMMIT, True, 4, ConcurrentTransactions),
    (TransactionState.PREPARE_COMMIT, False, 4, InvalidTxnState),
    (TransactionState.PREPARE_COMMIT, True, 5, ProducerFenced),
    (TransactionState.COMPLETE_COMMIT, True, 4, Ending.DONE_BEFORE),
    (TransactionState.COMPLETE_COMMIT, False, 4, InvalidTxnState),
    (TransactionState.COMPLETE_COMMIT, True, 5, InvalidTxnState),
    (TransactionState.COMPLETE_COMMIT, False, 5, Ending.BEGIN),
    (TransactionState.COMPLETE_ABORT, False, 4, Ending.DONE_BEFORE),
    (TransactionState.COMPLETE_ABORT, True, 4, InvalidTxnState),
    (TransactionState.COMPLETE_ABORT, False, 5, Ending.BEGIN),
    (TransactionState.COMPLETE_ABORT, False, 3, ProducerFenced),
]


def judged(transaction: Transaction, producer: ProducerIdentity, *, commit: bool, version: int) -> object:
    try:
        return judge(transaction, producer, commit=commit, version=version)
    except BrokerError as error:
        return type(error)


@pytest.mark.parametrize(("state", "commit", "expected"), CLASSIC)
def test_the_classic_flow(state: TransactionState, commit: bool, expected: object) -> None:
    assert judged(at(state), ProducerIdentity(1, 5), commit=commit, version=V0) == expected
    assert judged(at(state), ProducerIdentity(1, 4), commit=commit, version=V0) is ProducerFenced
    assert judged(at(state), ProducerIdentity(2, 5), commit=commit, version=V0) is InvalidProducerIdMapping


@pytest.mark.parametrize(("state", "commit", "epoch", "expected"), VERSION_2)
def test_version_2(state: TransactionState, commit: bool, epoch: int, expected: object) -> None:
    transaction = at(state, version=V2)
    assert judged(transaction, ProducerIdentity(1, epoch), commit=commit, version=V2) == expected


def decide(transaction: Transaction, version: int) -> Transaction:
    return prepared(transaction, commit=True, version=version, now_ms=20, take_id=lambda: 99)


def test_a_classic_end_keeps_the_identity() -> None:
    decided = decide(at(TransactionState.ONGOING), V0)
    assert (decided.identity, decided.partitions) == (ProducerIdentity(1, 5), PLACES)
    done = completed(decided, 30)
    assert (done.state, done.identity, done.partitions) == (
        TransactionState.COMPLETE_COMMIT,
        ProducerIdentity(1, 5),
        frozenset(),
    )


def test_an_end_of_version_2_raises_the_epoch() -> None:
    decided = decide(at(TransactionState.ONGOING, version=V2), V2)
    assert (decided.identity, decided.last_epoch) == (ProducerIdentity(1, 6), 5)
    assert completed(decided, 30).identity == ProducerIdentity(1, 6)


def test_with_the_epochs_used_up_the_next_producer_id_takes_over_and_a_repetition_is_known() -> None:
    decided = decide(at(TransactionState.ONGOING, version=V2, epoch=MAX_EPOCH - 1), V2)
    assert (decided.epoch, decided.identity) == (MAX_EPOCH, ProducerIdentity(99, 0))
    done = completed(decided, 30)
    assert (done.producer_id, done.epoch, done.previous_producer_id) == (99, 0, 1)
    repeated = judge(done, ProducerIdentity(1, MAX_EPOCH - 1), commit=True, version=V2)
    assert repeated is Ending.DONE_BEFORE


def test_fencing_raises_the_epoch_up_to_the_last() -> None:
    assert fenced(at(TransactionState.ONGOING), 20).epoch == 6
    assert fenced(at(TransactionState.ONGOING, epoch=MAX_EPOCH - 1), 20).epoch == MAX_EPOCH
    assert fenced(at(TransactionState.ONGOING), 20).state is TransactionState.PREPARE_ABORT
