"""Tenants on three nodes: namespaces hold by whichever node and door one comes, limits hold where they are told to, and
a node that is killed opens neither."""

import json
import os
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from compat_tests import brokers
from compat_tests.waiting import eventually
from coordinators.access.password_file import PasswordHash, format_users
from tidegate.running_cluster import RunningCluster

PATIENCE_S = 60.0
USERS = ("acme.ann", "zulu.zoe", "root")
TENANTS = {"acme.ann": "", "zulu.zoe": "zulu."}
"""By their users, how their names begin as they say them: acme's are rewritten."""
COUNT = 30


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    """Three nodes with both tenants, which have a topic of three partitions each."""
    if brokers.target() == "kafka":
        pytest.skip("Apache Kafka has no tenants")
    directory = tmp_path_factory.mktemp("tenants")
    users = directory / "users"
    users.write_text(format_users({name: PasswordHash.of("sesame", os.urandom) for name in USERS}))
    settings = {
        "listeners": "CLIENTS://127.0.0.1:0,NODES://127.0.0.1:0",
        "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,NODES:PLAINTEXT",
        "inter.broker.listener.name": "NODES",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.plain.users.location": str(users),
        "http.port": "-1",
        "http.enabled.mechanisms": "BASIC",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "6",
        "transaction.state.log.num.partitions": "6",
    }
    with RunningCluster.make(directory / "nodes", 3, settings, timeout_s=60.0) as made:
        for name, rewrite in (("acme", True), ("zulu", False)):
            assert call(made, 1, "root", "POST", "/tenants", {"name": name, "rewrite": rewrite})[0] == 201
        for node_id in made.nodes:
            eventually(
                lambda node_id=node_id: call(made, node_id, "root", "GET", "/tenants")[1]["total"], 2, PATIENCE_S
            )
        for user, prefix in TENANTS.items():
            admin = AdminClient(client(made, user))
            topic = f"{prefix}orders"
            admin.create_topics([NewTopic(topic, 3, 3)])[topic].result(PATIENCE_S)
            eventually(lambda admin=admin, topic=topic: in_sync(admin, topic), [{1, 2, 3}] * 3, PATIENCE_S)
        yield made


def client(cluster: RunningCluster, user: str, node_id: int | None = None) -> dict[str, Any]:
    return {
        "bootstrap.servers": cluster.bootstrap if node_id is None else cluster.node(node_id).bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": "sesame",
        "log_level": 0,
    }


def call(
    cluster: RunningCluster, node_id: int, user: str, method: str, path: str, body: object = None
) -> tuple[int, Any]:
    """One call of a node's operations door."""
    shown = b64encode(f"{user}:sesame".encode()).decode()
    headers = {"Authorization": f"Basic {shown}", "Content-Type": "application/json", "X-Tidegate": "1"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(cluster.node(node_id).http_url + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


def in_sync(admin: AdminClient, topic: str) -> list[set[int]]:
    partitions = admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
    return [set(partitions[index].isrs) for index in sorted(partitions)]


def leaders(admin: AdminClient, topic: str) -> set[int]:
    partitions = admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
    return {partition.leader for partition in partitions.values()}


def produce(config: dict[str, Any], topic: str, values: list[str], **options: Any) -> list[KafkaError]:
    """What was refused, of records over all partitions."""
    refused: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            refused.append(error)

    producer = Producer({**config, "enable.idempotence": True, **options})
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % 3, on_delivery=delivered)
    assert producer.flush(PATIENCE_S) == 0
    return refused


def consume(config: dict[str, Any], group: str, topic: str, count: int) -> set[tuple[str, str]]:
    consumer = Consumer({**config, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found: set[tuple[str, str]] = set()
    deadline = time.monotonic() + PATIENCE_S
    try:
        while len(found) < count and time.monotonic() < deadline:
            for message in consumer.consume(count, timeout=1.0):
                if message.error() is None:
                    found.add((message.topic(), message.value().decode()))
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return found


def test_namespaces_hold_on_every_node_and_after_one_was_killed(cluster: RunningCluster) -> None:
    for user, prefix in TENANTS.items():
        values = [f"{user}-{number}" for number in range(COUNT)]
        assert produce(client(cluster, user), f"{prefix}orders", values) == []
        found = consume(client(cluster, user), f"{prefix}readers", f"{prefix}orders", COUNT)
        assert found == {(f"{prefix}orders", value) for value in values}
    sees_its_own(cluster, 1, 2, 3)
    admin = AdminClient(client(cluster, "root"))
    leader = admin.list_topics("acme.orders", timeout=PATIENCE_S).topics["acme.orders"].partitions[0].leader
    cluster.kill(leader)
    others = [node_id for node_id in cluster.nodes if node_id != leader]
    try:
        for user, prefix in TENANTS.items():
            values = [f"{user}-again-{number}" for number in range(COUNT)]
            assert produce(client(cluster, user), f"{prefix}orders", values) == []
            found = consume(client(cluster, user), f"{prefix}readers", f"{prefix}orders", COUNT)
            assert found == {(f"{prefix}orders", value) for value in values}, "the group goes on where it was"
        sees_its_own(cluster, *others)
    finally:
        cluster.restart(leader)
    admin = AdminClient(client(cluster, "root"))
    eventually(lambda: in_sync(admin, "acme.orders"), [{1, 2, 3}] * 3, PATIENCE_S)
    sees_its_own(cluster, 1, 2, 3)


def sees_its_own(cluster: RunningCluster, *node_ids: int) -> None:
    """By each of these nodes, of Kafka's door and of HTTP, a tenant sees what is its own."""
    for node_id in node_ids:
        for user, prefix in TENANTS.items():
            admin = AdminClient(client(cluster, user, node_id))
            assert set(admin.list_topics(timeout=PATIENCE_S).topics) == {f"{prefix}orders"}
            other = "acme.orders" if prefix else "zulu.orders"
            with pytest.raises(KafkaException):
                admin.delete_topics([other])[other].result(PATIENCE_S)
            status, page = call(cluster, node_id, user, "GET", "/topics")
            assert (status, [each["name"] for each in page["items"]]) == (200, [f"{prefix}orders"])
            for index in range(3):
                path = f"/topics/{prefix}orders/partitions/{index}/messages?offset=0&limit=1"
                status, page = call(cluster, node_id, user, "GET", path)
                assert status == 200, page
                assert page["messages"][0]["value"].startswith(user), "whoever leads it"
            assert call(cluster, node_id, user, "GET", "/topics/acme.orders")[0] == 404
            assert call(cluster, node_id, user, "GET", "/metrics")[0] == 403


def test_producers_and_members_by_http_are_their_tenants_own_on_any_node(cluster: RunningCluster) -> None:
    for node_id in cluster.nodes:
        made = {}
        for user, prefix in TENANTS.items():
            wanted = {"transactional_id": f"{prefix}tx"}
            status, made[user] = call(cluster, node_id, user, "POST", "/producers/init", wanted)
            assert status == 201, made[user]
        for user, prefix in TENANTS.items():
            order = {"producer": made[user]["producer"]}
            assert call(cluster, node_id, user, "POST", "/transactions/begin", order)[0] == 200, "nobody was fenced"
            record = {"topic": f"{prefix}orders", "records": [{"key": str(n), "value": user} for n in range(6)]}
            status, answer = call(cluster, node_id, user, "POST", "/transactions/publish", {**order, **record})
            assert (status, {each["error"] for each in answer["records"]}) == (200, {None}), answer
            assert call(cluster, node_id, user, "POST", "/transactions/commit", order)[0] == 200
            listed = call(cluster, node_id, user, "GET", "/transactions")[1]["items"]
            assert [each["transactional_id"] for each in listed] == [f"{prefix}tx"]
        theirs = {"producer": made["acme.ann"]["producer"]}
        assert call(cluster, node_id, "zulu.zoe", "POST", "/transactions/begin", theirs)[0] == 404


def test_schemas_are_the_tenants_own_on_every_node(cluster: RunningCluster) -> None:
    for user, kind in (("acme.ann", '"int"'), ("zulu.zoe", '"string"')):
        registries = [
            SchemaRegistryClient({"url": f"{node.http_url}/schemas", "basic.auth.user.info": f"{user}:sesame"})
            for node in cluster.nodes.values()
        ]
        assert registries[0].register_schema("shared-value", Schema(kind, "AVRO")) == 1
        for registry in registries:
            eventually(registry.get_subjects, ["shared-value"], PATIENCE_S)
            assert registry.get_schema(1).schema_str == kind


def set_limit(cluster: RunningCluster, tenant: str, name: str, value: int | None) -> None:
    """By one node; until all of them know it."""
    assert call(cluster, 2, "root", "PATCH", f"/tenants/{tenant}", {"limits": {name: value}})[0] == 200
    for node_id in cluster.nodes:
        eventually(lambda node_id=node_id: told(cluster, node_id, tenant)["limits"][name], value, PATIENCE_S)


def told(cluster: RunningCluster, node_id: int, tenant: str) -> Any:
    """A tenant as a node tells of it."""
    return call(cluster, node_id, "root", "GET", f"/tenants/{tenant}")[1]


def test_topics_are_counted_in_the_whole_cluster(cluster: RunningCluster) -> None:
    set_limit(cluster, "zulu", "topics", 2)
    try:
        assert call(cluster, 1, "zulu.zoe", "POST", "/topics", {"name": "zulu.second"})[0] == 201
        for node_id in cluster.nodes:
            status, answer = call(cluster, node_id, "zulu.zoe", "POST", "/topics", {"name": f"zulu.third-{node_id}"})
            assert (status, answer["error"]) == (403, "PolicyViolation"), "whichever node is asked"
        assert call(cluster, 3, "acme.ann", "POST", "/topics", {"name": "second"})[0] == 201
    finally:
        set_limit(cluster, "zulu", "topics", None)
        assert call(cluster, 1, "zulu.zoe", "DELETE", "/topics/zulu.second")[0] == 204
        assert call(cluster, 1, "acme.ann", "DELETE", "/topics/second")[0] == 204


def test_a_rate_holds_on_each_node_and_for_nobody_else(cluster: RunningCluster) -> None:
    """So much may be published to each node in a second: what is spread over three takes a third of the time."""
    rate, size, count = 200_000, 10_000, 120
    # A node that was killed leads again after a while.
    root = AdminClient(client(cluster, "root"))
    for topic in ("acme.orders", "zulu.orders"):
        eventually(lambda topic=topic: leaders(root, topic), {1, 2, 3}, PATIENCE_S)
    set_limit(cluster, "acme", "producer_byte_rate", rate)
    before = {node_id: told(cluster, node_id, "acme")["usage"]["throttled_ms"] for node_id in cluster.nodes}

    def timed(user: str, topic: str) -> float:
        began = time.monotonic()
        options = {"batch.size": 2 * size, "linger.ms": 0}
        assert produce(client(cluster, user), topic, ["x" * size] * count, **options) == []
        return time.monotonic() - began

    try:
        with ThreadPoolExecutor(2) as pool:
            limited, free = pool.submit(timed, "acme.ann", "orders"), pool.submit(timed, "zulu.zoe", "zulu.orders")
            limited_s = limited.result()
            free.result()
    finally:
        set_limit(cluster, "acme", "producer_byte_rate", None)
    # Leaders are spread: each node is given a third of it, and lets no more through than its rate.
    assert limited_s > 0.6 * (size * count / 3 / rate)
    for node_id in cluster.nodes:
        assert told(cluster, node_id, "acme")["usage"]["throttled_ms"] > before[node_id], "each leads some of it"
        assert told(cluster, node_id, "zulu")["usage"]["throttled_ms"] == 0
