"""Group consumers of every Python client behind one face: subscribe, poll, commit, close, die.

Each runs in a process of its own and speaks in lines of JSON, so that a test can kill it like `kill -9`, and so
that the clients' own threads and loops do not meet. The events: {"assigned": [...]}, {"revoked": [...]},
{"record": [partition, offset, value]}, {"committed": true}, {"closed": true}, {"error": "..."}.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define, field

from compat_tests.brokers import PROJECT_ROOT

PATIENCE_SECONDS = 30.0
KINDS = ("confluent", "kafkapython", "aio")


@define(eq=False)
class Consumer:
    """A consumer in a process of its own, and what it has told."""

    name: str
    _process: "subprocess.Popen[bytes]"
    _complaints: Path
    assigned: set[tuple[str, int]] = field(factory=set)
    records: list[tuple[int, int, str]] = field(factory=list)
    events: list[dict[str, Any]] = field(factory=list)
    _buffer: bytes = b""
    _is_expected_to_end: bool = False
    has_ended: bool = False

    def fileno(self) -> int:
        """Where it speaks, to be waited for."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def read(self) -> None:
        """Take in what it has said since; there has to be something, or its end."""
        said = os.read(self.fileno(), 1 << 16)
        *lines, self._buffer = (self._buffer + said).split(b"\n")
        for line in lines:
            self._take(json.loads(line))
        self.has_ended = not said
        if self.has_ended and not self._is_expected_to_end:
            status, complaints = self._process.wait(), self._complaints.read_text()[-2000:]
            raise AssertionError(f"{self.name} has ended by itself, with status {status}: {complaints}")

    def _take(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        if "assigned" in event:
            self.assigned |= {(topic, partition) for topic, partition in event["assigned"]}
        elif "revoked" in event:
            self.assigned -= {(topic, partition) for topic, partition in event["revoked"]}
        elif "record" in event:
            self.records.append(tuple(event["record"]))

    @property
    def rebalances(self) -> int:
        """How often it was assigned something, or nothing."""
        return sum("assigned" in event for event in self.events)

    @property
    def errors(self) -> list[str]:
        return [event["error"] for event in self.events if "error" in event]

    def tell(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command.encode() + b"\n")
        self._process.stdin.flush()

    def leave(self) -> None:
        """Tell it to leave its group, and to end."""
        self._is_expected_to_end = True
        self.tell("close")

    def close(self) -> None:
        """Let it leave its group, and wait until it has."""
        if self._process.poll() is None:
            self.leave()
            wait_until(lambda: any("closed" in event for event in self.events), [self])
        self._process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        """End it without a word to anybody."""
        self._is_expected_to_end = True
        self._process.kill()
        self._process.wait()


def wait_until(
    condition: Callable[[], object], consumers: Sequence[Consumer], seconds: float = PATIENCE_SECONDS
) -> None:
    """Listen to the consumers until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        for consumer in select.select([each for each in consumers if not each.has_ended], [], [], 0.1)[0]:
            consumer.read()
        state = [(c.name, sorted(c.assigned), len(c.records), c.errors) for c in consumers]
        assert time.monotonic() < deadline, f"after {seconds:g} s: {state}"


def share(consumers: Sequence[Consumer], topic: str, partitions: int) -> bool:
    """Whether they have all partitions between them, each one once, and nobody goes without."""
    held = [place for consumer in consumers for place in consumer.assigned]
    wanted = {(topic, index) for index in range(partitions)}
    return len(held) == partitions and set(held) == wanted and all(consumer.assigned for consumer in consumers)


@contextmanager
def consumers(bootstrap: str, group: str, topic: str) -> Iterator[Callable[..., Consumer]]:
    """Starts consumers of one group; kills those that are left at the end."""
    started: list[Consumer] = []

    def start(kind: str = "confluent", **options: object) -> Consumer:
        arguments = json.dumps({"bootstrap": bootstrap, "group": group, "topic": topic, **options})
        command = [sys.executable, "-m", f"compat_tests.groups.run_{kind}", arguments]
        name = f"{kind}-{len(started)}"
        complaints = Path(folder) / name
        with complaints.open("wb") as stderr:
            process = subprocess.Popen(
                command, cwd=PROJECT_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
            )
        consumer = Consumer(name, process, complaints)
        started.append(consumer)
        return consumer

    with tempfile.TemporaryDirectory(prefix="compat-consumers-") as folder:
        try:
            yield start
        finally:
            for consumer in started:
                consumer.kill()
                for pipe in (consumer._process.stdin, consumer._process.stdout):
                    if pipe is not None:
                        pipe.close()
