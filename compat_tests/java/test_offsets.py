"""GetOffsetShell in all its ways to name a time, and DeleteRecordsCommand."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.clients import Record
from compat_tests.clients.confluent import Confluent
from compat_tests.java.tool import tool

BASE_MS = 1_700_000_000_000


@pytest.fixture
def topic(bootstrap: str, make_topic: Callable[..., str]) -> str:
    """Three records; the second has the highest timestamp."""
    name = make_topic()
    stamps = (BASE_MS, BASE_MS + 2000, BASE_MS + 1000)
    Confluent().produce(bootstrap, name, [Record(b"x", timestamp_ms=stamp) for stamp in stamps])
    return name


@pytest.mark.parametrize(
    ("time", "offset"),
    [
        ("latest", 3),
        ("earliest", 0),
        ("max-timestamp", 1),
        ("-3", 1),
        (str(BASE_MS + 500), 1),
        (str(BASE_MS + 9000), None),
        ("earliest-local", 0),
        ("latest-tiered", None),
    ],
)
def test_offsets(bootstrap: str, topic: str, time: str, offset: int | None) -> None:
    shown = tool("GetOffsetShell", bootstrap, "--topic", topic, "--time", time)
    expected = [] if offset is None else [f"{topic}:0:{offset}"]
    assert shown.split() == expected


def test_delete_records(bootstrap: str, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    where = {"topic": topic, "partition": 0, "offset": 2}
    file.write_text(json.dumps({"partitions": [where], "version": 1}))
    shown = tool("DeleteRecordsCommand", bootstrap, "--offset-json-file", str(file))
    assert f"partition: {topic}-0\tlow_watermark: 2" in shown
    assert tool("GetOffsetShell", bootstrap, "--topic", topic, "--time", "earliest").split() == [f"{topic}:0:2"]
