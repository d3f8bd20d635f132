"""The lanes from the command line."""

from tests.tools.cli.conftest import Tidegate


def test_the_lanes_are_shown(tidegate: Tidegate, topic: str) -> None:
    tidegate("produce", topic, "a", "b", "--priority", "high")
    rows = tidegate("priority", "show", topic, "-o", "json").data
    assert [row["priority"] for row in rows] == ["critical", "high", "normal", "low", "background"]
    assert [row["ready"] for row in rows] == [0, 2, 0, 0, 0]
    assert [row["enqueued"] for row in rows] == [0, 2, 0, 0, 0]
    assert "background" in tidegate("priority", "show", topic).out


def test_a_topic_without_priorities_has_none(tidegate: Tidegate, topic: str) -> None:
    assert tidegate("priority", "show", topic, "-o", "json").data == []
    assert tidegate("priority", "show", "cli-no-such").code == 4
