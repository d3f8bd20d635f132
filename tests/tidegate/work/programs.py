"""What the tests of both event loops share: a broker, records, and a group that begins at the start."""

from collections.abc import Iterator, Sequence

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from confluent_kafka.cimpl import NewTopic

from tidegate import testing
from tidegate.work import Worker, worker

SETTINGS = {
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.assignment.interval.ms": "0",
}


def prepare(bootstrap: str, name: str, values: Sequence[bytes], *, group: str | None = None, **configs: object) -> None:
    """A topic and a group, of one name if no other is given, which begins at its start and knows no back-off."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(20)
    wanted = {"share.auto.offset.reset": "earliest", "share.retry.backoff.ms": "0"}
    wanted |= {key.replace("_", "."): str(value) for key, value in configs.items()}
    entries = [ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in wanted.items()]
    resource = ConfigResource(ResourceType.GROUP, group or name, incremental_configs=entries)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(20)
    send(bootstrap, name, values)


def send(bootstrap: str, name: str, values: Sequence[bytes]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for value in values:
        producer.produce(name, value, b"key", headers=[("from", b"test")])
    assert producer.flush(20) == 0


def working(broker: testing.RunningBroker, name: str, **options: object) -> Worker:
    return worker(name, group=name, bootstrap=broker.bootstrap, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def broker() -> Iterator[testing.RunningBroker]:
    with testing.broker(SETTINGS, timeout_s=60) as running:
        yield running
