"""Unchanged clients over rewriting listeners: each tenant has an `orders`, the same groups and the same transactional
ids, and neither sees the other."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

from compat_tests.brokers import create_tenant
from compat_tests.conftest import unique_name
from compat_tests.java.tool import tool
from tidegate import testing

TENANTS = ("acme", "zulu")
COUNT = 20
GROUP_COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
Ports = dict[str, str]


@pytest.fixture(scope="module")
def ports() -> Iterator[Ports]:
    """The listeners of both tenants, and the operator's."""
    names = ("PLAINTEXT", *(name.upper() for name in TENANTS))
    with ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in names]
        for each in held:
            each.bind(("127.0.0.1", 0))
        numbers = {name: each.getsockname()[1] for name, each in zip(names, held, strict=True)}
    settings = {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in numbers.items()),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
        **{f"listener.name.{name}.tenant": name for name in TENANTS},
        **{f"listener.name.{name}.tenant.rewrite": "true" for name in TENANTS},
    }
    with testing.broker(settings, timeout_s=60) as broker:
        found = {"operator": f"127.0.0.1:{numbers['PLAINTEXT']}"}
        for name in TENANTS:
            create_tenant(broker.http_url.removeprefix("http://"), name)
            found[name] = f"127.0.0.1:{numbers[name.upper()]}"
            admin = AdminClient({"bootstrap.servers": found[name]})
            admin.create_topics([NewTopic("orders", 2, 1)])["orders"].result()
            _send(found[name], name)
        yield found


def _send(bootstrap: str, tenant: str) -> None:
    """Twenty records in a transaction, under the same id for all, and twenty that are aborted."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "orders-writer", "log_level": 0})
    producer.init_transactions(30)
    for ending in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        for number in range(COUNT):
            producer.produce("orders", f"{tenant}-{number}", key=str(number))
        producer.flush(30)
        ending(30)


def _read(bootstrap: str, group: str, topic: str, **settings: str) -> set[tuple[str, str]]:
    """What a member of the group is given, with the names of topics; it commits."""
    base = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "log_level": 0}
    consumer = Consumer({**base, "isolation.level": "read_committed", **settings})
    consumer.subscribe([topic])
    found = set()
    try:
        while len(found) < COUNT:
            message = consumer.poll(30)
            assert message is not None, f"only {len(found)} came"
            if message.error() is None:
                found.add((message.topic(), message.value().decode()))
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return found


@pytest.mark.parametrize(
    ("group", "topic", "settings"),
    [
        ("classic", "orders", {}),
        ("new", "orders", {"group.protocol": "consumer"}),
        ("pattern", "^ord.*", {"group.protocol": "consumer"}),
        ("cooperative", "^ord.*", {"partition.assignment.strategy": "cooperative-sticky"}),
    ],
)
def test_groups_of_the_same_name_read_what_is_theirs(
    ports: Ports, group: str, topic: str, settings: dict[str, str]
) -> None:
    for name in TENANTS:
        wanted = {("orders", f"{name}-{number}") for number in range(COUNT)}
        assert _read(ports[name], group, topic, **settings) == wanted
        admin = AdminClient({"bootstrap.servers": ports[name]})
        assert group in {each.group_id for each in admin.list_consumer_groups().result().valid}
        described = admin.describe_consumer_groups([group])[group].result()
        assert described.group_id == group
        asked = [ConsumerGroupTopicPartitions(group)]
        offsets = admin.list_consumer_group_offsets(asked)[group].result().topic_partitions
        assert {each.topic for each in offsets} == {"orders"}


def test_an_admin_sees_its_own_alone(ports: Ports) -> None:
    for name in TENANTS:
        admin = AdminClient({"bootstrap.servers": ports[name]})
        assert set(admin.list_topics(timeout=30).topics) == {"orders"}
        for other in ("zulu.orders", "acme.orders"):
            with pytest.raises(KafkaException):
                admin.delete_topics([other])[other].result()
    operator = AdminClient({"bootstrap.servers": ports["operator"]})
    assert {"acme.orders", "zulu.orders"} <= set(operator.list_topics(timeout=30).topics)
    groups = {each.group_id for each in operator.list_consumer_groups().result().valid}
    assert groups
    assert all(each.startswith(("acme.", "zulu.")) for each in groups)


def test_kafka_python(ports: Ports) -> None:
    for name in TENANTS:
        producer = KafkaProducer(bootstrap_servers=ports[name])
        placed = producer.send("letters", name.encode()).get(30)
        assert placed.topic == "letters"
        producer.close()
        settings = {"bootstrap_servers": ports[name], "group_id": "readers", "auto_offset_reset": "earliest"}
        consumer = KafkaConsumer("letters", consumer_timeout_ms=30_000, **settings)
        record = next(consumer)
        assert (record.topic, record.value) == ("letters", name.encode())
        consumer.commit()
        consumer.close()
        admin = KafkaAdminClient(bootstrap_servers=ports[name])
        assert "letters" in admin.list_topics()
        assert admin.delete_topics(["letters"]) is not None
        admin.close()


def test_java_tools(ports: Ports) -> None:
    described = tool("TopicCommand", ports["acme"], "--describe")
    assert "Topic: orders" in described
    assert "acme" not in described
    assert "zulu" not in described
    group = unique_name("told")
    _read(ports["acme"], group, "orders")
    lag = tool(GROUP_COMMAND, ports["acme"], "--describe", "--group", group)
    assert group in lag
    assert " orders " in lag
    assert "acme." not in lag


def test_offsets_of_a_group_of_another_are_none(ports: Ports) -> None:
    group = unique_name("mine")
    _read(ports["acme"], group, "orders")
    consumer = Consumer({"bootstrap.servers": ports["zulu"], "group.id": group, "log_level": 0})
    (committed, *_) = consumer.committed([TopicPartition("orders", 0), TopicPartition("orders", 1)], timeout=30)
    assert committed.offset < 0
    consumer.close()
