"""Two tenants by gRPC, by text and by Kafka's own tools, with rules that their own admins made: `acme`, whose names are
rewritten, and `zulu`, whose are as they are."""

import json
import os
import socket
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from compat_tests import brokers
from compat_tests.conftest import unique_name
from coordinators.access.password_file import PasswordHash, format_users
from tidegate import testing
from tidegate.client import Client, ClientError, Login
from tidegate.testing import RunningBroker
from tools.reference.java import java_tool

PATIENCE_S = 60.0
USERS = ("acme.ann", "acme.bob", "zulu.zoe", "root")
ACL_COMMAND = "org.apache.kafka.tools.AclCommand"


@frozen
class TenantUser:
    """Somebody of a tenant, whose names begin so when they are said."""

    name: str
    prefix: str

    @property
    def tenant(self) -> str:
        return self.name.partition(".")[0]


ANN, BOB, ZOE = TenantUser("acme.ann", ""), TenantUser("acme.bob", ""), TenantUser("zulu.zoe", "zulu.")
BOTH = (ANN, ZOE)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    """With all doors, and rules: of each tenant one may make them, and has made itself some."""
    if brokers.target() == "kafka":
        pytest.skip("Apache Kafka has no tenants")
    users = tmp_path_factory.mktemp("tenants") / "users"
    users.write_text(format_users({name: PasswordHash.of("sesame", os.urandom) for name in USERS}))
    settings = {
        "listeners": "IN://127.0.0.1:0",
        "listener.security.protocol.map": "IN:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.plain.users.location": str(users),
        "authorizer.enable": "true",
        "super.users": "User:root",
        **{f"{door}.port": "-1" for door in ("http", "grpc", "text")},
        **{f"{door}.enabled.mechanisms": "BASIC" for door in ("http", "grpc", "text")},
    }
    with testing.broker(settings, timeout_s=60) as running:
        operator = AdminClient(client(running, "root"))
        for user in BOTH:
            make_tenant(running, user.tenant, rewrite=not user.prefix)
            cluster = f"{user.tenant}.kafka-cluster"
            make(operator, binding(user.name, AclOperation.ALTER, ResourceType.BROKER, cluster))
            own = AdminClient(client(running, user.name))
            for kind in (ResourceType.TOPIC, ResourceType.GROUP):
                make(own, binding(user.name, AclOperation.ALL, kind, "*"))
        yield running


def make_tenant(broker: RunningBroker, name: str, *, rewrite: bool) -> None:
    shown = b64encode(b"root:sesame").decode()
    headers = {"Authorization": f"Basic {shown}", "Content-Type": "application/json", "X-Tidegate": "1"}
    body = json.dumps({"name": name, "rewrite": rewrite}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{broker.http_url}/tenants", body, headers)) as answer:
        assert answer.status == 201


def client(broker: RunningBroker, user: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": "sesame",
        "log_level": 0,
    }


def binding(user: str, operation: AclOperation, kind: ResourceType, name: str) -> AclBinding:
    literal, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    return AclBinding(kind, name, literal, f"User:{user}", "*", operation, allow)


EVERYTHING = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)


def make(admin: AdminClient, rule: AclBinding) -> None:
    for made in admin.create_acls([rule], request_timeout=PATIENCE_S).values():
        made.result(PATIENCE_S)


def by_grpc(broker: RunningBroker, user: TenantUser) -> Client:
    return Client(broker.grpc_address, login=Login(user=user.name, password="sesame"), deadline_s=PATIENCE_S)


def test_by_grpc_each_has_its_own_of_every_kind(broker: RunningBroker) -> None:
    for user in BOTH:
        topic, value = f"{user.prefix}by-grpc", user.name.encode()
        with by_grpc(broker, user) as door:
            assert door.create_topic(topic, 1) == 1
            with door.producer() as producer:
                producer.send(topic, value).result(PATIENCE_S)
                late = {"tide-delay": b"600000", "tide-schedule-id": b"s1"}
                producer.send(topic, b"later", key=b"k", headers=late).result(PATIENCE_S)
            assert set(door.delayed(topic)) == {"s1"}
            found = [(record.topic, record.value) for record in door.read(topic, until_end=True)]
            assert found == [(topic, value)]
            with door.group(f"{user.prefix}g", [topic], reset="earliest") as member:
                read: list[Any] = []
                while not read:
                    read += member.poll(wait_s=5.0)
            assert [(record.topic, record.value) for record in read] == [(topic, value)]
            assert topic in door.topics()
            assert all(name.startswith(user.prefix) and "acme" not in name for name in door.topics())
    with by_grpc(broker, ZOE) as door:
        for other in ("acme.by-grpc", "by-grpc"):
            for ask in (door.delayed, door.delete_topic, lambda name: list(door.read(name, until_end=True))):
                with pytest.raises(ClientError):
                    ask(other)
        with pytest.raises(ClientError):
            door.cancel_delayed("acme.by-grpc", "s1")
    with by_grpc(broker, ANN) as door:
        door.cancel_delayed("by-grpc", "s1")
        assert door.delayed("by-grpc") == {}
    with by_grpc(broker, ZOE) as door:
        assert set(door.delayed("zulu.by-grpc")) == {"s1"}, "of the same id, in a topic of the same name"


def test_by_text_each_has_its_own(broker: RunningBroker) -> None:
    for user in BOTH:
        topic = f"{user.prefix}by-text"
        said = said_by_text(broker, user, f"PUB {topic} {len(user.name)}\r\n{user.name}\r\n", f"FETCH {topic} 0\r\n")
        assert user.name in said
        assert "ERR" not in said
        said = said_by_text(broker, user, "TOPICS\r\n")
        assert f"TOPIC {topic} 1" in said
        others = {"TOPIC acme.", "TOPIC zulu."} - {f"TOPIC {user.prefix}"}
        assert not any(other in said for other in others)
    said = said_by_text(broker, ZOE, "FETCH acme.by-text 0\r\n")
    assert "ERR" in said
    assert "acme.ann" not in said


def said_by_text(broker: RunningBroker, user: TenantUser, *lines: str) -> str:
    """What the text door answers."""
    host, _, port = broker.text_address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        connection.sendall((f"AUTH {user.name} sesame\r\n" + "".join(lines) + "QUIT\r\n").encode())
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    return answer.decode()


def test_an_admins_rules_decide_for_its_tenant_and_by_every_door(broker: RunningBroker) -> None:
    topic = unique_name("ruled")
    with by_grpc(broker, ANN) as door:
        door.create_topic(topic, 1)
    with by_grpc(broker, BOB) as door, pytest.raises(ClientError):
        door.delayed(topic)
    own = AdminClient(client(broker, ANN.name))
    make(own, binding(BOB.name, AclOperation.READ, ResourceType.TOPIC, topic))
    with by_grpc(broker, BOB) as door:
        assert door.delayed(topic) == {}
    told = {(each.name, each.principal) for each in own.describe_acls(EVERYTHING).result(PATIENCE_S)}
    assert (topic, f"User:{BOB.name}") in told
    assert not any("zulu" in principal or "acme." in name for name, principal in told)
    other = AdminClient(client(broker, ZOE.name))
    theirs = other.describe_acls(EVERYTHING).result(PATIENCE_S)
    assert {each.principal for each in theirs} == {f"User:{ZOE.name}"}
    outside = [(ZOE.name, ZOE.name, f"acme.{topic}"), (ZOE.name, ZOE.name, topic), (ANN.name, "root", topic)]
    for maker, user, name in (*outside, (BOB.name, BOB.name, topic)):
        admin, rule = AdminClient(client(broker, maker)), binding(user, AclOperation.WRITE, ResourceType.TOPIC, name)
        with pytest.raises(KafkaException):
            make(admin, rule)


def test_kafka_acls(broker: RunningBroker, tmp_path: Path) -> None:
    config = tmp_path / "ann.properties"
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="acme.ann" password="sesame";'
    config.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n")
    where = ("--bootstrap-server", broker.bootstrap, "--command-config", str(config))
    who = ("--allow-principal", "User:acme.bob", "--operation", "Write")
    named = ("--topic", "by-tool", "--resource-pattern-type", "prefixed")
    added = java_tool(ACL_COMMAND, *where, "--add", *who, *named)
    assert added.returncode == 0, added.stderr
    listed = java_tool(ACL_COMMAND, *where, "--list", *named)
    assert "name=by-tool, patternType=PREFIXED" in listed.stdout
    assert "principal=User:acme.bob" in listed.stdout
    removed = java_tool(ACL_COMMAND, *where, "--remove", "--force", *who, *named)
    assert removed.returncode == 0, removed.stderr
    assert "acme.bob" not in java_tool(ACL_COMMAND, *where, "--list", *named).stdout
    outside = ("--allow-principal", "User:zulu.zoe", "--operation", "Read", "--topic", "by-tool")
    refused = java_tool(ACL_COMMAND, *where, "--add", *outside)
    assert "is not one of the tenant's principals" in refused.stdout + refused.stderr
