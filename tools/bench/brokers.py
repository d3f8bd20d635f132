"""The brokers under test, started the same way, each on an empty directory that is deleted at the end."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from attrs import Factory, define, frozen

from tidegate import testing
from tidegate.etcd import RunningEtcd
from tools.bench.processes import age_s
from tools.reference.broker import SERVER_OPTIONS, ReferenceBroker, free_port, reference_kafka
from tools.reference.cluster import reference_cluster
from tools.reference.java import java_command

PATIENCE_S = 120.0
HEAP = "1g"


@frozen
class TlsListener:
    """An address, and the file of the authority that vouches for who answers there."""

    address: str
    authority: Path


@define(eq=False)
class Subject:
    """A running broker; `crash` kills it and starts it anew on the same data, without waiting until it is ready."""

    name: str
    bootstrap: str
    pid: int
    start_s: float
    crash: Callable[[], int]
    others: tuple[int, ...] = ()
    """More processes that belong to it: the nodes of a cluster, and its etcd."""
    factor: int = 1
    """How many replicas its topics have."""
    tls: "TlsListener | None" = None
    """Where it listens with TLS, too."""
    doors: Mapping[str, str] = Factory(dict)
    """Where Tidegate's other doors are, by name; those that the row has switched on."""

    @property
    def pids(self) -> tuple[int, ...]:
        """All of them."""
        return (self.pid, *self.others)

    def kill_and_start(self) -> None:
        """As `crash`; the process is another one afterwards."""
        self.pid = self.crash()


@contextmanager
def tidegate_subject(name: str, settings: Mapping[str, str] | None = None) -> Iterator[Subject]:
    """Tidegate with its defaults, all doors on, or some settings over them."""
    with testing.broker(settings or {}, timeout_s=PATIENCE_S) as broker:

        def crash() -> int:
            broker.kill()
            broker.start()
            return broker.pid

        doors = {"http": broker.http_url}
        if settings and "grpc.port" in settings:
            doors |= {"grpc": broker.grpc_address, "text": broker.text_address}
        yield Subject(name, broker.bootstrap, broker.pid, age_s(broker.pid), crash, doors=doors)


class EarlierBroker(testing.RunningBroker):
    """Tidegate from another checkout, with the venv that `make venv` has made there."""

    def __init__(self, checkout: Path, directory: Path, settings: Mapping[str, str]) -> None:
        super().__init__(settings, directory / "data", directory / "log", PATIENCE_S)
        self._checkout = checkout

    def _command(self) -> list[str]:
        _, *arguments = super()._command()
        place = f"PYTHONPATH={self._checkout}"
        return ["env", place, str(self._checkout / ".venv/bin/python"), *arguments]


@contextmanager
def earlier_subject(checkout: Path, settings: Mapping[str, str] | None = None) -> Iterator[Subject]:
    """Tidegate as it was, to be compared with as it is."""
    with tempfile.TemporaryDirectory(prefix="tidegate-before-", ignore_cleanup_errors=True) as directory:
        broker = EarlierBroker(checkout, Path(directory), settings or {})
        broker.start()

        def crash() -> int:
            broker.kill()
            broker.start()
            return broker.pid

        try:
            yield Subject(TIDEGATE_BEFORE, broker.bootstrap, broker.pid, age_s(broker.pid), crash)
        finally:
            broker.kill()


@contextmanager
def kafka_subject(settings: Mapping[str, str] | None = None, port: int | None = None) -> Iterator[Subject]:
    """Apache Kafka with its defaults, or some settings over them, and a heap of 1 GiB."""
    with reference_kafka(settings, port=port, heap=HEAP) as broker:
        if broker.pid is None:
            raise SystemExit("the benchmark measures Kafka's process: set REFERENCE_KAFKA=jars")
        started: list[subprocess.Popen[bytes]] = []

        def crash() -> int:
            os.kill(broker.pid or 0, signal.SIGKILL)
            os.waitid(os.P_PID, broker.pid or 0, os.WEXITED | os.WNOWAIT)
            started.append(_start_again(broker))
            return started[-1].pid

        try:
            yield Subject("kafka", broker.bootstrap, broker.pid, age_s(broker.pid), crash)
        finally:
            for process in started:
                process.kill()
                process.wait()


def _start_again(broker: ReferenceBroker) -> "subprocess.Popen[bytes]":
    options = (*SERVER_OPTIONS, f"-Xmx{HEAP}", f"-Xms{HEAP}", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
    properties = Path(broker.directory) / "server.properties"
    command = java_command("Kafka", str(properties), options=options, logging=True)
    with broker.log_file.open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)


@contextmanager
def tidegate_cluster(
    name: str, nodes: int, factor: int, settings: Mapping[str, str] | None = None
) -> Iterator[Subject]:
    """So many nodes with their defaults, and an etcd, which counts as Kafka's controllers do."""
    with testing.cluster(nodes, {"min.insync.replicas": str(min(2, factor)), **(settings or {})}) as cluster:
        pids = [node.pid for node in cluster.nodes.values()]
        assert isinstance(cluster.etcd, RunningEtcd)
        others = (*pids[1:], cluster.etcd.pid)
        yield Subject(name, cluster.bootstrap, pids[0], age_s(pids[0]), _never, others, factor)


@contextmanager
def kafka_cluster(nodes: int, factor: int) -> Iterator[Subject]:
    """So many nodes of Apache Kafka, each broker and controller."""
    with reference_cluster(nodes, {"min.insync.replicas": str(min(2, factor))}, heap=HEAP) as cluster:
        pids = [node.pid for node in cluster.values()]
        bootstrap = ",".join(node.bootstrap for node in cluster.values())
        yield Subject(KAFKA, bootstrap, pids[0], age_s(pids[0]), _never, tuple(pids[1:]), factor)


def _never() -> int:
    raise NotImplementedError("no row kills a node of a cluster")


@contextmanager
def with_tls(broker: str) -> Iterator[Subject]:
    """A broker that listens without TLS and with it."""
    from tidegate.dev_certificates import Authority

    with tempfile.TemporaryDirectory(prefix="bench-tls-") as directory:
        authority, keystore = Path(directory) / "ca.pem", Path(directory) / "server.pem"
        signing = Authority.make()
        authority.write_bytes(signing.identity.certificate_pem)
        keystore.write_bytes(signing.broker(["127.0.0.1"]).pem)
        plain, tls, controller = free_port(), free_port(), free_port()
        clients = f"PLAINTEXT://127.0.0.1:{plain},SSL://127.0.0.1:{tls}"
        settings = {"listeners": clients, "ssl.keystore.type": "PEM", "ssl.keystore.location": str(keystore)}
        if broker == KAFKA:
            settings["listeners"] = f"{clients},CONTROLLER://127.0.0.1:{controller}"
            settings["advertised.listeners"] = clients
            settings["controller.quorum.voters"] = f"1@127.0.0.1:{controller}"
            settings["listener.security.protocol.map"] = "PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT"
            subject = kafka_subject(settings, plain)
        else:
            modes = {"log.flush.mode": "os"} if broker == TIDEGATE_OS else {}
            subject = tidegate_subject(broker, {**settings, **modes})
        with subject as running:
            running.tls = TlsListener(f"127.0.0.1:{tls}", authority)
            yield running


TIDEGATE = "tidegate"
TIDEGATE_OS = "tidegate-os"
TIDEGATE_BEFORE = "tidegate-before"
"""Measured only where a checkout is named for it, on every row of Tidegate's."""
KAFKA = "kafka"
SUBJECTS: dict[str, Callable[..., AbstractContextManager[Subject]]] = {
    TIDEGATE: lambda settings=None: tidegate_subject(TIDEGATE, settings),
    TIDEGATE_OS: lambda settings=None: tidegate_subject(TIDEGATE_OS, {"log.flush.mode": "os", **(settings or {})}),
    KAFKA: kafka_subject,
}
"""Each may be given settings over its defaults."""
CLUSTERS: dict[str, Callable[[int, int], AbstractContextManager[Subject]]] = {
    TIDEGATE: lambda nodes, factor: tidegate_cluster(TIDEGATE, nodes, factor),
    TIDEGATE_OS: lambda nodes, factor: tidegate_cluster(TIDEGATE_OS, nodes, factor, {"log.flush.mode": "os"}),
    KAFKA: kafka_cluster,
}
"""By the number of nodes and of replicas."""
