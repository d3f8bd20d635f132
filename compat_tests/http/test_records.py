"""Written by curl and read by librdkafka, and the other way round: keys, headers, null values, delays, transactions."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from compat_tests import admin
from compat_tests.conftest import unique_name
from compat_tests.http.calls import curl, get, post
from tidegate import testing

PATIENCE_S = 30.0
BINARY = {"name": "b", "valueBase64": "/w=="}


@pytest.fixture
def topic(doors: testing.RunningBroker, request: pytest.FixtureRequest) -> str:
    name = unique_name(request.node.name)
    admin.create_topic(doors.bootstrap, name, 3, {})
    return name


@contextmanager
def reader(bootstrap: str, topic: str) -> Iterator[Consumer]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(3)])
    try:
        yield consumer
    finally:
        consumer.close()


def taken(bootstrap: str, topic: str, count: int) -> list[Message]:
    found: list[Message] = []
    deadline = time.monotonic() + PATIENCE_S
    with reader(bootstrap, topic) as consumer:
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count} records"
            message = consumer.poll(0.5)
            if message is not None and message.error() is None:
                found.append(message)
    return found


def test_what_curl_writes_librdkafka_reads(doors: testing.RunningBroker, topic: str) -> None:
    url = f"{doors.http_url}/topics/{topic}/messages"
    told = post(
        url,
        [
            {
                "key": "a",
                "value": {"n": 1},
                "headers": [{"name": "h", "value": "x"}, {"name": "b", "valueBase64": "/w=="}],
            },
            {"key": "tombstone", "value": None, "timestamp": 1_700_000_000_000},
            {"valueBase64": "AP8=", "partition": 2},
        ],
    )
    assert told["failed"] == 0
    by_key = {message.key(): message for message in taken(doors.bootstrap, topic, 3)}
    first, tombstone, binary = by_key[b"a"], by_key[b"tombstone"], by_key[None]
    assert (first.value(), first.headers()) == (b'{"n":1}', [("h", b"x"), ("b", b"\xff")])
    assert (tombstone.value(), tombstone.timestamp()[1]) == (None, 1_700_000_000_000)
    assert (binary.value(), binary.partition()) == (b"\0\xff", 2)
    places = [(each["partition"], each["offset"]) for each in told["messages"]]
    assert places == [(message.partition(), message.offset()) for message in (first, tombstone, binary)]


def test_keys_lie_where_a_java_client_puts_them(doors: testing.RunningBroker, topic: str) -> None:
    settings = {"bootstrap.servers": doors.bootstrap, "partitioner": "murmur2_random"}
    producer = Producer(settings)
    partitions: dict[str, int] = {}
    for number in range(20):
        key = f"user{number}"
        producer.produce(
            topic, key=key, value=b"v", on_delivery=lambda _, sent, key=key: partitions.update({key: sent.partition()})
        )
    assert producer.flush(30) == 0
    told = post(f"{doors.http_url}/topics/{topic}/messages", [{"key": key, "value": "v"} for key in partitions])
    assert [each["partition"] for each in told["messages"]] == list(partitions.values())


def test_what_librdkafka_writes_curl_reads(doors: testing.RunningBroker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": doors.bootstrap, "compression.type": "zstd", "linger.ms": 50})
    for number in range(300):
        producer.produce(topic, key=b"k", value=b"%d" % number, headers=[("n", b"%d" % number)])
    producer.produce(topic, key=b"k", value=None)
    assert producer.flush(30) == 0
    lines = curl(f"{doors.http_url}/topics/{topic}/messages", "-H", "Accept: application/x-ndjson").splitlines()
    read = [json.loads(line) for line in lines]
    assert [each["value"] for each in read] == [*map(str, range(300)), None]
    assert read[7]["headers"] == [{"name": "n", "value": "7", "valueBase64": None}]
    chosen = get(f"{doors.http_url}/topics/{topic}/messages?filter=header.n%20%3D%2041")
    assert [each["value"] for each in chosen["messages"]] == ["41"]


def test_what_was_aborted_is_not_shown(doors: testing.RunningBroker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": doors.bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    for value, committed in ((b"aborted", False), (b"committed", True)):
        producer.begin_transaction()
        producer.produce(topic, value=value, partition=0)
        producer.flush(30)
        if committed:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
    url = f"{doors.http_url}/topics/{topic}/messages"
    assert [each["value"] for each in get(url)["messages"]] == ["committed"]
    everything = get(f"{url}?isolation=uncommitted")["messages"]
    assert [each["value"] for each in everything] == ["aborted", "committed"]


def test_what_is_delayed_comes_later_and_can_be_cancelled_by_number(doors: testing.RunningBroker, topic: str) -> None:
    url = f"{doors.http_url}/topics/{topic}"
    began = time.time()
    post(f"{url}/messages", {"value": "late", "delay": 700, "partition": 0})
    post(f"{url}/messages", {"value": "never", "delay": 3_600_000, "partition": 0})
    pending = {each["number"] for each in get(f"{url}/delayed")["items"] if each["due_ms"] > (began + 60) * 1000}
    (number,) = pending
    assert curl("-X", "DELETE", f"{url}/delayed/0/{number}", "-w", "%{http_code}") == "204"
    (late,) = taken(doors.bootstrap, topic, 1)
    assert (late.value(), time.time() - began >= 0.7) == (b"late", True)
    assert get(f"{url}/delayed")["total"] == 0


def test_a_stream_of_lines_is_answered_line_by_line(doors: testing.RunningBroker, topic: str) -> None:
    lines = "".join(json.dumps({"key": "k", "value": f"{number}" * 100}) + "\n" for number in range(2_000))
    url = f"{doors.http_url}/topics/{topic}/messages"
    told = curl(url, "-H", "Content-Type: application/x-ndjson", "-T", "-", "-X", "POST", sent=lines).splitlines()
    assert len(told) == 2_000
    assert [json.loads(line)["offset"] for line in told] == list(range(2_000))


def test_events_are_followed_by_curl(doors: testing.RunningBroker, topic: str) -> None:
    url = f"{doors.http_url}/topics/{topic}/messages?offset=earliest&limit=2"
    post(
        f"{doors.http_url}/topics/{topic}/messages",
        [{"value": "one", "partition": 0}, {"value": "two", "partition": 1}],
    )
    told = curl(url, "-H", "Accept: text/event-stream")
    data = [json.loads(line[6:])["value"] for line in told.splitlines() if line.startswith("data: ")]
    assert sorted(data) == ["one", "two"]
    last = [line[4:] for line in told.splitlines() if line.startswith("id: ")][-1]
    assert last == "0:1,1:1,2:0"
    post(f"{doors.http_url}/topics/{topic}/messages", {"value": "three", "partition": 2})
    again = curl(url.replace("limit=2", "limit=1"), "-H", "Accept: text/event-stream", "-H", f"Last-Event-ID: {last}")
    assert '"three"' in again


def test_what_was_acknowledged_is_there_after_a_kill() -> None:
    with testing.broker(timeout_s=60) as broker:
        admin.create_topic(broker.bootstrap, "t", 1, {})
        acknowledged: list[int] = []
        for round_number in range(3):
            url = f"{broker.http_url}/topics/t/messages?acks=all"
            for number in range(20):
                told = post(url, [{"value": f"{round_number}-{number}-{each}"} for each in range(10)])
                acknowledged += [each["offset"] for each in told["messages"]]
            broker.kill()
            broker.start()
        found = taken_values(broker)
    assert len(acknowledged) == 600
    assert found == [f"{turn}-{number}-{each}" for turn in range(3) for number in range(20) for each in range(10)]


def taken_values(broker: testing.RunningBroker) -> list[str]:
    lines = curl(f"{broker.http_url}/topics/t/messages", "-H", "Accept: application/x-ndjson").splitlines()
    return [json.loads(line)["value"] for line in lines]
