"""A receipt settles the delivery that it was given for, once, within its lock, and never a later one."""

import pytest

from engine.errors import InvalidRecordState, InvalidRequest
from wire.inner.loans import Loans, Settling
from wire.inner.receipts import WorkReceipt, read_receipt

FIRST = WorkReceipt("t", 0, 7, 1, "1-" + "a" * 24, "00ff")
SECOND = FIRST._replace(delivery_count=2, number="11ee")


def test_a_receipt_comes_back_from_its_text() -> None:
    assert str(FIRST) == f"t:0:7:1:1-{'a' * 24}.00ff"
    assert read_receipt(str(FIRST)) == FIRST


@pytest.mark.parametrize(
    "text", ["", "t", "t:0:7:1", "t:0:7:1:x", "t:x:7:1:m.n", "t:0:-7:1:m.n", "t:0:٣:1:m.n", "a:" * 400, "t:0:7:1:m.n:o"]
)
def test_what_is_no_receipt_is_told(text: str) -> None:
    with pytest.raises(InvalidRequest, match="receipt"):
        read_receipt(text)


def test_what_is_lent_can_be_settled_until_its_lock_runs_out() -> None:
    loans = Loans()
    loans.lend(FIRST, until=30.0)
    assert loans.check(FIRST, Settling.ACK, now=29.9)
    with pytest.raises(InvalidRecordState, match="run out"):
        loans.check(FIRST, Settling.ACK, now=30.0)


def test_a_receipt_of_an_earlier_delivery_settles_nothing() -> None:
    loans = Loans()
    loans.lend(FIRST, until=30.0)
    loans.lend(SECOND, until=60.0)
    with pytest.raises(InvalidRecordState, match="is over"):
        loans.check(FIRST, Settling.ACK, now=1.0)
    assert loans.check(SECOND, Settling.ACK, now=1.0)


def test_who_repeats_itself_is_told_the_same_and_nothing_else() -> None:
    loans = Loans()
    loans.lend(FIRST, until=30.0)
    loans.settle([FIRST], Settling.ACK)
    assert not loans.check(FIRST, Settling.ACK, now=1.0)
    assert loans.in_hand == 0
    with pytest.raises(InvalidRecordState, match="otherwise"):
        loans.check(FIRST, Settling.NACK, now=1.0)


def test_what_is_extended_lives_longer_and_what_is_over_is_forgotten() -> None:
    loans = Loans()
    loans.lend(FIRST, until=30.0)
    loans.extend([FIRST], until=50.0)
    loans.forget(40.0)
    assert loans.check(FIRST, Settling.ACK, now=40.0)
    loans.forget(50.0)
    assert len(loans) == 0
    loans.lend(FIRST, until=90.0)
    loans.lose([SECOND])
    assert len(loans) == 1
    loans.lose([FIRST])
    assert len(loans) == 0
