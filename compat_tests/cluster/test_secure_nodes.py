"""Three nodes that ask clients for a password over TLS, and each other for certificates; one is killed."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.waiting import eventually
from coordinators.access.password_file import PasswordHash, format_users
from tidegate.dev_certificates import Authority, write_secret
from tidegate.running_cluster import RunningCluster

TOPIC = "secured"
RECORDS = 60
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with an authority's certificate and what a broker on this machine shows."""
    directory = tmp_path_factory.mktemp("certificates")
    authority = Authority.make()
    (directory / "ca.pem").write_bytes(authority.identity.certificate_pem)
    write_secret(directory / "node.pem", authority.broker(["127.0.0.1"]).pem)
    write_secret(directory / "elsewhere.pem", authority.broker(["elsewhere.example"]).pem)
    users = format_users({"ann": PasswordHash.of("ann's secret", os.urandom)})
    write_secret(directory / "users", users.encode())
    return directory


def settings(trusted: Path) -> dict[str, str]:
    """Of all nodes."""
    return {
        "listeners": "CLIENTS://127.0.0.1:0,NODES://127.0.0.1:0",
        "listener.security.protocol.map": "CLIENTS:SASL_SSL,NODES:SSL",
        "inter.broker.listener.name": "NODES",
        "ssl.keystore.location": str(trusted / "node.pem"),
        "ssl.truststore.location": str(trusted / "ca.pem"),
        "listener.name.nodes.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.plain.users.location": str(trusted / "users"),
        # Nodes need no rules. The operations door, on loopback, asks nobody who they are.
        "authorizer.enable": "true",
        "super.users": "User:ann;User:ANONYMOUS",
    }


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory, trusted: Path) -> Iterator[RunningCluster]:
    with RunningCluster.make(tmp_path_factory.mktemp("secured"), 3, settings(trusted)) as cluster:
        yield cluster


def client(cluster: RunningCluster, trusted: Path, password: str = "ann's secret") -> dict[str, Any]:
    return {
        "bootstrap.servers": cluster.bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": password,
        "ssl.ca.location": str(trusted / "ca.pem"),
        "log_level": 0,
    }


def produce(producer: Producer, marks: range) -> list[KafkaError]:
    """What was refused for good."""
    refused: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            refused.append(error)

    for mark in marks:
        producer.produce(TOPIC, b"%d" % mark, partition=mark % 3, on_delivery=delivered)
    assert producer.flush(PATIENCE_S) == 0
    return refused


def in_sync(admin: AdminClient) -> list[set[int]]:
    """Of each partition the nodes that are."""
    partitions = admin.list_topics(TOPIC, timeout=PATIENCE_S).topics[TOPIC].partitions
    return [set(partitions[index].isrs) for index in sorted(partitions)]


def consume(config: dict[str, Any], count: int) -> set[int]:
    consumer = Consumer({**config, "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    read: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    try:
        while len(read) < count and time.monotonic() < deadline:
            messages = consumer.consume(count, timeout=1.0)
            read |= {int(message.value() or b"-1") for message in messages if message.error() is None}
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return read


def test_nodes_replicate_over_tls_and_clients_go_on_when_one_is_killed(secured: RunningCluster, trusted: Path) -> None:
    config = client(secured, trusted)
    admin = AdminClient(config)
    admin.create_topics([NewTopic(TOPIC, 3, 3)])[TOPIC].result(PATIENCE_S)
    eventually(lambda: in_sync(admin), [{1, 2, 3}] * 3, PATIENCE_S)
    producer = Producer({**config, "enable.idempotence": True})
    assert produce(producer, range(RECORDS)) == []
    assert consume(config, RECORDS) == set(range(RECORDS))
    leader = admin.list_topics(TOPIC).topics[TOPIC].partitions[0].leader
    secured.kill(leader)
    assert produce(producer, range(RECORDS, 2 * RECORDS)) == []
    assert consume(config, RECORDS) == set(range(RECORDS, 2 * RECORDS)), "the group goes on where it was"
    secured.restart(leader)
    eventually(lambda: in_sync(admin), [{1, 2, 3}] * 3, PATIENCE_S)


def test_transactions_and_delays_go_over_it_too(secured: RunningCluster, trusted: Path) -> None:
    """Markers of transactions, and questions to coordinators, from node to node."""
    config, topic = client(secured, trusted), "secured-transactions"
    admin = AdminClient(config)
    admin.create_topics([NewTopic(topic, 3, 3)])[topic].result(PATIENCE_S)
    producer = Producer({**config, "transactional.id": "secured"})
    producer.init_transactions(PATIENCE_S)
    for number, headers in enumerate([{}, {"tide-delay": b"200"}, {}]):
        producer.begin_transaction()
        for partition in range(3):
            producer.produce(topic, b"%d" % number, partition=partition, headers=headers)
        if number == 2:
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)
    consumer = Consumer({**config, "group.id": "committed", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    read: list[bytes] = []
    try:
        deadline = time.monotonic() + PATIENCE_S
        while len(read) < 6 and time.monotonic() < deadline:
            messages = consumer.consume(10, timeout=1.0)
            read += [message.value() or b"" for message in messages if message.error() is None]
    finally:
        consumer.close()
    assert sorted(read) == [b"0"] * 3 + [b"1"] * 3


def test_clients_are_told_the_listener_by_which_they_came(secured: RunningCluster, trusted: Path) -> None:
    told = AdminClient(client(secured, trusted)).list_topics(timeout=PATIENCE_S).brokers.values()
    assert {f"{each.host}:{each.port}" for each in told} == set(secured.bootstrap.split(","))


def test_a_wrong_password_and_a_client_without_tls_are_turned_away(secured: RunningCluster, trusted: Path) -> None:
    refused = AdminClient(client(secured, trusted, "guessed"))
    with pytest.raises(KafkaException):
        refused.list_topics(timeout=3)
    with pytest.raises(KafkaException):
        AdminClient({"bootstrap.servers": secured.bootstrap, "log_level": 0}).list_topics(timeout=3)


def test_a_node_whose_certificate_is_about_another_host_replicates_nothing(tmp_path: Path, trusted: Path) -> None:
    own: dict[int, dict[str, str]] = {1: {}, 2: {}, 3: {"ssl.keystore.location": str(trusted / "elsewhere.pem")}}
    with RunningCluster.make(tmp_path, 3, settings(trusted), own=own) as cluster:
        config = {**client(cluster, trusted), "bootstrap.servers": cluster.node(1).bootstrap}
        admin = AdminClient(config)
        placed = NewTopic(TOPIC, 2, replica_assignment=[[3, 1], [1, 2]])
        admin.create_topics([placed])[TOPIC].result(PATIENCE_S)
        eventually(lambda: in_sync(admin), [{3}, {1, 2}], PATIENCE_S)
        assert "Hostname mismatch" in cluster.node(1).log() or "IP address mismatch" in cluster.node(1).log()
