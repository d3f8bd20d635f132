"""An answer that comes later comes once, to whoever asked."""

import pytest

from coordinators.deferred import Deferred, all_of
from engine.errors import StorageError
from tests.engine.garbage import garbage_of


def test_the_answer_comes_whether_it_or_the_question_is_first() -> None:
    early, late, heard = Deferred(), Deferred(), []
    early.resolve(1)
    early.on_resolved(heard.append)
    late.on_resolved(heard.append)
    late.resolve(2)
    assert heard == [1, 2]


def test_a_second_answer_is_ignored() -> None:
    deferred, heard = Deferred(), []
    deferred.on_resolved(heard.append)
    deferred.resolve(None)
    deferred.resolve("late")
    assert heard == [None]
    assert deferred.resolved


def test_an_answer_is_converted_on_its_way_and_abandoned_through_it() -> None:
    deferred, heard, abandoned = Deferred(), [], []
    deferred.on_abandoned = lambda: abandoned.append(True)
    mapped = deferred.map(lambda number: number * 2)
    mapped.on_resolved(heard.append)
    mapped.on_abandoned()
    deferred.resolve(21)
    assert heard == [42]
    assert abandoned == [True]


def test_a_bug_in_the_conversion_is_told_to_who_holds_the_answer() -> None:
    deferred, failures = Deferred(), []
    mapped = deferred.map(lambda number: 1 // number)
    mapped.on_failed = failures.append
    deferred.resolve(0)
    assert [type(failure) for failure in failures] == [ZeroDivisionError]
    assert not mapped.resolved


def test_a_bug_that_nobody_takes_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        Deferred().resolve_by(lambda: 1 // 0)


def test_all_answers_together_keep_their_order() -> None:
    first, second, heard = Deferred(), Deferred(), []
    all_of([first, second]).on_resolved(heard.append)
    second.resolve("b")
    assert heard == []
    first.resolve("a")
    assert heard == [["a", "b"]]
    all_of([]).on_resolved(heard.append)
    assert heard == [["a", "b"], []]


def test_answers_on_their_way_make_no_garbage() -> None:
    def ask() -> None:
        waiting = [Deferred() for _ in range(50)]
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
        answer = Deferred()
        try:
            raise StorageError("no")
        except StorageError as error:
            answer.resolve(error)

    assert garbage_of(refuse) == 0
