"""Questions about one share partition: one after the other, again while its state moves, writes together."""

from typing import Any

import pytest

from coordinators.share.asking import MOST_WAITING, OrderlyAsking
from coordinators.share.ports import DeliveryState, LetterProducer, ShareChange, SharePlace, ShareState, StateBatch
from coordinators.share.questions import (
    DeleteState,
    InitializeState,
    ReadState,
    StateQuestion,
    SummarizeState,
    WriteState,
)
from engine.clock import ManualClock
from engine.deferred import Deferred
from engine.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedLeaderEpoch,
    NotCoordinator,
)
from engine.timers import Timers

PLACE, OTHER = SharePlace("mail", bytes(16), 0), SharePlace("mail", bytes(16), 1)


class Keeper:
    """Whoever keeps the states: answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[StateQuestion, Deferred[Any]]] = []
        self.clock, self.timers = ManualClock(), Timers()
        self.asking = OrderlyAsking(self.attempt, self.clock, self.timers, 5.0)

    def attempt(self, question: StateQuestion) -> Deferred[Any]:
        answer: Deferred[Any] = Deferred()
        self.asked.append((question, answer))
        return answer

    @property
    def questions(self) -> list[StateQuestion]:
        return [question for question, _ in self.asked]

    def resolve(self, value: Any = None) -> None:
        self.asked[-1][1].resolve(value)

    def refuse(self, error: Any) -> None:
        self.asked[-1][1].refuse(error)

    def pass_time(self, duration_ms: int) -> None:
        self.clock.advance_ms(duration_ms)
        self.timers.run_due(self.clock.monotonic())


@pytest.fixture
def keeper() -> Keeper:
    return Keeper()


def heard(answer: Deferred[Any]) -> list[Any]:
    found: list[Any] = []
    answer.when_settled(found.append, found.append)
    return found


def done(first: int, last: int) -> StateBatch:
    return StateBatch(first, last, DeliveryState.ACKNOWLEDGED, 1)


def test_every_question_is_asked_as_it_is(keeper: Keeper) -> None:
    asking, change = keeper.asking, ShareChange(4)
    for ask, question in (
        (lambda: asking.initialize(PLACE, 1, 2), InitializeState(PLACE, 1, 2)),
        (lambda: asking.read(PLACE, 3), ReadState(PLACE, 3)),
        (lambda: asking.write(PLACE, 1, 3, change), WriteState(PLACE, 1, 3, change)),
        (lambda: asking.delete(PLACE), DeleteState(PLACE)),
        (lambda: asking.summary(PLACE), SummarizeState(PLACE)),
    ):
        answer: Deferred[Any] = ask()
        assert keeper.questions[-1] == question
        keeper.resolve("answer")
        assert heard(answer) == ["answer"]
    assert asking.statistics() == {"waiting": 0}


def test_of_one_place_one_question_is_under_way(keeper: Keeper) -> None:
    read, deleted = keeper.asking.read(PLACE, 1), keeper.asking.delete(PLACE)
    keeper.asking.delete(OTHER)
    assert keeper.questions == [ReadState(PLACE, 1), DeleteState(OTHER)], "others do not wait"
    keeper.asked[0][1].resolve(ShareState())
    assert heard(read) == [ShareState()]
    assert keeper.questions[-1] == DeleteState(PLACE)
    keeper.resolve()
    assert heard(deleted) == [None]


@pytest.mark.parametrize("kind", [NotCoordinator, CoordinatorLoadInProgress, CoordinatorNotAvailable])
def test_what_may_pass_is_asked_again_before_anything_else(keeper: Keeper, kind: Any) -> None:
    first, second = keeper.asking.write(PLACE, 1, 1, ShareChange(5)), keeper.asking.write(PLACE, 1, 1, ShareChange(6))
    keeper.refuse(kind("not now"))
    assert heard(first) == []
    keeper.pass_time(50)
    assert [question.change.start_offset for question in keeper.questions] == [5, 5]  # type: ignore[union-attr]
    keeper.resolve()
    keeper.resolve()
    assert (heard(first), heard(second)) == ([None], [None])


def test_patience_ends(keeper: Keeper) -> None:
    answer, behind = keeper.asking.read(PLACE, 1), keeper.asking.delete(PLACE)
    while not answer.settled:
        keeper.refuse(NotCoordinator("not here"))
        keeper.pass_time(50)
    assert 5.0 <= keeper.clock.monotonic() - ManualClock().monotonic() < 5.2
    assert isinstance(heard(answer)[0], NotCoordinator)
    assert heard(behind) == [], "whose patience begins now"
    keeper.refuse(NotCoordinator("not here"))
    keeper.pass_time(50)
    keeper.resolve()
    assert heard(behind) == [None]


def test_who_was_fenced_is_told_at_once(keeper: Keeper) -> None:
    answer = keeper.asking.write(PLACE, 1, 1, ShareChange())
    keeper.refuse(FencedLeaderEpoch("another leads"))
    assert isinstance(heard(answer)[0], FencedLeaderEpoch)
    assert len(keeper.asked) == 1


def test_writes_that_wait_become_one(keeper: Keeper) -> None:
    letters = LetterProducer(7, 1)
    answers = [
        keeper.asking.write(PLACE, 1, 1, change)
        for change in (
            ShareChange(1),
            ShareChange(5, 2, (done(7, 7), StateBatch(9, 9, DeliveryState.AVAILABLE, 1)), letters),
            ShareChange(-1, 3, (done(8, 9),)),
        )
    ]
    keeper.resolve()
    assert keeper.questions[-1] == WriteState(PLACE, 1, 1, ShareChange(5, 3, (done(7, 9),), letters))
    assert [heard(answer) for answer in answers] == [[None], [], []]
    keeper.resolve()
    assert [heard(answer) for answer in answers] == [[None]] * 3
    assert len(keeper.asked) == 2


def test_writes_of_other_epochs_or_behind_something_else_stay_apart(keeper: Keeper) -> None:
    asking = keeper.asking
    asking.write(PLACE, 1, 1, ShareChange(1))
    asking.write(PLACE, 1, 1, ShareChange(2))
    asking.write(PLACE, 2, 1, ShareChange(3))
    asking.delete(PLACE)
    asking.write(PLACE, 2, 1, ShareChange(4))
    while asking.statistics()["waiting"]:
        keeper.resolve()
    starts = [getattr(getattr(question, "change", None), "start_offset", None) for question in keeper.questions]
    assert starts == [1, 2, 3, None, 4]


def test_not_everything_is_kept_waiting(keeper: Keeper) -> None:
    answers = [keeper.asking.read(PLACE, 1) for _ in range(MOST_WAITING + 1)]
    assert isinstance(heard(answers[-1])[0], CoordinatorNotAvailable)
    assert heard(answers[-2]) == []


def test_a_bug_is_told_to_who_asked_and_the_others_go_on(keeper: Keeper) -> None:
    bugs: list[Exception] = []
    keeper.asking.read(PLACE, 1).when_settled(print, print, bugs.append)
    keeper.asking.delete(PLACE)
    keeper.asked[-1][1].fail(ValueError("bug"))
    assert [str(bug) for bug in bugs] == ["bug"]
    assert keeper.questions[-1] == DeleteState(PLACE)
