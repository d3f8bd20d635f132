"""Real clients over TLS and each mechanism: let in with what is right, and told soon, in their own words, if not."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.conftest import unique_name
from compat_tests.security.acl_script import request
from compat_tests.security.secured import Secured, has_tls, has_tokens
from compat_tests.security.secured_clients import CLIENTS, Refused
from compat_tests.security.ways import Way
from compat_tests.share.asking import ask
from compat_tests.wire.connection import Wire
from tools.reference.java import java_tool

SOON_S = 10.0
"""In which a client has to have understood that it is not let in; Java's tools take a second or two to start."""
# Every client over each listener, and every mechanism by several of them.
PAIRS = [
    ("confluent", "sasl-plain"),
    ("confluent", "secure-scram-512"),
    ("confluent", "secure-token"),
    ("confluent", "certificate"),
    ("kafka-python", "secure-plain"),
    ("kafka-python", "sasl-scram-256"),
    ("kafka-python", "sasl-token"),
    ("kafka-python", "certificate"),
    ("aiokafka", "sasl-scram-512"),
    ("aiokafka", "secure-scram-256"),
    ("aiokafka", "secure-token"),
    ("aiokafka", "certificate"),
    ("kcat", "sasl-plain"),
    ("kcat", "secure-plain"),
    ("kcat", "certificate"),
    ("java", "secure-scram-256"),
    ("java", "certificate"),
    ("franz", "secure-plain"),
    ("franz", "sasl-scram-256"),
    ("franz", "secure-token"),
    ("franz", "certificate"),
]
WRONG = [
    ("confluent", "sasl-plain"),
    ("confluent", "secure-scram-512"),
    ("kafka-python", "secure-plain"),
    ("kafka-python", "sasl-scram-256"),
    ("aiokafka", "sasl-scram-512"),
    ("kcat", "sasl-plain"),
    ("java", "secure-scram-256"),
    ("franz", "secure-plain"),
]
LATE = ["confluent", "kafka-python", "franz"]
"""Clients that can be given a token. aiokafka can, but says nothing when it is refused, and waits for 40 seconds."""


@pytest.fixture(autouse=True)
def _offered(request: pytest.FixtureRequest) -> None:
    way = request.node.callspec.params.get("way", "secure-plain") if hasattr(request.node, "callspec") else "secure"
    if not has_tls() and not way.startswith("sasl"):
        pytest.skip("no TLS yet")
    if not has_tokens() and (way.endswith("token") or "expired" in request.node.name):
        pytest.skip("no tokens yet")


@pytest.fixture(scope="module")
def topic(secured_broker: Secured) -> Callable[[str], str]:
    """Makes topics that all users of the ways may use."""
    secured_broker.grant("clients-")

    def make(name: str) -> str:
        topic = unique_name(f"clients-{name}")
        with Wire(secured_broker.open) as wire:
            wanted = {"topics": [{"name": topic, "num_partitions": 1, "replication_factor": 1}], "timeout_ms": 20_000}
            assert ask(wire, request("create_topics", wanted), 7).topics[0].error_code == 0
        return topic

    return make


@pytest.mark.parametrize(("client", "way"), PAIRS)
def test_let_in(secured_broker: Secured, topic: Callable[[str], str], client: str, way: str) -> None:
    assert CLIENTS[client](secured_broker.ways[way], topic(client), b"hello") == b"hello"


def refused_soon(client: str, way: Way) -> str:
    began = time.monotonic()
    with pytest.raises(Refused) as caught:
        CLIENTS[client](way, "clients-any", b"x")
    assert time.monotonic() - began < SOON_S
    return str(caught.value)


@pytest.mark.parametrize(("client", "way"), WRONG)
def test_a_wrong_password_is_told_soon(
    secured_broker: Secured, client: str, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    said = refused_soon(client, secured_broker.ways[way].with_password("hopeless"))
    said += caplog.text  # where aiokafka tells the reason
    if client != "kafka-python":  # which often tells no more than that the connection has ended
        assert "uthentication" in said or "SASL" in said, said
    assert "hopeless" not in said


def test_scram_of_an_old_librdkafka(secured_broker: Secured) -> None:
    """Before 2.6.1 it sends its own nonce twice, which brokers must not take (CVE-2024-56128): kcat takes PLAIN."""
    assert "uthentication failed" in refused_soon("kcat", secured_broker.ways["sasl-scram-512"])


@pytest.mark.parametrize("client", LATE)
def test_a_token_that_has_expired(secured_broker: Secured, client: str) -> None:
    late = secured_broker.issuer.token("carol", lifetime_s=-40)
    refused_soon(client, secured_broker.with_token("sasl-token", late))


def test_a_certificate_of_another_authority(secured_broker: Secured) -> None:
    refused_soon("confluent", secured_broker.with_certificate("stranger", trusted=False))


def test_no_certificate_where_one_is_required(secured_broker: Secured) -> None:
    refused_soon("aiokafka", secured_broker.with_certificate(None))


@pytest.mark.parametrize("client", ["confluent", "kafka-python", "aiokafka", "franz"])
def test_a_broker_of_another_authority_is_not_believed(secured_broker: Secured, client: str, tmp_path: Path) -> None:
    refused_soon(client, secured_broker.with_other_authority("secure-plain", tmp_path))


def test_kafka_acls(secured_broker: Secured, topic: Callable[[str], str], tmp_path: Path) -> None:
    file = str(secured_broker.ways["secure-admin"].java_file(tmp_path))
    name = topic("acls")
    where = ("--bootstrap-server", secured_broker.secure, "--command-config", file)
    added = java_tool(
        "org.apache.kafka.tools.AclCommand",
        *where,
        *("--add", "--allow-principal", "User:reader", "--operation", "Read", "--topic", name),
    )
    assert added.returncode == 0, added.stderr
    listed = java_tool("org.apache.kafka.tools.AclCommand", *where, "--list", "--topic", name)
    assert "principal=User:reader" in listed.stdout
    assert "operation=READ" in listed.stdout


def test_kafka_configs_of_users(secured_broker: Secured, tmp_path: Path) -> None:
    file = str(secured_broker.ways["secure-admin"].java_file(tmp_path))
    where = ("--bootstrap-server", secured_broker.secure, "--command-config", file, "--entity-type", "users")
    user = unique_name("user")
    changed = java_tool(
        "ConfigCommand",
        *where,
        *("--entity-name", user, "--alter", "--add-config", "SCRAM-SHA-256=[iterations=4096,password=secret]"),
    )
    assert changed.returncode == 0, changed.stdout + changed.stderr
    told = java_tool("ConfigCommand", *where, "--entity-name", user, "--describe")
    assert "SCRAM-SHA-256=iterations=4096" in told.stdout, told.stdout
    assert "secret" not in told.stdout
