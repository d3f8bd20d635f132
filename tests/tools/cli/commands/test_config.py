"""Settings from the command line."""

import pytest

from tests.tools.cli.conftest import Tidegate


def test_settings_of_a_topic_are_set_and_seen(tidegate: Tidegate, topic: str) -> None:
    assert "default" in tidegate("config", "get", "topic", topic).err
    assert tidegate("config", "set", "topic", topic, "retention.ms=1000", "--dry-run").code == 0
    assert tidegate("config", "get", "topic", topic, "-o", "json").data == []
    assert tidegate("config", "set", "topic", topic, "retention.ms=1000", "max.message.bytes=5000").code == 0
    rows = tidegate("config", "get", "topic", topic, "-o", "json").data
    assert {row["name"]: (row["value"], row["source"]) for row in rows} == {
        "max.message.bytes": ("5000", "topic"),
        "retention.ms": ("1000", "topic"),
    }
    assert tidegate("config", "set", "topic", topic, "--unset", "retention.ms").code == 0
    assert [row["name"] for row in tidegate("config", "get", "topic", topic, "-o", "json").data] == [
        "max.message.bytes"
    ]


def test_one_key_is_asked_for(tidegate: Tidegate, topic: str) -> None:
    (row,) = tidegate("config", "get", "topic", topic, "retention.ms", "-o", "json").data
    assert row["source"] == "default"
    assert tidegate("config", "get", "topic", topic, "retention.millis").code == 4


def test_settings_of_a_node_are_shown(tidegate: Tidegate) -> None:
    rows = tidegate("config", "get", "broker", "1", "--all", "--docs", "-o", "json").data
    assert {"num.partitions", "log.dirs"} <= {row["name"] for row in rows}
    assert all(row["documentation"] for row in rows)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["get", "topic", "gone"], 4, "gone"),
        (["get", "broker", "77"], 2, "no node '77'"),
        (["get", "shop", "x"], 2, "shop"),
        (["set", "topic", "gone", "retention.ms=1"], 4, "gone"),
        (["set", "topic", "gone", "retention.ms"], 2, "no setting"),
        (["set", "topic", "gone"], 2, "nothing to set"),
    ],
)
def test_what_cannot_be_is_told(tidegate: Tidegate, arguments: list[str], code: int, said: str) -> None:
    ended = tidegate("config", *arguments)
    assert ended.code == code
    assert said in ended.err
