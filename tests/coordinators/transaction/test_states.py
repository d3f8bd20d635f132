"""The states by Kafka's numbers and names."""

from coordinators.transaction.states import BEFORE, BY_LABEL, IDLE, PREPARED, State


def test_states_have_the_names_that_tools_show() -> None:
    assert [state.label for state in State] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
    assert BY_LABEL["PrepareAbort"] is State(3)


def test_a_decision_is_followed_by_its_completion_alone() -> None:
    for state in PREPARED:
        followers = [after for after, before in BEFORE.items() if state in before]
        assert followers == [State(state + 2)]


def test_what_is_idle_may_begin_anew() -> None:
    assert BEFORE[State.ONGOING] > IDLE
    assert BEFORE[State.EMPTY] == IDLE
