"""The small benchmark."""

from tests.tools.cli.conftest import Tidegate


def test_it_measures_and_leaves_nothing_behind(tidegate: Tidegate) -> None:
    ended = tidegate("bench", "--records", "500", "--pings", "5", "--size", "50", "-o", "json")
    assert [(row["load"], row["records"]) for row in ended.data] == [
        ("produce", 500),
        ("consume", 500),
        ("one at a time", 5),
    ]
    assert all(row["records_per_second"] > 0 for row in ended.data)
    assert ended.data[2]["p50_ms"] <= ended.data[2]["p99_ms"]
    assert tidegate("topic", "list", "tidegate-bench-.*", "-o", "json").data == []


def test_the_topic_is_kept_if_asked(tidegate: Tidegate) -> None:
    assert tidegate("bench", "-n", "10", "--pings", "1", "--keep", "--acks", "1", "-z", "zstd").code == 0
    (kept,) = tidegate("topic", "list", "tidegate-bench-.*", "-o", "json").data
    tidegate("topic", "delete", kept["name"], "--yes")


def test_a_load_that_cannot_be_measured_is_told(tidegate: Tidegate) -> None:
    assert tidegate("bench", "--acks", "0").code == 2
