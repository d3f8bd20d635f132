"""The states of a transactional id, and from which each can be reached.

A transaction is Ongoing from its first partition on. Its end is decided when Prepare... is durable; Complete...
follows when every partition has its marker. PrepareEpochFence exists in Kafka's memory only and is never written.
"""

from enum import IntEnum


class State(IntEnum):
    """With the numbers under which Kafka's records hold them."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """Kafka's name of the state, as tools show it."""
        return "".join(word.capitalize() for word in self.name.split("_"))


PREPARED = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})
COMPLETED = frozenset({State.COMPLETE_COMMIT, State.COMPLETE_ABORT})
IDLE = COMPLETED | {State.EMPTY}

BEFORE: dict[State, frozenset[State]] = {
    State.EMPTY: IDLE,
    State.ONGOING: IDLE | {State.ONGOING},
    State.PREPARE_COMMIT: frozenset({State.ONGOING}),
    # Under transaction version 2 a producer may abort what it never began, to have its epoch raised (KIP-890).
    State.PREPARE_ABORT: IDLE | {State.ONGOING},
    State.COMPLETE_COMMIT: frozenset({State.PREPARE_COMMIT}),
    State.COMPLETE_ABORT: frozenset({State.PREPARE_ABORT}),
}

BY_LABEL = {state.label: state for state in State}
