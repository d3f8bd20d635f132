"""What a request to end a transaction means in each state."""

import pytest

from coordinators.transaction.endings import Ending, completed, fenced, judge, prepared
from coordinators.transaction.transaction import MAX_EPOCH, V0, V2, ProducerIdentity, State, Transaction
from engine.errors import (
    BrokerError,
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidTxnState,
    ProducerFenced,
)

PLACES = frozenset({("t", 0)})


def at(state: State, *, version: int = V0, epoch: int = 5) -> Transaction:
    return Transaction("a", 1, epoch, 1000, state, PLACES, started_ms=10, version=version)


CLASSIC = [
    (State.EMPTY, True, InvalidTxnState),
    (State.EMPTY, False, InvalidTxnState),
    (State.ONGOING, True, Ending.BEGIN),
    (State.ONGOING, False, Ending.BEGIN),
    (State.PREPARE_COMMIT, True, ConcurrentTransactions),
    (State.PREPARE_COMMIT, False, InvalidTxnState),
    (State.PREPARE_ABORT, True, InvalidTxnState),
    (State.PREPARE_ABORT, False, ConcurrentTransactions),
    (State.COMPLETE_COMMIT, True, Ending.DONE_BEFORE),
    (State.COMPLETE_COMMIT, False, InvalidTxnState),
    (State.COMPLETE_ABORT, True, InvalidTxnState),
    (State.COMPLETE_ABORT, False, Ending.DONE_BEFORE),
]

# With the current epoch (5), and with the one before (4): the latter is a repetition.
VERSION_2 = [
    (State.EMPTY, True, 5, InvalidTxnState),
    (State.EMPTY, False, 5, Ending.BEGIN),
    (State.EMPTY, False, 4, ProducerFenced),
    (State.ONGOING, True, 5, Ending.BEGIN),
    (State.ONGOING, True, 4, ProducerFenced),
    (State.PREPARE_COMMIT, True, 4, ConcurrentTransactions),
    (State.PREPARE_COMMIT, False, 4, InvalidTxnState),
    (State.PREPARE_COMMIT, True, 5, ProducerFenced),
    (State.COMPLETE_COMMIT, True, 4, Ending.DONE_BEFORE),
    (State.COMPLETE_COMMIT, False, 4, InvalidTxnState),
    (State.COMPLETE_COMMIT, True, 5, InvalidTxnState),
    (State.COMPLETE_COMMIT, False, 5, Ending.BEGIN),
    (State.COMPLETE_ABORT, False, 4, Ending.DONE_BEFORE),
    (State.COMPLETE_ABORT, True, 4, InvalidTxnState),
    (State.COMPLETE_ABORT, False, 5, Ending.BEGIN),
    (State.COMPLETE_ABORT, False, 3, ProducerFenced),
]


def judged(transaction: Transaction, producer: ProducerIdentity, *, commit: bool, version: int) -> object:
    try:
        return judge(transaction, producer, commit=commit, version=version)
    except BrokerError as error:
        return type(error)


@pytest.mark.parametrize(("state", "commit", "expected"), CLASSIC)
def test_the_classic_flow(state: State, commit: bool, expected: object) -> None:
    assert judged(at(state), ProducerIdentity(1, 5), commit=commit, version=V0) == expected
    assert judged(at(state), ProducerIdentity(1, 4), commit=commit, version=V0) is ProducerFenced
    assert judged(at(state), ProducerIdentity(2, 5), commit=commit, version=V0) is InvalidProducerIdMapping


@pytest.mark.parametrize(("state", "commit", "epoch", "expected"), VERSION_2)
def test_version_2(state: State, commit: bool, epoch: int, expected: object) -> None:
    transaction = at(state, version=V2)
    assert judged(transaction, ProducerIdentity(1, epoch), commit=commit, version=V2) == expected


def decide(transaction: Transaction, version: int) -> Transaction:
    return prepared(transaction, commit=True, version=version, now_ms=20, take_id=lambda: 99)


def test_a_classic_end_keeps_the_identity() -> None:
    decided = decide(at(State.ONGOING), V0)
    assert (decided.identity, decided.partitions) == (ProducerIdentity(1, 5), PLACES)
    done = completed(decided, 30)
    assert (done.state, done.identity, done.partitions) == (
        State.COMPLETE_COMMIT,
        ProducerIdentity(1, 5),
        frozenset(),
    )


def test_an_end_of_version_2_raises_the_epoch() -> None:
    decided = decide(at(State.ONGOING, version=V2), V2)
    assert (decided.identity, decided.last_epoch) == (ProducerIdentity(1, 6), 5)
    assert completed(decided, 30).identity == ProducerIdentity(1, 6)


def test_with_the_epochs_used_up_the_next_producer_id_takes_over_and_a_repetition_is_known() -> None:
    decided = decide(at(State.ONGOING, version=V2, epoch=MAX_EPOCH - 1), V2)
    assert (decided.epoch, decided.identity) == (MAX_EPOCH, ProducerIdentity(99, 0))
    done = completed(decided, 30)
    assert (done.producer_id, done.epoch, done.previous_producer_id) == (99, 0, 1)
    repeated = judge(done, ProducerIdentity(1, MAX_EPOCH - 1), commit=True, version=V2)
    assert repeated is Ending.DONE_BEFORE


def test_fencing_raises_the_epoch_up_to_the_last() -> None:
    assert fenced(at(State.ONGOING), 20).epoch == 6
    assert fenced(at(State.ONGOING, epoch=MAX_EPOCH - 1), 20).epoch == MAX_EPOCH
    assert fenced(at(State.ONGOING), 20).state is State.PREPARE_ABORT
