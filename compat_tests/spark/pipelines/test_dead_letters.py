"""`dead-letters`: letters of several kinds, grouped alike, and a list that says where each belongs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compat_tests.admin import create_topic
from compat_tests.clients.base import Record
from compat_tests.extensions.holding import tide, tidegate_only
from compat_tests.spark.pipelines.running import committed, run
from compat_tests.spark.reading import frame, send
from compat_tests.waiting import eventually
from tools.pipelines.options import PipelineError

MakeTopic = Callable[..., str]
BASE_MS = 1_760_000_400_000


def connect(partition: int, offset: int, error: str) -> tuple[tuple[str, bytes], ...]:
    told = {
        "topic": "orders",
        "partition": str(partition),
        "offset": str(offset),
        "connector.name": "sink",
        "exception.class.name": error,
        "exception.message": "it broke",
    }
    return tuple((f"__connect.errors.{name}", value.encode()) for name, value in told.items())


SPRING = (
    ("kafka_dlt-original-topic", b"orders"),
    ("kafka_dlt-original-partition", (3).to_bytes(4, "big")),
    ("kafka_dlt-original-offset", (2**33).to_bytes(8, "big")),
    ("kafka_dlt-original-consumer-group", b"billing"),
    ("kafka_dlt-exception-fqcn", b"java.lang.IllegalStateException"),
)


@pytest.fixture
def post(bootstrap: str, topic_name: str) -> list[str]:
    """Two topics with letters of Connect, of Spring, of share groups and of nobody in particular."""
    topics = [f"{topic_name}.dlq", f"{topic_name}-DLT"]
    for topic in topics:
        create_topic(bootstrap, topic)
    share = [("topic", "orders"), ("partition", "1"), ("offset", "8"), ("group", "crew"), ("message", "rejected")]
    letters = [
        *(Record(b"c%d" % n, b"k", connect(n, 10 + n, "JsonError"), BASE_MS + n * 1000) for n in range(5)),
        Record(b"other", None, connect(0, 1, "TimeoutError"), BASE_MS),
        Record(b"share", None, tuple((f"__dlq.errors.{name}", value.encode()) for name, value in share), BASE_MS),
        Record(b"\xff\x00", None, (), BASE_MS),
    ]
    send(bootstrap, topics[0], letters)
    send(bootstrap, topics[1], [Record(b"s", b"\xfe", SPRING, BASE_MS)])
    return topics


def test_groups_samples_and_the_list(
    spark: Any, bootstrap: str, post: list[str], topic_name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"pattern": f"{topic_name}.*", "samples": 2, "group": topic_name}
    assert run("dead-letters", bootstrap, output=str(tmp_path), **options) == 0
    assert committed(bootstrap, topic_name) == {(post[0], 0): 8, (post[1], 0): 1}
    groups = json.loads((tmp_path / "groups.json").read_text())
    assert [
        (each["error"], each["origin_topic"], each["consumer"], each["style"], each["letters"]) for each in groups
    ] == [
        ("JsonError", "orders", "sink", "connect", 5),
        (None, topic_name, None, "unknown", 1),
        ("TimeoutError", "orders", "sink", "connect", 1),
        ("java.lang.IllegalStateException", "orders", "billing", "spring", 1),
        ("rejected", "orders", "crew", "broker", 1),
    ]
    assert (groups[0]["first_seen"], groups[0]["last_seen"]) == ("2025-10-09T09:00:00.000Z", "2025-10-09T09:00:04.000Z")
    assert [(each["value"], each["origin_offset"]) for each in groups[0]["samples"]] == [("c4", "14"), ("c3", "13")]
    assert groups[3]["samples"][0]["origin_offset"] == str(2**33)
    assert groups[1]["samples"][0]["value"] == "\\xff\x00"
    lines = [json.loads(line) for line in (tmp_path / "redrive.jsonl").read_text().splitlines()]
    assert len(lines) == 9
    assert lines[0] == {
        "topic": post[1],
        "partition": 0,
        "offset": 0,
        "to": "orders",
        "to_partition": 3,
        "key_base64": "/g==",
        "error": "java.lang.IllegalStateException",
    }
    assert [line["offset"] for line in lines[1:]] == list(range(8))
    assert "5  JsonError  from orders by sink" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text()
    assert "JsonError, from orders: 1 from 2025-10-09 09:00:04 UTC" in page
    assert "<b>56 %</b><span>JsonError</span>" in page


def test_only_some(spark: Any, bootstrap: str, post: list[str], tmp_path: Path) -> None:
    options = {"topics": post, "error": "^Json", "origin": "orders", "until": str(BASE_MS + 2500)}
    run("dead-letters", bootstrap, output=str(tmp_path), **options)
    lines = (tmp_path / "redrive.jsonl").read_text().splitlines()
    assert [json.loads(line)["offset"] for line in lines] == [0, 1, 2]


def test_no_such_topics(spark: Any, bootstrap: str, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="no topic matches 'nothing'"):
        run("dead-letters", bootstrap, output=str(tmp_path), pattern="nothing")


@tidegate_only
def test_letters_of_the_broker_itself(spark: Any, bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(expiry_policy="dlq")
    create_topic(bootstrap, f"{topic}.dlq")
    # Due after it has expired, so that nobody can be quicker.
    send(bootstrap, topic, [Record(b"old", b"k", tide(delay=400, expires_at=1))])
    eventually(lambda: frame(spark, bootstrap, f"{topic}.dlq").count(), 1, 30)
    run("dead-letters", bootstrap, output=str(tmp_path), topics=[f"{topic}.dlq"])
    (group,) = json.loads((tmp_path / "groups.json").read_text())
    assert (group["origin_topic"], group["style"]) == (topic, "broker")
    assert "expired" in group["error"]
