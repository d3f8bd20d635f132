"""Share groups over HTTP beside librdkafka's share consumer: acknowledged, given back, rejected, kept for longer."""

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, ShareConsumer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from compat_tests.clients import CLIENTS, Record
from compat_tests.members.broker import HttpBroker, Told

MakeTopic = Callable[..., str]
PATIENCE_S = 30.0


def configure(broker: HttpBroker, group: str, **keys: object) -> None:
    entries = [
        ConfigEntry(key.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET)
        for key, value in keys.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(10)


def joined(broker: HttpBroker, group: str, topic: str) -> str:
    """The member's path."""
    member = broker.done("POST", f"/share-groups/{group}/members", topics=[topic])
    return f"/share-groups/{group}/members/{member['member']}"


def polled(broker: HttpBroker, member: str, count: int = 1) -> list[Any]:
    found: list[Any] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, found
        path = f"{member}/records?wait_ms=1000&max_records={count - len(found)}"
        found += broker.done("GET", path)["records"]
    return found


def settle(broker: HttpBroker, how: str, *records: Any, **more: Any) -> Told:
    return broker.call("POST", f"/messages/{how}", receipts=[each["receipt"] for each in records], **more)


def test_records_are_settled_by_their_receipts(broker: HttpBroker, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(2)
    configure(broker, group, share_auto_offset_reset="earliest", share_record_lock_duration_ms=2000)
    member = joined(broker, group, topic)
    CLIENTS["confluent"].produce(broker.bootstrap, topic, [Record(b"%d" % n, partition=n % 2) for n in range(4)])
    done, back, bad, slow = polled(broker, member, 4)
    assert settle(broker, "ack", done).status == 200
    assert settle(broker, "nack", back, delay_ms=500).status == 200
    assert settle(broker, "reject", bad).status == 200
    for _ in range(6):
        time.sleep(0.5)
        assert settle(broker, "visibility", slow).status == 200
    (again,) = polled(broker, member)
    assert (again["value"], again["delivery_count"]) == (back["value"], 2)
    stale = settle(broker, "ack", back)
    assert (stale.status, stale.body["error"]) == (409, "InvalidRecordState")
    assert settle(broker, "ack", again, slow).body["settled"] == 2
    assert letters(broker, f"{topic}.dlq", 1) == [bad["value"].encode()]


def letters(broker: HttpBroker, topic: str, count: int) -> list[bytes]:
    """What lies in a dead-letter topic, read by a Kafka consumer."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": f"{topic}-reader", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found: list[bytes] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append(message.value())
    consumer.close()
    return found


def test_a_librdkafka_worker_and_an_http_worker_share_a_queue(
    broker: HttpBroker, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(1)
    configure(broker, group, share_auto_offset_reset="earliest")
    member = joined(broker, group, topic)
    other = ShareConsumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    other.subscribe([topic])
    sent = {b"%d" % number for number in range(40)}
    seen: list[bytes] = []
    by_other = 0
    deadline = time.monotonic() + PATIENCE_S
    CLIENTS["confluent"].produce(broker.bootstrap, topic, [Record(value) for value in sorted(sent)])
    while len(set(seen)) < len(sent):
        assert time.monotonic() < deadline, seen
        records = broker.done("GET", f"{member}/records?wait_ms=100&max_records=3")["records"]
        if records:
            assert settle(broker, "ack", *records).status == 200
            seen += [each["value"].encode() for each in records]
        messages = [each for each in other.poll(0.2) or () if each.error() is None]
        by_other += len(messages)
        seen += [each.value() for each in messages]
    other.close()
    assert sorted(seen) == sorted(sent), "each record once"
    assert 0 < by_other < len(sent)
