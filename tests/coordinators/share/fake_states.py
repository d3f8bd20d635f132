"""Where the state of share partitions is kept, for tests: in memory, durable when told."""

from collections import deque
from typing import Any

from attrs import define, evolve, field

from coordinators.share.overlay import overlay
from coordinators.share.ports import UNCHANGED, UNINITIALISED, ShareChange, SharePlace, ShareState
from engine.deferred import Deferred
from engine.errors import BrokerError, FencedStateEpoch


@define(eq=False)
class FakeStates:
    """`hold` keeps answers back until `go_on`; `refusal` is what everything is answered with."""

    states: dict[SharePlace, ShareState] = field(factory=dict)
    hold: bool = False
    refusal: BrokerError | None = None
    writes: list[ShareChange] = field(factory=list)
    _held: deque[Any] = field(factory=deque)

    def initialize(self, place: SharePlace, state_epoch: int, start_offset: int) -> Deferred[None]:
        self.states[place] = ShareState(state_epoch, 0, start_offset)
        return self._answer(None)

    def read(self, place: SharePlace, leader_epoch: int) -> Deferred[ShareState]:
        state = evolve(self.states.get(place, ShareState()), leader_epoch=leader_epoch)
        self.states[place] = state
        return self._answer(state)

    def write(self, place: SharePlace, state_epoch: int, leader_epoch: int, change: ShareChange) -> Deferred[None]:
        self.writes.append(change)
        state = self.states[place]
        if state_epoch < state.state_epoch:
            return Deferred.refused(FencedStateEpoch("made anew"))
        start = state.start_offset if change.start_offset == UNCHANGED else change.start_offset

        def carry_out() -> None:
            batches = overlay(state.batches, change.batches, start)
            self.states[place] = ShareState(
                state_epoch, leader_epoch, start, change.complete_count, batches, change.letter_producer
            )

        return self._answer(None, carry_out)

    def delete(self, place: SharePlace) -> Deferred[None]:
        self.states.pop(place, None)
        return self._answer(None)

    def summary(self, place: SharePlace) -> Deferred[ShareState]:
        return self._answer(evolve(self.states.get(place, ShareState(start_offset=UNINITIALISED)), batches=()))

    def _answer(self, value: Any, carry_out: Any = lambda: None) -> Deferred[Any]:
        answer = Deferred[Any]()

        def settle() -> None:
            if self.refusal is not None:
                answer.refuse(self.refusal)
            else:
                carry_out()
                answer.resolve(value)

        if self.hold:
            self._held.append(settle)
        else:
            settle()
        return answer

    def go_on(self) -> None:
        """Answer what was asked so far."""
        held, self._held = self._held, deque()
        for settle in held:
            settle()
