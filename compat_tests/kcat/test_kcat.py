"""kcat from the command line, as people use it."""

import json
from collections.abc import Callable

import pytest

from compat_tests.clients import Record
from compat_tests.clients.confluent import Confluent
from compat_tests.clients.kcat import kcat, run_kcat
from compat_tests.wire.requests import batches

BASE_MS = 1_700_000_000_000
MakeTopic = Callable[..., str]


@pytest.fixture
def topic(bootstrap: str, make_topic: MakeTopic) -> str:
    """Ten records, a second apart."""
    name = make_topic()
    records = [
        Record(f"value {number}".encode(), f"key {number}".encode(), timestamp_ms=BASE_MS + 1000 * number)
        for number in range(10)
    ]
    Confluent().produce(bootstrap, name, records)
    return name


def values(output: bytes) -> list[str]:
    return output.decode().splitlines()


def numbered(*numbers: int) -> list[str]:
    return [f"value {number}" for number in numbers]


def consume(bootstrap: str, topic: str, *arguments: str) -> list[str]:
    return values(kcat(bootstrap, "-C", "-q", "-e", "-t", topic, "-p", "0", *arguments))


def test_list_metadata(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    shown = json.loads(kcat(bootstrap, "-L", "-J", "-t", topic))
    (broker,) = shown["brokers"]
    assert broker["name"] == bootstrap
    assert shown["controllerid"] == broker["id"]
    (described,) = shown["topics"]
    assert described["topic"] == topic
    assert [partition["partition"] for partition in described["partitions"]] == [0, 1, 2]
    assert all(partition["leader"] == broker["id"] for partition in described["partitions"])


def test_list_all(bootstrap: str, topic: str) -> None:
    shown = kcat(bootstrap, "-L").decode()
    assert f'topic "{topic}" with 1 partitions' in shown
    assert f"at {bootstrap} (controller)" in shown


def test_lines_there_and_back(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    kcat(bootstrap, "-P", "-t", topic, stdin=b"one\ntwo\nthree\n")
    assert consume(bootstrap, topic) == ["one", "two", "three"]


def test_a_topic_is_made_by_producing(bootstrap: str, topic_name: str) -> None:
    kcat(bootstrap, "-P", "-t", topic_name, stdin=b"one\n")
    assert consume(bootstrap, topic_name) == ["one"]


def test_keys_and_headers(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    headers = ("-H", "one=1", "-H", "two=2", "-H", "one=3")
    kcat(bootstrap, "-P", "-t", topic, "-K", ":", *headers, stdin=b"key:value\n")
    assert consume(bootstrap, topic, "-f", r"%k %s %h\n") == ["key value one=1,two=2,one=3"]
    (shown,) = consume(bootstrap, topic, "-J")
    found = json.loads(shown)
    assert (found["key"], found["payload"], found["offset"], found["partition"]) == ("key", "value", 0, 0)
    assert found["headers"] == ["one", "1", "two", "2", "one", "3"]
    assert found["tstype"] == "create"


@pytest.mark.parametrize(
    ("offset", "numbers"),
    [
        ("beginning", range(10)),
        ("7", range(7, 10)),
        ("-2", range(8, 10)),
        (f"s@{BASE_MS + 4500}", range(5, 10)),
        (f"s@{BASE_MS + 9000}", range(9, 10)),
    ],
)
def test_offsets(bootstrap: str, topic: str, offset: str, numbers: range) -> None:
    assert consume(bootstrap, topic, "-o", offset) == numbered(*numbers)


def test_a_span_of_time(bootstrap: str, topic: str) -> None:
    span = ("-o", f"s@{BASE_MS + 2000}", "-o", f"e@{BASE_MS + 5000}")
    assert consume(bootstrap, topic, *span) == numbered(2, 3, 4)


def test_a_count(bootstrap: str, topic: str) -> None:
    assert consume(bootstrap, topic, "-o", "3", "-c", "2") == numbered(3, 4)


@pytest.mark.parametrize(
    ("timestamp", "offset"), [(BASE_MS - 1, 0), (BASE_MS + 2500, 3), (BASE_MS + 99_000, -1), (-1, 10), (-2, 0)]
)
def test_query(bootstrap: str, topic: str, timestamp: int, offset: int) -> None:
    shown = kcat(bootstrap, "-Q", "-t", f"{topic}:0:{timestamp}").decode().split()
    assert shown == [topic, "[0]", "offset", str(offset)]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compression(bootstrap: str, make_topic: MakeTopic, codec: str) -> None:
    topic = make_topic()
    kcat(bootstrap, "-P", "-t", topic, "-z", codec, stdin=(b"a line that repeats itself " * 20 + b"\n") * 100)
    assert {batch.codec for batch in batches(bootstrap, topic)} == {codec}
    assert len(consume(bootstrap, topic)) == 100


def test_partitions(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    for partition in ("0", "1", "2"):
        kcat(bootstrap, "-P", "-t", topic, "-p", partition, stdin=f"to {partition}\n".encode())
    shown = values(kcat(bootstrap, "-C", "-q", "-e", "-t", topic, "-f", r"%p %s\n"))
    assert sorted(shown) == ["0 to 0", "1 to 1", "2 to 2"]


def test_a_too_large_record(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(max_message_bytes=1000)
    done = run_kcat(bootstrap, "-P", "-t", topic, stdin=b"x" * 2000 + b"\n")
    assert b"Message size too large" in done.stderr


def test_acks(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    for acks in ("0", "1", "all"):
        kcat(bootstrap, "-P", "-t", topic, "-X", f"acks={acks}", stdin=f"{acks}\n".encode())
    assert consume(bootstrap, topic) == ["0", "1", "all"]


def test_idempotent(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    kcat(bootstrap, "-P", "-t", topic, "-X", "enable.idempotence=true", stdin=b"one\ntwo\n")
    assert consume(bootstrap, topic) == ["one", "two"]
    assert all(batch.producer_id >= 0 for batch in batches(bootstrap, topic))
