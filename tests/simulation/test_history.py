"""The checker finds what it is there for: each anomaly, planted in a history, and none in an honest one."""

from collections.abc import Callable

import pytest
import trio

from tests.simulation.history import History, Sent, Transaction, torn
from tests.simulation.running import run_simulated

PLACE = ("t", 0)
MARKS = ("a", "b", "c")
HONEST = dict(enumerate(MARKS))


def _sent(*marks: str, **fields: object) -> list[Sent]:
    return [Sent(PLACE, mark, fate="acknowledged", **fields) for mark in marks]  # type: ignore[arg-type]


def _lost(history: History) -> None:
    history.judge(PLACE, {0: "a", 2: "c"})


def _duplicate(history: History) -> None:
    history.judge(PLACE, {**HONEST, 3: "a"})


def _reordered(history: History) -> None:
    history.judge(PLACE, {0: "b", 1: "a", 2: "c"})


def _never_sent(history: History) -> None:
    history.judge(PLACE, {**HONEST, 3: "x"})


def _refused(history: History) -> None:
    history.sent[1].fate = "refused"
    history.judge(PLACE, HONEST)


def _released_twice(history: History) -> None:
    history.sent += _sent("d", due_s=0.001, is_ordered=False)
    history.judge(PLACE, {**HONEST, 3: "d", 4: "d"})


def _early(history: History) -> None:
    history.sent += _sent("d", due_s=trio.current_time() + 1)
    history.saw(PLACE, {3: "d"})


def _inconsistent(history: History) -> None:
    history.saw(PLACE, {1: "b"})
    history.saw(PLACE, {1: "c"})


def _gone(history: History) -> None:
    history.sent += [Sent(PLACE, "d")]
    history.saw(PLACE, {3: "d"})
    history.judge(PLACE, HONEST)


def _end_gone(history: History) -> None:
    history.told_end(PLACE, 4)
    history.judge(PLACE, HONEST, end=3)


def _aborted(history: History) -> None:
    history.transactions.append(Transaction(_sent("x"), "aborted"))
    history.judge(PLACE, {**HONEST, 3: "x"})


def _lost_of_transaction(history: History) -> None:
    history.transactions.append(Transaction(_sent("x", "y"), "committed"))
    history.judge(PLACE, {**HONEST, 3: "x"})


PLANTED_ANOMALIES: dict[str, Callable[[History], None]] = {
    "lost": _lost,
    "duplicate": _duplicate,
    "reordered": _reordered,
    "never sent": _never_sent,
    "refused yet stored": _refused,
    "released twice": _released_twice,
    "delivered before it was due": _early,
    "inconsistent offsets": _inconsistent,
    "read and gone": _gone,
    "told end did not survive": _end_gone,
    "aborted yet read": _aborted,
    "lost of a committed transaction": _lost_of_transaction,
}


def _judged(plant: Callable[[History], None]) -> set[str]:
    history = History(sent=_sent(*MARKS))

    async def program() -> None:
        plant(history)

    run_simulated(program)
    return {anomaly.kind for anomaly in history.anomalies}


@pytest.mark.parametrize("kind", PLANTED_ANOMALIES)
def test_a_planted_anomaly_is_found_and_called_by_its_name(kind: str) -> None:
    assert kind in _judged(PLANTED_ANOMALIES[kind])


def test_nothing_is_found_in_an_honest_history() -> None:
    def plant(history: History) -> None:
        history.sent += [Sent(PLACE, "unknown"), Sent(PLACE, "another")]
        history.transactions += [Transaction(_sent("x"), "committed"), Transaction(_sent("y"), "unknown")]
        found = {**HONEST, 3: "another", 5: "x"}
        history.saw(PLACE, found)
        history.told_end(PLACE, 6)
        history.judge(PLACE, found, end=6)

    assert _judged(plant) == set()


def test_a_wall_clock_that_runs_ahead_excuses_what_comes_early_by_so_much() -> None:
    def plant(history: History) -> None:
        history.wall_slack_s = 2.0
        _early(history)

    assert _judged(plant) == set()


def test_a_transaction_of_which_only_some_is_seen_is_torn() -> None:
    transactions = [Transaction(_sent("a", "b")), Transaction(_sent("c", "d")), Transaction(_sent("e", "f"))]
    assert torn(transactions, {"a", "c", "d"}) == ["a"]
