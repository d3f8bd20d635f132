"""A single-node Apache Kafka in KRaft mode, in a temporary directory, for as long as a `with` block.

Runs in a container when a Docker engine answers, else on the jars that `install.py` fetched; the
environment variable `REFERENCE_KAFKA` = `jars` or `docker` decides by hand.
"""

import os
import socket
import struct
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from tools.reference.container import docker_answers, kafka_container
from tools.reference.java import java_command, java_tool

READY_SECONDS = 60.0
STOP_SECONDS = 20.0
# The options of Kafka's own start script, so that comparisons are fair to it.
SERVER_OPTIONS = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
)


class ReferenceFailed(Exception):
    """Kafka did not start; the message holds the end of its log."""


@frozen
class ReferenceBroker:
    """A running Kafka. `pid` is None when it runs in a container."""

    port: int
    directory: Path
    log_file: Path
    pid: int | None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextmanager
def reference_kafka(
    settings: Mapping[str, str] | None = None,
    *,
    port: int | None = None,
    heap: str = "1g",
    log_level: str = "warn",
    java_options: tuple[str, ...] = (),
) -> Iterator[ReferenceBroker]:
    """Starts Kafka on a free port (or `port`) with `settings` over the defaults, and stops it at the end."""
    with tempfile.TemporaryDirectory(prefix="reference-kafka-") as work:
        directory = Path(work)
        chosen = port if port is not None else free_port()
        properties = _properties(directory, chosen, settings or {})
        if _in_container():
            with kafka_container(properties) as log_file:
                _wait_until_ready(chosen, log_file, None)
                yield ReferenceBroker(chosen, directory, log_file, None)
        else:
            with _process(directory, properties, (f"-Xmx{heap}", f"-Xms{heap}", *java_options), log_level) as (
                kafka,
                log_file,
            ):
                _wait_until_ready(chosen, log_file, kafka)
                yield ReferenceBroker(chosen, directory, log_file, kafka.pid)


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _in_container() -> bool:
    choice = os.environ.get("REFERENCE_KAFKA", "")
    if choice not in ("", "jars", "docker"):
        raise ReferenceFailed(f"REFERENCE_KAFKA is {choice!r}: it takes jars or docker")
    return choice == "docker" or (choice == "" and docker_answers())


def _properties(directory: Path, port: int, settings: Mapping[str, str]) -> dict[str, str]:
    controller_port = free_port()
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": str(directory / "data"),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.num.partitions": "1",
        "share.coordinator.state.topic.min.isr": "1",
        **settings,
    }


@contextmanager
def _process(
    directory: Path, properties: Mapping[str, str], java_options: tuple[str, ...], log_level: str
) -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    file = directory / "server.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    cluster_id = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    formatted = java_tool("StorageTool", "format", f"--cluster-id={cluster_id}", "-c", str(file))
    if formatted.returncode != 0:
        raise ReferenceFailed(f"formatting failed: {formatted.stdout}{formatted.stderr}")
    log_file = directory / "kafka.log"
    level = f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log_level}"
    options = (*SERVER_OPTIONS, *java_options, level)
    with log_file.open("wb") as log:
        command = java_command("Kafka", str(file), options=options, logging=True)
        kafka = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        yield kafka, log_file
    finally:
        _stop(kafka)


def _stop(kafka: "subprocess.Popen[bytes]") -> None:
    kafka.terminate()
    try:
        kafka.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        kafka.kill()
        kafka.wait()


def _wait_until_ready(port: int, log_file: Path, kafka: "subprocess.Popen[bytes] | None") -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if kafka is not None and kafka.poll() is not None:
            raise ReferenceFailed(f"Kafka ended with status {kafka.returncode}:\n{_tail(log_file)}")
        if brokers_known(port):
            return
        time.sleep(0.1)
    raise ReferenceFailed(f"Kafka was not ready after {READY_SECONDS:g} s:\n{_tail(log_file)}")


def brokers_known(port: int) -> bool:
    """Whether Metadata (version 1, about no topic) names a broker; before, clients would have to retry."""
    request = struct.pack(">hhihi", 3, 1, 7, -1, 0)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            answer = connection.recv(12, socket.MSG_WAITALL)
    except OSError:
        return False
    return len(answer) == 12 and struct.unpack(">iii", answer)[2] > 0


def _tail(log_file: Path) -> str:
    return log_file.read_text(errors="replace")[-4000:]
