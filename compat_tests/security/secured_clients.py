"""Real clients that come by a way: each sends a record and reads it back, or tells why it may not."""

import asyncio
import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from compat_tests.security.ways import Way
from tools.reference.java import java_tool

PATIENCE_S = 20.0
FRANZ = Path(__file__).with_name("franz")


class Refused(Exception):
    """The client's own words for not being let in."""


RoundTrip = Callable[[Way, str, bytes], bytes]
"""Sends a value to partition 0 of a topic that is empty, and gives what it read there."""


def by_confluent(way: Way, topic: str, value: bytes) -> bytes:
    from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

    refusals: list[str] = []

    def note(error: Any) -> None:
        if error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL) or "SSL" in str(error):
            refusals.append(str(error))

    options: dict[str, Any] = {**way.librdkafka(), "error_cb": note, "log_level": 0, "socket.timeout.ms": 10_000}
    if way.mechanism == "OAUTHBEARER":
        options["oauth_cb"] = lambda _: (way.token, time.time() + 3_000)
    producer = Producer(options)
    sent: list[Any] = []
    producer.produce(topic, value, on_delivery=lambda error, _: sent.append(error))
    deadline = time.monotonic() + PATIENCE_S
    while not sent and not refusals and time.monotonic() < deadline:
        producer.poll(0.1)
    if refusals:
        producer.purge()
        producer.flush(1)
        raise Refused(refusals[0])
    assert sent == [None], sent
    with contextlib.closing(Consumer({**options, "group.id": "clients-confluent"})) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        assert message.error() is None
        return bytes(message.value())


def by_kafka_python(way: Way, topic: str, value: bytes) -> bytes:
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.errors import KafkaError
    from kafka.net.sasl.oauth import AbstractTokenProvider

    class Given(AbstractTokenProvider):
        def __init__(self, token: str) -> None:
            self._token = token

        def token(self) -> str:
            return self._token

    # It tries again until its time is over, and tells the reason in its log.
    options = {**way.python(Given), "bootstrap_timeout_ms": 3_000}
    try:
        producer = KafkaProducer(**options, max_block_ms=10_000)
        try:
            producer.send(topic, value, partition=0).get(PATIENCE_S)
        finally:
            producer.close(timeout=1)
    except KafkaError as error:
        raise Refused(repr(error)) from None
    consumer = KafkaConsumer(**options, auto_offset_reset="earliest")
    try:
        place = TopicPartition(topic, 0)
        consumer.assign([place])
        found = consumer.poll(timeout_ms=round(PATIENCE_S * 1_000))
        return bytes(found[place][0].value)
    finally:
        consumer.close()


def by_aiokafka(way: Way, topic: str, value: bytes) -> bytes:
    return asyncio.run(_by_aiokafka(way, topic, value))


async def _by_aiokafka(way: Way, topic: str, value: bytes) -> bytes:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
    from aiokafka.abc import AbstractTokenProvider
    from aiokafka.errors import KafkaError

    class Given(AbstractTokenProvider):
        def __init__(self, token: str) -> None:
            self._token = token

        async def token(self) -> str:
            return self._token

    producer = AIOKafkaProducer(**way.python(Given))
    try:
        await producer.start()
        await producer.send_and_wait(topic, value, partition=0)
    except KafkaError as error:
        raise Refused(repr(error)) from None
    finally:
        await producer.stop()
    consumer = AIOKafkaConsumer(**way.python(Given), auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign([TopicPartition(topic, 0)])
        return bytes((await asyncio.wait_for(consumer.getone(), PATIENCE_S)).value)
    finally:
        await consumer.stop()


def by_kcat(way: Way, topic: str, value: bytes) -> bytes:
    options = [word for key, text in way.librdkafka().items() for word in ("-X", f"{key}={text}")]
    _kcat(*options, "-P", "-t", topic, "-p", "0", stdin=value)
    return _kcat(*options, "-C", "-q", "-t", topic, "-p", "0", "-o", "0", "-c", "1", "-f", "%s")


def _kcat(*arguments: str, stdin: bytes = b"") -> bytes:
    done = subprocess.run(["kcat", *arguments], input=stdin, capture_output=True, timeout=60, check=False)
    if done.returncode != 0:
        raise Refused(done.stderr.decode())
    return done.stdout


def by_java(way: Way, topic: str, value: bytes) -> bytes:
    with tempfile.TemporaryDirectory(prefix="compat-java-") as folder:
        file = str(way.java_file(Path(folder)))
        where = ("--bootstrap-server", way.address, "--topic", topic)
        listed = java_tool("TopicCommand", "--bootstrap-server", way.address, "--command-config", file, "--list")
        if listed.returncode != 0:  # the console's producer ends well, whatever happens
            raise Refused(listed.stdout + listed.stderr)
        sent = java_tool("ConsoleProducer", *where, "--command-config", file, stdin=value.decode() + "\n")
        assert sent.returncode == 0, sent.stderr
        options = ("--partition", "0", "--offset", "0", "--max-messages", "1", "--timeout-ms", "20000")
        read = java_tool("ConsoleConsumer", *where, "--command-config", file, *options)
        if read.returncode != 0:
            raise Refused(read.stdout + read.stderr)
        return read.stdout.strip().encode()


def by_franz(way: Way, topic: str, value: bytes) -> bytes:
    told = {
        "ADDRESS": way.address,
        "TOPIC": topic,
        "VALUE": value.decode(),
        "MECHANISM": way.mechanism or "",
        "NAME": way.user,
        "PASSWORD": way.password,
        "TOKEN": way.token,
        "AUTHORITY": str(way.authority) if way.has_tls else "",
    }
    if way.certificate is not None:
        told |= {"CERTIFICATE": str(way.certificate[0]), "KEY": str(way.certificate[1])}
    done = subprocess.run(
        [str(_franz())], env={**os.environ, **told}, capture_output=True, timeout=60, check=False, text=True
    )
    if done.returncode != 0:
        raise Refused(done.stderr)
    return done.stdout.encode()


@cache
def _franz() -> Path:
    """The program on franz-go, compiled once."""
    binary = Path(tempfile.gettempdir()) / f"compat-security-franz-{os.getpid()}"
    subprocess.run(["go", "build", "-C", str(FRANZ), "-o", str(binary), "."], check=True, capture_output=True)
    return binary


CLIENTS: dict[str, RoundTrip] = {
    "confluent": by_confluent,
    "kafka-python": by_kafka_python,
    "aiokafka": by_aiokafka,
    "kcat": by_kcat,
    "java": by_java,
    "franz": by_franz,
}
