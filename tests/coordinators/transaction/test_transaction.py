"""What is known of a transactional id."""

import pytest

from coordinators.transaction.states import State
from coordinators.transaction.transaction import MAX_EPOCH, ProducerIdentity, Transaction


def test_a_client_is_told_the_next_identity_while_the_old_one_is_used_up() -> None:
    transaction = Transaction("a", 1, MAX_EPOCH, 1000, State.PREPARE_COMMIT, next_producer_id=9)
    assert transaction.identity == ProducerIdentity(9, 0)
    assert transaction.committed


def test_the_last_epoch_is_kept_for_fencing() -> None:
    assert not Transaction("a", 1, MAX_EPOCH - 2, 1000, State.EMPTY).is_exhausted
    assert Transaction("a", 1, MAX_EPOCH - 1, 1000, State.EMPTY).is_exhausted


def test_a_step_that_cannot_be_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        Transaction("a", 1, 0, 1000, State.EMPTY).to(State.COMPLETE_COMMIT, 5)


def test_it_is_overdue_after_its_timeout() -> None:
    assert Transaction("a", 1, 0, 1000, State.ONGOING, started_ms=500).deadline_ms == 1500
