"""What can be asked of `ShareStates`, as things that can be kept, sent to another node and asked again."""

from typing import Any

from attrs import frozen

from coordinators.share.overlay import overlay
from coordinators.share.ports import ShareChange, SharePlace, ShareStates
from engine.deferred import Deferred


@frozen
class InitializeState:
    place: SharePlace
    state_epoch: int
    start_offset: int


@frozen
class ReadState:
    place: SharePlace
    leader_epoch: int


@frozen
class WriteState:
    place: SharePlace
    state_epoch: int
    leader_epoch: int
    change: ShareChange

    def followed_by(self, later: "WriteState", most_batches: int) -> "WriteState | None":
        """Both as one, if they can be."""
        if (self.state_epoch, self.leader_epoch) != (later.state_epoch, later.leader_epoch):
            return None
        if len(self.change.batches) + len(later.change.batches) > most_batches:
            return None
        first, second = self.change, later.change
        change = ShareChange(
            max(first.start_offset, second.start_offset),
            second.complete_count,
            overlay(overlay((), first.batches), second.batches),
            first.letter_producer if second.letter_producer is None else second.letter_producer,
        )
        return WriteState(self.place, self.state_epoch, self.leader_epoch, change)


@frozen
class DeleteState:
    place: SharePlace


@frozen
class SummarizeState:
    place: SharePlace


StateQuestion = InitializeState | ReadState | WriteState | DeleteState | SummarizeState


def ask(states: ShareStates, question: StateQuestion) -> Deferred[Any]:
    """Have it answered."""
    match question:
        case InitializeState(place, state_epoch, start_offset):
            return states.initialize(place, state_epoch, start_offset)
        case ReadState(place, leader_epoch):
            return states.read(place, leader_epoch)
        case WriteState(place, state_epoch, leader_epoch, change):
            return states.write(place, state_epoch, leader_epoch, change)
        case DeleteState(place):
            return states.delete(place)
        case SummarizeState(place):
            return states.summary(place)
