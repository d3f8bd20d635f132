"""A value that comes later comes once, to everybody who asked, by the channel that it has."""

from typing import Any

import pytest

from engine.deferred import Deferred, all_of, settle
from engine.errors import BrokerError, StorageError
from tests.engine.garbage import garbage_of


def never(unexpected: object) -> None:
    raise AssertionError(unexpected)


def test_the_value_comes_to_all_whether_it_or_the_question_is_first() -> None:
    deferred, heard = Deferred[int](), list[tuple[str, int]]()
    deferred.when_settled(lambda value: heard.append(("first", value)), never)
    deferred.when_settled(lambda value: heard.append(("second", value)), never)
    assert not deferred.settled
    deferred.resolve(1)
    deferred.when_settled(lambda value: heard.append(("late", value)), never)
    assert heard == [("first", 1), ("second", 1), ("late", 1)]


def test_a_refusal_has_a_channel_of_its_own() -> None:
    deferred, heard = Deferred[StorageError](), list[BrokerError]()
    deferred.when_settled(never, heard.append)
    deferred.refuse(StorageError("no"))
    deferred.when_settled(never, heard.append)
    assert [str(error) for error in heard] == ["no", "no"]
    # An error may well be a value.
    value = Deferred[StorageError]()
    value.resolve(StorageError("a value"))
    value.when_settled(heard.append, never)
    assert (len(heard), value.refusal, str(deferred.refusal)) == (3, None, "no")


@pytest.mark.parametrize("second", [lambda deferred: deferred.resolve("late"), lambda each: each.refuse(BrokerError())])
def test_only_the_first_settlement_counts(second: Any) -> None:
    deferred, heard = Deferred[str | None](), list[str | None]()
    deferred.when_settled(heard.append, never)
    deferred.resolve(None)
    second(deferred)
    assert heard == [None]
    assert deferred.settled


def test_a_value_is_converted_on_its_way_and_abandoned_through_it() -> None:
    deferred, heard, abandoned = Deferred[int](), list[int](), list[bool]()
    deferred.on_abandoned(lambda: abandoned.append(True))
    mapped = deferred.map(lambda number: number * 2)
    mapped.when_settled(heard.append, never)
    mapped.abandon()
    deferred.resolve(21)
    mapped.abandon()
    assert heard == [42]
    assert abandoned == [True]


def test_a_refusal_passes_a_conversion_or_is_converted_too() -> None:
    deferred, heard = Deferred[int](), list[object]()
    deferred.map(str).when_settled(never, lambda error: heard.append(type(error)))
    deferred.map(str, lambda error: f"refused: {error}").when_settled(heard.append, never)
    deferred.refuse(StorageError("full"))
    assert heard == [StorageError, "refused: full"]


def test_a_bug_in_the_conversion_is_told_to_who_listens() -> None:
    deferred, bugs = Deferred[int](), list[Exception]()
    mapped = deferred.map(lambda number: 1 // number)
    mapped.map(str).when_settled(never, never, bugs.append)
    deferred.resolve(0)
    mapped.when_settled(never, never, bugs.append)
    assert [type(bug) for bug in bugs] == [ZeroDivisionError, ZeroDivisionError]


def test_a_bug_that_nobody_takes_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        Deferred[int]().resolve_by(lambda: 1 // 0)


def test_another_one_is_settled_the_same_way() -> None:
    first, second, heard = Deferred[int](), Deferred[int](), list[object]()
    for each in (first, second):
        other = Deferred[int]()
        other.when_settled(heard.append, heard.append)
        each.forward(other)
    first.resolve(1)
    second.refuse(StorageError("no"))
    assert [str(each) for each in heard] == ["1", "no"]


def test_what_only_ends_is_done_or_refused() -> None:
    heard: list[object] = []
    for refusal in (None, StorageError("no")):
        ended = Deferred[None]()
        settle(ended, refusal)
        ended.when_settled(heard.append, lambda error: heard.append(str(error)))
    assert heard == [None, "no"]


def test_all_values_together_keep_their_order() -> None:
    first, second, heard = Deferred[str](), Deferred[str](), list[list[str]]()
    all_of([first, second]).when_settled(heard.append, never)
    second.resolve("b")
    assert heard == []
    first.resolve("a")
    all_of(list[Deferred[str]]()).when_settled(heard.append, never)
    assert heard == [["a", "b"], []]


def test_one_refusal_refuses_all_together() -> None:
    first, second, heard = Deferred[str](), Deferred[str](), list[str]()
    all_of([first, second]).when_settled(never, lambda error: heard.append(str(error)))
    second.refuse(StorageError("no"))
    first.resolve("a")
    assert heard == ["no"]


def test_values_on_their_way_make_no_garbage() -> None:
    def ask() -> None:
        waiting = [Deferred[int]() for _ in range(50)]
        heard: list[list[int]] = []
        all_of([each.map(lambda number: number + 1).map(lambda number: number + 1) for each in waiting]).map(
            heard.append
        )
        for number, each in enumerate(waiting):
            each.resolve(number)
            each.map(lambda number: number)
        assert heard == [list(range(2, 52))]

    assert garbage_of(ask) == 0


def test_a_refusal_is_kept_without_its_traceback() -> None:
    def refuse() -> None:
        deferred = Deferred[None]()
        try:
            raise StorageError("no")
        except StorageError as error:
            deferred.refuse(error)

    assert garbage_of(refuse) == 0
