"""Several nodes of Apache Kafka in KRaft mode on this machine, each broker and controller in one, on the jars that
`install.py` fetched. Nodes can be killed, stopped, paused and started again."""

import os
import signal
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tools.reference.broker import SERVER_OPTIONS, ReferenceFailed, brokers_known, free_port
from tools.reference.java import java_command, java_tool

READY_S = 240.0
STOP_S = 30.0


class ReferenceNode:
    """One of them."""

    def __init__(self, node_id: int, directory: Path, properties: Mapping[str, str], heap: str) -> None:
        self.node_id = node_id
        self.address = properties["advertised.listeners"].removeprefix("PLAINTEXT://")
        self._file = directory / f"node-{node_id}.properties"
        self._file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        self._log = directory / f"node-{node_id}.log"
        self._heap = heap
        self._process: subprocess.Popen[bytes] | None = None
        self.is_paused = False

    @property
    def bootstrap(self) -> str:
        return self.address

    @property
    def pid(self) -> int:
        assert self._process is not None, "it is not running"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def format(self, cluster_id: str) -> None:
        """Make its data directory."""
        done = java_tool("StorageTool", "format", f"--cluster-id={cluster_id}", "-c", str(self._file))
        if done.returncode != 0:
            raise ReferenceFailed(f"formatting failed: {done.stdout}{done.stderr}")

    def begin(self) -> None:
        """Start it without waiting."""
        level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        options = (*SERVER_OPTIONS, f"-Xmx{self._heap}", f"-Xms{self._heap}", level)
        command = java_command("Kafka", str(self._file), options=options, logging=True)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.begin()
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Until it knows of brokers."""
        port = int(self.address.rpartition(":")[2])
        deadline = time.monotonic() + READY_S
        while not brokers_known(port):
            if not self.is_running or time.monotonic() > deadline:
                tail = self._log.read_text(errors="replace")[-3000:]
                raise ReferenceFailed(f"node {self.node_id} of Kafka is not ready:\n{tail}")
            time.sleep(0.1)

    def pause(self) -> None:
        """Have it stand still."""
        os.kill(self.pid, signal.SIGSTOP)
        self.is_paused = True

    def resume(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)
        self.is_paused = False

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process, self.is_paused = None, False

    def stop(self) -> None:
        """End it in good order."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def restart(self) -> None:
        """In good order."""
        self.stop()
        self.start()


@contextmanager
def reference_cluster(
    nodes: int = 3, settings: Mapping[str, str] | None = None, *, heap: str = "1g"
) -> Iterator[dict[int, ReferenceNode]]:
    """So many, by their numbers, for as long as the block runs."""
    with tempfile.TemporaryDirectory(prefix="reference-kafka-", ignore_cleanup_errors=True) as work:
        made = make_nodes(Path(work), nodes, settings or {}, heap)
        try:
            start_nodes(made)
            yield made
        finally:
            for node in made.values():
                node.kill()


def make_nodes(directory: Path, count: int, settings: Mapping[str, str], heap: str) -> dict[int, ReferenceNode]:
    """Formatted, not started."""
    voters = {number: f"127.0.0.1:{free_port()}" for number in range(1, count + 1)}
    quorum = ",".join(f"{number}@{address}" for number, address in voters.items())
    cluster_id = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    made = {}
    for number in voters:
        properties = _properties(directory, number, voters[number], quorum, count)
        made[number] = ReferenceNode(number, directory, {**properties, **settings}, heap)
        made[number].format(cluster_id)
    return made


def start_nodes(nodes: Mapping[int, ReferenceNode]) -> None:
    """All at once: none is ready before a majority is."""
    for node in nodes.values():
        node.begin()
    for node in nodes.values():
        node.wait_until_ready()


def _properties(directory: Path, number: int, controller: str, quorum: str, count: int) -> dict[str, str]:
    address, factor = f"127.0.0.1:{free_port()}", str(min(3, count))
    least = str(min(2, count))
    return {
        "process.roles": "broker,controller",
        "node.id": str(number),
        "controller.quorum.voters": quorum,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listeners": f"PLAINTEXT://{address},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{address}",
        "log.dirs": str(directory / f"node-{number}"),
        "default.replication.factor": factor,
        "min.insync.replicas": least,
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": least,
        "group.initial.rebalance.delay.ms": "0",
    }
