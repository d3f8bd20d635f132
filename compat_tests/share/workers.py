"""Workers of every client that has a share consumer, each in a process of its own.

What a worker does with a record is said by the record's value: `release...` is released the first time and accepted
then, `reject...` rejected, `hold...` kept without a word, `renew...` renewed a few times before it is accepted (where
the client can), and all others accepted. Some can also be told to accept implicitly, by going on. A worker says in
lines what it was given (`record PARTITION OFFSET COUNT VALUE`), what the broker has taken note of (`settled PARTITION
OFFSET`) or refused (`failed ...`), and `closed` at its end, which comes when its input ends.
"""

import functools
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import define, field

from compat_tests.brokers import PROJECT_ROOT
from compat_tests.java.program import java_program

KINDS = ("java", "confluent", "franz", "trio", "asyncio")
PATIENCE_SECONDS = 40.0
FOLDER = Path(__file__).parent


@define(eq=False)
class WorkerProcess:
    """A worker, and what it has said."""

    kind: str
    _process: "subprocess.Popen[bytes]"
    _complaints: Path
    given: list[tuple[int, int, int, str]] = field(factory=list)
    """Partition, offset, how often it was handed out, value."""
    settled: list[tuple[int, int]] = field(factory=list)
    failed: list[str] = field(factory=list)
    is_closed: bool = False
    has_ended: bool = False
    _buffer: bytes = b""

    def fileno(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def read(self) -> None:
        said = os.read(self.fileno(), 1 << 16)
        *lines, self._buffer = (self._buffer + said).split(b"\n")
        for line in lines:
            self._take(line.decode())
        self.has_ended = not said

    def _take(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "record":
            partition, offset, count, value = rest.split(" ", 3)
            self.given.append((int(partition), int(offset), int(count), value))
        elif word == "settled":
            partition, offset = rest.split(" ")
            self.settled.append((int(partition), int(offset)))
        elif word == "failed":
            self.failed.append(rest)
        elif word == "closed":
            self.is_closed = True

    def close(self) -> None:
        """Let it end by itself."""
        assert self._process.stdin is not None
        if not self._process.stdin.closed:
            self._process.stdin.write(b"\n")
            self._process.stdin.close()
        wait_until(lambda: self.has_ended, [self])
        assert self.is_closed, self._complaints.read_text()[-2000:]
        self._process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def __str__(self) -> str:
        said = self._complaints.read_text()[-1500:]
        return f"{self.kind}: given {self.given[-20:]}, {len(self.settled)} settled, failed {self.failed}; {said}"


def wait_until(
    condition: Callable[[], object], workers: Sequence[WorkerProcess], seconds: float = PATIENCE_SECONDS
) -> None:
    """Listen to the workers until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        for worker in select.select([each for each in workers if not each.has_ended], [], [], 0.1)[0]:
            worker.read()
        assert time.monotonic() < deadline, "\n".join(map(str, workers))


@contextmanager
def crew(bootstrap: str, group: str, topic: str) -> Iterator[Callable[..., WorkerProcess]]:
    """Starts workers; those that are left are killed at the end."""
    started: list[WorkerProcess] = []
    with tempfile.TemporaryDirectory(prefix="compat-share-") as folder:

        def start(kind: str, *options: str) -> WorkerProcess:
            complaints = Path(folder) / f"{len(started)}.txt"
            with complaints.open("wb") as errors:
                process = subprocess.Popen(
                    [*_command(kind), bootstrap, group, topic, *options],
                    cwd=PROJECT_ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                )
            started.append(WorkerProcess(kind, process, complaints))
            return started[-1]

        try:
            yield start
        finally:
            for worker in started:
                worker.kill()


def _command(kind: str) -> list[str]:
    if kind == "java":
        return java_program(FOLDER / "ShareWorker.java")
    if kind == "franz":
        return [f"{_franz().name}/worker"]
    if kind == "confluent":
        return [sys.executable, "-m", "compat_tests.share.run_confluent"]
    return [sys.executable, "-m", "compat_tests.share.run_work", kind]


@functools.cache
def _franz() -> "tempfile.TemporaryDirectory[str]":
    """The program on franz-go, compiled once per session."""
    if shutil.which("go") is None:
        pytest.skip("no Go on this machine")
    folder = tempfile.TemporaryDirectory(prefix="compat-franz-")
    source = FOLDER / "franz"
    fetched = subprocess.run(["go", "mod", "download"], cwd=source, capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        pytest.skip(f"franz-go cannot be had: {fetched.stderr}")
    command = ["go", "build", "-o", f"{folder.name}/worker", "."]
    built = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder
