"""Errors that are kept, or stand for longer, hold nothing but themselves."""

import pytest

from engine.errors import BrokerError, MemberIdRequired, RefusedRecords, StorageError, fresh, kept
from tests.engine.garbage import garbage_of


def tracebacks(error: BaseException) -> int:
    count, entry = 0, error.__traceback__
    while entry is not None:
        count, entry = count + 1, entry.tb_next
    return count


def test_an_error_that_stands_gathers_no_tracebacks() -> None:
    standing = StorageError("the disk is full")
    for _ in range(3):
        with pytest.raises(StorageError, match="the disk is full"):
            raise fresh(standing)
    assert tracebacks(standing) == 0


def test_an_error_that_is_kept_with_the_answers_makes_no_garbage() -> None:
    def answers() -> list[BrokerError]:
        results = []
        for number in range(100):
            try:
                raise StorageError(str(number))
            except StorageError as error:
                results.append(kept(error))
        return results

    assert garbage_of(lambda: len(answers())) == 0


@pytest.mark.parametrize(
    "error", [MemberIdRequired("m", member_id="id"), RefusedRecords("r", record_errors=((1, "x"),))]
)
def test_a_fresh_error_says_all_that_the_other_says(error: BrokerError) -> None:
    assert (str(fresh(error)), vars(fresh(error))) == (str(error), vars(error))
