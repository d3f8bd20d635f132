"""Delayed records from the command line."""

import time

import pytest

from tests.tools.cli.conftest import Tidegate

PATIENCE_S = 30.0
NUMBERED = "#"
"""How the id of a record begins that was given none: its number in the stage, where other things are noted too."""


def _unnumbered(identity: str) -> str:
    return NUMBERED if identity.startswith(NUMBERED) else identity


@pytest.fixture
def waiting(tidegate: Tidegate, topic: str) -> str:
    """A topic in which `call` waits for an hour and another record for a day."""
    sent = tidegate("produce", topic, "call Bob", "-k", "bob", "--delay", "1h", "--schedule-id", "call", "-H", "a=1")
    assert sent.code == 0
    assert tidegate("produce", topic, "later", "--delay", "1d").code == 0
    return topic


def test_what_waits_is_listed_the_next_one_first(tidegate: Tidegate, waiting: str) -> None:
    rows = tidegate("pending", "list", waiting, "-o", "json").data
    assert [(_unnumbered(row["id"]), row["key"], row["priority"]) for row in rows] == [
        ("call", "bob", "normal"),
        (NUMBERED, None, "normal"),
    ]
    assert 3_000_000 < rows[0]["due_in_ms"] <= 3_600_000
    assert "call" in tidegate("pending", "list", waiting).out


def test_a_list_is_bounded_by_time_and_number(tidegate: Tidegate, waiting: str) -> None:
    assert [row["id"] for row in tidegate("pending", "list", waiting, "--until", "+2h", "-o", "json").data] == ["call"]
    (later,) = tidegate("pending", "list", waiting, "--since", "+2h", "-o", "json").data
    assert _unnumbered(later["id"]) == NUMBERED
    one = tidegate("pending", "list", waiting, "--limit", "1")
    assert "1 of 2" in one.err


def test_what_waits_is_listed_over_all_topics(tidegate: Tidegate, waiting: str) -> None:
    assert tidegate("produce", f"{waiting}-too", "x", "-k", "k", "--delay", "30m", "--schedule-id", "sooner").code == 0
    rows = tidegate("pending", "list", "--limit", "1000", "-o", "json").data
    ours = [(row["topic"], _unnumbered(row["id"])) for row in rows if row["topic"].startswith(waiting)]
    assert ours == [(f"{waiting}-too", "sooner"), (waiting, "call"), (waiting, NUMBERED)]
    assert [row["due_ms"] for row in rows] == sorted(row["due_ms"] for row in rows)
    first = tidegate("pending", "list", "--limit", "1")
    assert first.out.split()[0] == "topic"
    assert f"1 of {len(rows)}" in first.err


def test_nothing_waiting_is_no_error(tidegate: Tidegate, topic: str) -> None:
    ended = tidegate("pending", "list", topic)
    assert (ended.code, ended.out) == (0, "")
    assert "nothing waits" in ended.err


def test_it_is_counted_when_records_are_due(tidegate: Tidegate, waiting: str) -> None:
    buckets = tidegate("pending", "histogram", waiting, "-o", "json").data
    assert sum(bucket["records"] for bucket in buckets) == 2
    drawn = tidegate("pending", "histogram", waiting).out
    assert "10m to 1h" in drawn
    assert "█" in drawn


def test_one_is_looked_at(tidegate: Tidegate, waiting: str) -> None:
    found = tidegate("pending", "show", waiting, "call", "-o", "json").data
    assert (found["value"], found["key"], found["state"]) == ("call Bob", "bob", "waiting")
    assert {"name": "a", "value": "1"} in found["headers"]
    assert "call Bob" in tidegate("pending", "show", waiting, "call").out


def test_one_is_cancelled_and_its_fate_remembered(tidegate: Tidegate, waiting: str) -> None:
    assert tidegate("pending", "fate", waiting, "call", "-o", "json").data["fate"] == "PENDING"
    assert tidegate("pending", "cancel", waiting, "call").out == f"cancelled call in {waiting}-0\n"
    assert tidegate("pending", "fate", waiting, "call", "-o", "json").data["fate"] == "CANCELLED"
    assert "CANCELLED" in tidegate("pending", "show", waiting, "call").out
    again = tidegate("pending", "cancel", waiting, "call")
    assert again.code in (4, 5)
    assert again.err.startswith("tidegate: ")


def test_one_is_moved(tidegate: Tidegate, waiting: str) -> None:
    due_ms = tidegate("pending", "reschedule", waiting, "call", "--delay", "2h", "-o", "json").data["due_ms"]
    # A delay runs by the broker's steady clock; its wall time is reckoned anew whenever somebody asks.
    assert abs(tidegate("pending", "list", waiting, "-o", "json").data[0]["due_ms"] - due_ms) < 1_000
    exact = tidegate("pending", "reschedule", waiting, "call", "--at", f"{due_ms + 5}", "-o", "json").data
    assert exact["due_ms"] == due_ms + 5
    assert tidegate("pending", "reschedule", waiting, "call").code == 2


def test_one_is_released_now(tidegate: Tidegate, waiting: str) -> None:
    assert tidegate("pending", "release", waiting, "call").code == 0
    deadline = time.monotonic() + PATIENCE_S
    while tidegate("pending", "fate", waiting, "call", "-o", "json").data["fate"] != "DELIVERED":
        assert time.monotonic() < deadline
    assert tidegate("consume", waiting, "-e").out == "call Bob\n"


def test_figures_are_told(tidegate: Tidegate, waiting: str) -> None:
    found = tidegate("pending", "stats", "-o", "json").data
    assert {each["topic"]: each["pending"] for each in found["topics"]}[waiting] == 2
    assert found["sum"]["pending"] >= 2
    assert waiting in tidegate("pending", "stats").out


def test_figures_tell_what_the_size_is_of(tidegate: Tidegate, topic: str) -> None:
    assert tidegate("produce", topic, "x", "--priority", "low").code == 0
    found = {each["topic"]: each for each in tidegate("pending", "stats", "-o", "json").data["topics"]}[topic]
    assert (found["pending"], found["ready"]) == (0, 1)
    assert found["pending_bytes"] > 0
    (line,) = (line for line in tidegate("pending", "stats").out.splitlines() if line.startswith(topic))
    assert line.split()[1:3] == ["0", "1"]


def test_several_partitions_may_know_an_id(tidegate: Tidegate) -> None:
    tidegate("topic", "create", "cli-twice", "-p", "2")
    for partition in ("0", "1"):
        tidegate("produce", "cli-twice", "x", "-k", "k", "-p", partition, "--delay", "1h", "--schedule-id", "same")
    unclear = tidegate("pending", "cancel", "cli-twice", "same")
    assert (unclear.code, "--partition" in unclear.err) == (2, True)
    assert tidegate("pending", "cancel", "cli-twice", "same", "-p", "1").code == 0
    assert tidegate("pending", "cancel", "cli-twice", "same").code == 0, "only one is left that waits"


def test_what_is_not_there_is_status_4(tidegate: Tidegate, waiting: str) -> None:
    for arguments in (["show", waiting, "gone"], ["fate", waiting, "gone"], ["list", "gone"], ["cancel", "gone", "x"]):
        ended = tidegate("pending", *arguments)
        assert ended.code == 4, arguments
        assert "gone" in ended.err
