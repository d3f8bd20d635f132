"""Timelines from the command line."""

import time

import pytest

from tests.tools.cli.conftest import Tidegate

PATIENCE_S = 30.0


@pytest.fixture
def trace(tidegate: Tidegate, topic: str) -> str:
    """The id of a traced record at offset 0 of the topic."""
    trace_id = tidegate("produce", topic, "a", "-k", "table-4", "--trace", "-o", "json").data["trace_id"]
    tidegate("consume", topic, "-g", f"g-{topic}", "-e")
    deadline = time.monotonic() + PATIENCE_S
    while tidegate("trace", "show", trace_id).code != 0:
        assert time.monotonic() < deadline
    return str(trace_id)


def test_a_timeline_is_shown_by_trace_and_by_place(tidegate: Tidegate, topic: str, trace: str) -> None:
    (found,) = tidegate("trace", "show", trace, "-o", "json").data
    assert (found["topic"], found["offset"], found["key"]) == (topic, 0, "table-4")
    assert found["steps"][0]["event"] == "publish.received"
    shown = tidegate("trace", "show", f"{topic}/0/0").out
    assert f"trace {trace}" in shown
    assert "publish.received" in shown


def test_traces_are_searched(tidegate: Tidegate, topic: str, trace: str) -> None:
    for options in (["--topic", topic], ["--topic", topic, "--key", "table-4"], ["-t", topic, "--since", "-10m"]):
        assert [each["trace_id"] for each in tidegate("trace", "search", *options, "-o", "json").data] == [trace]
    assert tidegate("trace", "search", "-t", topic, "--key", "other", "-o", "json").data == []
    assert tidegate("trace", "search", "-t", topic, "--slower-than", "1d", "-o", "json").data == []
    assert trace in tidegate("trace", "search", "--topic", topic).out


@pytest.mark.parametrize(
    ("which", "code"), [("0" * 32, 4), ("nope/0/1", 4), ("nonsense", 2), ("a/b/c", 2), ("orders/0", 2)]
)
def test_what_is_not_there_or_cannot_be_is_told(tidegate: Tidegate, which: str, code: int) -> None:
    ended = tidegate("trace", "show", which)
    assert ended.code == code
    assert ended.err.startswith("tidegate: ")


def test_a_wrong_status_is_told(tidegate: Tidegate) -> None:
    assert tidegate("trace", "search", "--status", "nonsense").code != 0
