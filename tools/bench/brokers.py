"""The brokers under test, started the same way, each on an empty directory that is deleted at the end."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import define

from tidegate import testing
from tools.bench.processes import age_s
from tools.reference.broker import SERVER_OPTIONS, ReferenceBroker, reference_kafka
from tools.reference.java import java_command

PATIENCE_S = 120.0
HEAP = "1g"


@define(eq=False)
class Subject:
    """A running broker; `crash` kills it and starts it anew on the same data, without waiting until it is ready."""

    name: str
    bootstrap: str
    pid: int
    start_s: float
    crash: Callable[[], int]

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

        yield Subject(name, broker.bootstrap, broker.pid, age_s(broker.pid), crash)


class EarlierBroker(testing.RunningBroker):
    """Tidegate from another checkout, with the venv that `make venv` has made there."""

    def __init__(self, checkout: Path, directory: Path) -> None:
        super().__init__({}, directory / "data", directory / "log", PATIENCE_S)
        self._checkout = checkout

    def _command(self) -> list[str]:
        _, *arguments = super()._command()
        place = f"PYTHONPATH={self._checkout}"
        return ["env", place, str(self._checkout / ".venv/bin/python"), *arguments]


@contextmanager
def earlier_subject(checkout: Path) -> Iterator[Subject]:
    """Tidegate as it was, to be compared with as it is."""
    with tempfile.TemporaryDirectory(prefix="tidegate-before-", ignore_cleanup_errors=True) as directory:
        broker = EarlierBroker(checkout, Path(directory))
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
def kafka_subject() -> Iterator[Subject]:
    """Apache Kafka with its defaults and a heap of 1 GiB."""
    with reference_kafka(heap=HEAP) as broker:
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


TIDEGATE = "tidegate"
TIDEGATE_OS = "tidegate-os"
TIDEGATE_BEFORE = "tidegate-before"
"""Measured only where a checkout is named for it, on every row of Tidegate's."""
KAFKA = "kafka"
SUBJECTS = {
    TIDEGATE: lambda: tidegate_subject(TIDEGATE),
    TIDEGATE_OS: lambda: tidegate_subject(TIDEGATE_OS, {"log.flush.mode": "os"}),
    KAFKA: kafka_subject,
}
