"""What is known of a transactional id."""

import pytest

from coordinators.transaction.transaction import (
    BEFORE,
    BY_LABEL,
    IDLE,
    MAX_EPOCH,
    PREPARED,
    ProducerIdentity,
    Transaction,
    TransactionState,
)


def test_a_client_is_told_the_next_identity_while_the_old_one_is_used_up() -> None:
    transaction = Transaction("a", 1, MAX_EPOCH, 1000, TransactionState.PREPARE_COMMIT, next_producer_id=9)
    assert transaction.identity == ProducerIdentity(9, 0)
    assert transaction.committed


def test_the_last_epoch_is_kept_for_fencing() -> None:
    assert not Transaction("a", 1, MAX_EPOCH - 2, 1000, TransactionState.EMPTY).is_exhausted
    assert Transaction("a", 1, MAX_EPOCH - 1, 1000, TransactionState.EMPTY).is_exhausted


def test_a_step_that_cannot_be_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        Transaction("a", 1, 0, 1000, TransactionState.EMPTY).to(TransactionState.COMPLETE_COMMIT, 5)


def test_it_is_overdue_after_its_timeout() -> None:
    assert Transaction("a", 1, 0, 1000, TransactionState.ONGOING, started_ms=500).deadline_ms == 1500


def test_states_have_the_names_that_tools_show() -> None:
    assert [state.label for state in TransactionState] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
    assert BY_LABEL["PrepareAbort"] is TransactionState(3)


def test_a_decision_is_followed_by_its_completion_alone() -> None:
    for state in PREPARED:
        followers = [after for after, before in BEFORE.items() if state in before]
        assert followers == [TransactionState(state + 2)]


def test_what_is_idle_may_begin_anew() -> None:
    assert BEFORE[TransactionState.ONGOING] > IDLE
    assert BEFORE[TransactionState.EMPTY] == IDLE
