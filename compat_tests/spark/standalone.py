"""A standalone cluster of Spark on loopback: a master and workers, each a JVM of its own, and spark-submit to it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
from attrs import field, frozen

from compat_tests.spark.environment import QUICK, environment
from tools.pipelines.bundle import bundle
from tools.reference.spark import connector_jars

PATIENCE_S = 300  # on a busy machine a Spark takes minutes
PROGRAMS = Path(pyspark.__file__).parent / "bin"
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
EXECUTOR = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"
AT = re.compile(r"Starting Spark master at (spark://\S+)")
REGISTERED = "Successfully registered with master"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": QUICK,
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
}


@frozen
class Submission:
    """A program on its way: what it says goes to a file, and it can be killed with its JVM."""

    process: "subprocess.Popen[bytes]"
    output: Path

    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def wait(self) -> int:
        """The status it ends with."""
        return self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        """kill -9 of the driver: the program and its JVM."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@frozen
class Standalone:
    """A running cluster, by the address of its master."""

    address: str
    folder: Path
    workers: tuple[int, ...]
    jars: tuple[str, ...] = field(factory=lambda: tuple(connector_jars()))

    @contextmanager
    def submitted(
        self, *arguments: str, settings: Mapping[str, str] | None = None, jars: Sequence[str] = ()
    ) -> Iterator[Submission]:
        """A pipeline under way by spark-submit; what is left of it ends with the block."""
        code, program = bundle(self.folder / "bundle")
        chosen = {**SETTINGS, **(settings or {})}
        options = ["--master", self.address, "--driver-memory", "600m", "--driver-java-options", QUICK]
        options += [part for key, value in chosen.items() for part in ("--conf", f"{key}={value}")]
        options += ["--jars", ",".join((*self.jars, *jars)), "--py-files", str(code), str(program)]
        output = self.folder / f"submission-{time.monotonic_ns()}.log"
        with output.open("wb") as stream:
            process = subprocess.Popen(
                [str(PROGRAMS / "spark-submit"), *options, *arguments],
                cwd=self.folder,
                env=environment(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1"),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        submission = Submission(process, output)
        try:
            yield submission
        finally:
            submission.kill()

    def ran(self, *arguments: str, **more: Mapping[str, str]) -> tuple[int, str]:
        """A pipeline from its beginning to its end: its status, and all that it said."""
        with self.submitted(*arguments, **more) as submission:
            return submission.wait(), submission.said()

    def executors(self) -> list[int]:
        """The processes in which tasks run now; they are children of the workers."""
        return [pid for pid in _children(self.workers) if EXECUTOR in _command(pid)]


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Standalone]:
    """A cluster with workers of one core and 512 MB each; its files are below the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        own = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        _, said = stack.enter_context(_daemon(folder, "master", [MASTER, *own]))
        (address,) = AT.findall(_until(said, AT.pattern))[:1]
        started = []
        for number in range(workers):
            room = ["--cores", "1", "--memory", "512M", "--work-dir", str(folder / f"work-{number}")]
            started.append(stack.enter_context(_daemon(folder, f"worker-{number}", [WORKER, *own, *room, address])))
        for _, said in started:
            _until(said, REGISTERED)
        yield Standalone(address, folder, tuple(pid for pid, _ in started))


@contextmanager
def _daemon(folder: Path, name: str, command: list[str]) -> Iterator[tuple[int, Path]]:
    said = folder / f"{name}.log"
    settings = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": QUICK, "SPARK_LOCAL_IP": "127.0.0.1"}
    with said.open("wb") as stream:
        process = subprocess.Popen(
            [str(PROGRAMS / "spark-class"), *command],
            cwd=folder,
            env=environment(SPARK_LOCAL_DIRS=str(folder / "local"), **settings),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process.pid, said
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _until(said: Path, wanted: str) -> str:
    """What a daemon said, once it has said that."""
    deadline = time.monotonic() + PATIENCE_S
    while not re.search(wanted, text := said.read_text(errors="replace")):
        assert time.monotonic() < deadline, text[-3000:]
        time.sleep(0.05)
    return text


def _children(parents: Sequence[int]) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) in parents:
                found.append(int(entry.name))
        except OSError:  # it has ended
            continue
    return found


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
