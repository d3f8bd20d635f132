"""Our own command line over TLS and SASL, and certificates that are exchanged while a client sends."""

import os
import signal
import ssl
import subprocess
import sys
import time

import pytest
from confluent_kafka import Producer

from compat_tests.conftest import unique_name
from compat_tests.security.secured import Secured
from compat_tests.security.ways import Way

PATIENCE_S = 20.0


def run(way: Way, *arguments: str) -> "subprocess.CompletedProcess[str]":
    told = {
        "BOOTSTRAP": way.address,
        "SECURITY_PROTOCOL": way.protocol,
        "SASL_MECHANISM": way.mechanism or "PLAIN",
        "SASL_USERNAME": way.user,
        "SASL_PASSWORD": way.password,
        "SASL_TOKEN": way.token,
        "SSL_CAFILE": str(way.authority),
        "CONFIG": "/nonexistent",
    }
    if way.certificate is not None:
        told |= {"SSL_CERTFILE": str(way.certificate[0]), "SSL_KEYFILE": str(way.certificate[1])}
    environment = {**os.environ, **{f"TIDEGATE_CLI_{name}": value for name, value in told.items()}}
    command = [sys.executable, "-m", "tidegate", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("name", ["secure-scram-512", "sasl-token", "certificate"])
def test_the_command_line(secured_broker: Secured, name: str) -> None:
    secured_broker.grant("clients-")
    way, topic = secured_broker.ways[name], unique_name("clients-cli")
    for arguments in (["topic", "create", topic], ["produce", topic, "hello"]):
        done = run(way, *arguments)
        assert done.returncode == 0, done.stderr
    assert run(way, "consume", topic, "-e").stdout == "hello\n"


def test_certificates_are_exchanged_under_load(secured_broker: Secured) -> None:
    if secured_broker.running is None:
        pytest.skip("Kafka reads its files again only when it is told to by a request")
    secured_broker.grant("clients-")
    way, topic = secured_broker.ways["secure-scram-512"], unique_name("clients-exchanged")
    assert run(way, "topic", "create", topic).returncode == 0
    errors: list[object] = []
    outcomes: list[object] = []
    producer = Producer({**way.librdkafka(), "error_cb": errors.append, "linger.ms": 0})
    before = shown(way)
    secured_broker.certificates.write_server()
    os.kill(secured_broker.running.pid, signal.SIGHUP)
    deadline = time.monotonic() + PATIENCE_S
    while shown(way) == before:
        assert time.monotonic() < deadline
        producer.produce(topic, b"x", on_delivery=lambda error, _: outcomes.append(error))
        producer.poll(0.01)
    for _ in range(100):
        producer.produce(topic, b"x", on_delivery=lambda error, _: outcomes.append(error))
    assert producer.flush(PATIENCE_S) == 0
    assert set(outcomes) == {None}
    assert errors == []


def shown(way: Way) -> str:
    """The certificate that a new client is shown."""
    host, port = way.address.split(":")
    return ssl.get_server_certificate((host, int(port)), ca_certs=str(way.authority))
