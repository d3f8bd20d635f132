"""Dead letters of a share group, by confluent-kafka's share consumer: each record once, whoever is killed when."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from confluent_kafka import (
    AcknowledgeType,
    Consumer,
    KafkaException,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from compat_tests.extensions.holding import tidegate_only
from tidegate import testing
from tidegate.testing import RunningBroker
from tools.cli.app import run

pytestmark = tidegate_only
GROUP, TOPIC, COUNT, PARTITIONS = "mail", "orders", 300, 2
SETTINGS = {
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.assignment.interval.ms": "0",
}
PATIENCE_S = 90.0


@pytest.fixture
def broker() -> Iterator[RunningBroker]:
    with testing.broker(SETTINGS, timeout_s=60) as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result(30)
        values = {"share.auto.offset.reset": "earliest", "share.retry.backoff.ms": "0"}
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in values.items()
        ]
        resource = ConfigResource(ResourceType.GROUP, GROUP, incremental_configs=entries)
        for done in admin.incremental_alter_configs([resource]).values():
            done.result(30)
        yield running


def produce(broker: RunningBroker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": "lz4", "linger.ms": 20})
    for number in range(COUNT):
        producer.produce(TOPIC, f"v{number}", f"k{number}", number % PARTITIONS, headers={"own": str(number)})
    assert producer.flush(30) == 0


class Rejecting(threading.Thread):
    """A member that rejects everything it is given, until it is told to stop."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.bootstrap = bootstrap
        self.stopping = threading.Event()

    def run(self) -> None:
        settings = {"bootstrap.servers": self.bootstrap, "group.id": GROUP, "log_level": 0}
        consumer = ShareConsumer({**settings, "share.acknowledgement.mode": "explicit", "max.poll.records": 20})
        consumer.subscribe([TOPIC])
        while not self.stopping.is_set():
            try:
                for message in consumer.poll(0.2):
                    if message.error() is None:
                        consumer.acknowledge(message, AcknowledgeType.REJECT)
                consumer.commit_sync()
            except KafkaException:
                # The broker is gone for a while.
                time.sleep(0.05)
        consumer.close()


def letters(broker: RunningBroker, topic: str = f"{TOPIC}.dlq") -> list[tuple[dict[str, str], bytes]]:
    """What is in the dead-letter topic: headers and values."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "reader", "enable.partition.eof": True})
    found, ended = [], 0
    try:
        if topic not in consumer.list_topics(timeout=30).topics:
            return []
        consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
        while ended < PARTITIONS:
            message = consumer.poll(30)
            assert message is not None
            if message.error() is not None:
                ended += 1
                continue
            headers = {name: (value or b"").decode() for name, value in message.headers() or ()}
            found.append((headers, message.value() or b""))
    finally:
        consumer.close()
    return found


def places(found: list[tuple[dict[str, str], bytes]]) -> Counter[tuple[str, str]]:
    return Counter((headers["__dlq.errors.partition"], headers["__dlq.errors.offset"]) for headers, _ in found)


def test_killed_while_everything_is_rejected_each_record_is_there_once(
    broker: RunningBroker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    produce(broker)
    member = Rejecting(broker.bootstrap)
    member.start()
    deadline = time.monotonic() + PATIENCE_S
    try:
        for least in (1, COUNT // 2):
            while len(letters(broker)) < least:
                assert time.monotonic() < deadline
            broker.kill()
            broker.start()
        while len(found := letters(broker)) < COUNT:
            assert time.monotonic() < deadline, len(found)
    finally:
        member.stopping.set()
        member.join(30)
    found = letters(broker)
    counts = places(found)
    assert len(found) == len(counts) == COUNT
    assert {headers["__dlq.errors.message"] for headers, _ in found} == {"Offset rejected by client."}
    assert {f"v{headers['own']}".encode() for headers, _ in found} == {value for _, value in found}

    monkeypatch.setenv("TIDEGATE_CLI_BOOTSTRAP", broker.bootstrap)
    assert run(["dlq", "redrive", f"{TOPIC}.dlq", "--reason", "rejected", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["settled"] == COUNT
    again = Counter(value for _, value in letters(broker, TOPIC))
    assert again == {f"v{number}".encode(): 2 for number in range(COUNT)}
