"""Asking for the state of share partitions where it is kept on some node: in order, and again while that moves.

Of one share partition one question is under way at a time. A question whose outcome is not known, because the link to
the other node broke, is asked again, and would undo what was written after it if that were under way already. Asked
twice in a row, each of them changes nothing the second time. Writes that come meanwhile become one.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from attrs import define, field

from coordinators.share.machine import MOST_BATCHES
from coordinators.share.ports import ShareChange, SharePlace, ShareState
from coordinators.share.questions import (
    DeleteState,
    InitializeState,
    ReadState,
    StateQuestion,
    SummarizeState,
    WriteState,
)
from engine.clock import Clock
from engine.deferred import Deferred
from engine.errors import BrokerError, CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator
from engine.timers import Timers

PAUSE_S = 0.05
PASSING = (NotCoordinator, CoordinatorLoadInProgress, CoordinatorNotAvailable)
MOST_WAITING = 1_000
"""Questions of one share partition; a leader asks few."""


@define(eq=False)
class _Asked:
    """A question, and all who wait for its answer."""

    question: StateQuestion
    deadline: float
    answers: list[Deferred[Any]] = field(factory=list)


@define(eq=False)
class OrderlyAsking:
    """See the module, and `ShareStates`. `attempt` asks once, wherever the state is kept now."""

    attempt: Callable[[StateQuestion], Deferred[Any]]
    clock: Clock
    timers: Timers
    patience_s: float
    _waiting: dict[SharePlace, deque[_Asked]] = field(factory=dict, init=False)
    """The first of each is under way."""

    def initialize(self, place: SharePlace, state_epoch: int, start_offset: int) -> Deferred[None]:
        return self._ask(InitializeState(place, state_epoch, start_offset))

    def read(self, place: SharePlace, leader_epoch: int) -> Deferred[ShareState]:
        return self._ask(ReadState(place, leader_epoch))

    def write(self, place: SharePlace, state_epoch: int, leader_epoch: int, change: ShareChange) -> Deferred[None]:
        return self._ask(WriteState(place, state_epoch, leader_epoch, change))

    def delete(self, place: SharePlace) -> Deferred[None]:
        return self._ask(DeleteState(place))

    def summary(self, place: SharePlace) -> Deferred[ShareState]:
        return self._ask(SummarizeState(place))

    def statistics(self) -> dict[str, int]:
        """Questions that are not answered yet."""
        return {"waiting": sum(map(len, self._waiting.values()))}

    # -- internals

    def _ask(self, question: StateQuestion) -> Deferred[Any]:
        answer: Deferred[Any] = Deferred()
        waiting = self._waiting.setdefault(question.place, deque())
        if self._joined(waiting, question, answer):
            return answer
        if len(waiting) >= MOST_WAITING:
            answer.refuse(CoordinatorNotAvailable(f"{len(waiting)} others ask for {question.place.key} already"))
            return answer
        waiting.append(_Asked(question, self.clock.monotonic() + self.patience_s, [answer]))
        if len(waiting) == 1:
            self._try(waiting[0])
        return answer

    def _joined(self, waiting: deque[_Asked], question: StateQuestion, answer: Deferred[Any]) -> bool:
        """Whether it could be made one with the last that waits, which is not the one under way."""
        if len(waiting) < 2 or not isinstance(question, WriteState):
            return False
        last = waiting[-1]
        if not isinstance(last.question, WriteState):
            return False
        both = last.question.followed_by(question, MOST_BATCHES)
        if both is None:
            return False
        last.question = both
        last.answers.append(answer)
        return True

    def _try(self, asked: _Asked) -> None:
        def refused(error: BrokerError) -> None:
            if isinstance(error, PASSING) and self.clock.monotonic() < asked.deadline:
                self.timers.call_at(self.clock.monotonic() + PAUSE_S, lambda: self._try(asked))
            else:
                self._settle(asked, lambda answer: answer.refuse(error))

        self.attempt(asked.question).when_settled(
            lambda value: self._settle(asked, lambda answer: answer.resolve(value)),
            refused,
            lambda bug: self._settle(asked, lambda answer: answer.fail(bug)),
        )

    def _settle(self, asked: _Asked, settle: Callable[[Deferred[Any]], object]) -> None:
        place = asked.question.place
        waiting = self._waiting[place]
        assert waiting[0] is asked, "one at a time"
        waiting.popleft()
        if waiting:
            # Its patience begins now: it could do nothing before.
            waiting[0].deadline = self.clock.monotonic() + self.patience_s
            self._try(waiting[0])
        else:
            del self._waiting[place]
        for answer in asked.answers:
            settle(answer)
