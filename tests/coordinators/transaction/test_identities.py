"""Which identity a producer gets."""

import pytest

from coordinators.transaction.identities import begun, check_expected, renewed
from coordinators.transaction.transaction import MAX_EPOCH, ProducerIdentity, Transaction, TransactionState
from engine.errors import ProducerFenced

NOW_MS = 1_000


def idle(epoch: int, last_epoch: int = -1) -> Transaction:
    return Transaction("a", 1, epoch, 1000, TransactionState.COMPLETE_COMMIT, last_epoch=last_epoch)


def renew(transaction: Transaction, expected: ProducerIdentity | None = None) -> Transaction:
    return renewed(transaction, 2000, expected, NOW_MS, lambda: 99)


def test_a_new_id_begins_with_epoch_0() -> None:
    made = begun("a", 1000, NOW_MS, lambda: 7)
    assert made.identity == ProducerIdentity(7, 0)
    assert made.state is TransactionState.EMPTY


def test_every_instance_gets_the_next_epoch_and_its_own_timeout() -> None:
    made = renew(idle(3))
    assert (made.epoch, made.last_epoch, made.timeout_ms) == (4, -1, 2000)


def test_who_brings_the_current_epoch_goes_on_and_may_repeat_itself() -> None:
    made = renew(idle(3), ProducerIdentity(1, 3))
    assert (made.epoch, made.last_epoch) == (4, 3)
    again = renew(made, ProducerIdentity(1, 3))
    assert (again.epoch, again.last_epoch) == (4, 3)


def test_who_brings_an_older_epoch_is_fenced() -> None:
    with pytest.raises(ProducerFenced):
        renew(idle(3), ProducerIdentity(1, 2))
    with pytest.raises(ProducerFenced):
        renew(renew(renew(idle(3), ProducerIdentity(1, 3))), ProducerIdentity(1, 3))


def test_when_the_epochs_are_used_up_there_is_a_new_producer_id() -> None:
    made = renew(idle(MAX_EPOCH - 1))
    assert made.identity == ProducerIdentity(99, 0)
    assert made.previous_producer_id == 1
    resumed = renew(idle(MAX_EPOCH - 1), ProducerIdentity(1, MAX_EPOCH - 1))
    assert (resumed.identity, resumed.last_epoch) == (ProducerIdentity(99, 0), MAX_EPOCH - 1)
    check_expected(resumed, ProducerIdentity(1, MAX_EPOCH - 1))
    assert renew(resumed, ProducerIdentity(1, MAX_EPOCH - 1)).identity == ProducerIdentity(99, 0)


def test_a_producer_id_that_was_never_its_own_is_fenced() -> None:
    check_expected(idle(3), None)
    check_expected(idle(3), ProducerIdentity(1, 0))
    with pytest.raises(ProducerFenced):
        check_expected(idle(3), ProducerIdentity(2, 0))
