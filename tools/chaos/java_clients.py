"""Kafka's own Java clients: VerifiableProducer and VerifiableConsumer, which tell in JSON what they were told."""

import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tools.chaos.client_history import ClientHistory
from tools.chaos.workloads import Actor
from tools.reference.java import java_command
from tools.soak.history import Verdict

TOPIC = "chaos-java"
GROUP = "chaos-java"
RATE = "60"
END_S, LOOKS_S = 100.0, 0.5
DEFAULTS = "retries=2147483647\nenable.idempotence=true\n"
"""The producer's own; the tool would ask for none of them."""


class _Program(Actor):
    """A Java program, whose lines are given to `tell`; it is asked to end by SIGTERM."""

    def __init__(
        self, seed: int, command: Sequence[str], settings: str, tell: Callable[[dict[str, Any]], None]
    ) -> None:
        super().__init__("", seed)
        self._command, self._settings, self._tell = command, settings, tell

    def work(self) -> None:
        with tempfile.NamedTemporaryFile("w", prefix="chaos-", suffix=".properties") as file:
            file.write(self._settings)
            file.flush()
            self._live([*self._command, "--command-config", file.name])

    def _live(self, command: Sequence[str]) -> None:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        threading.Thread(target=self._end, args=(process,), daemon=True).start()
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                self._tell(json.loads(line))
        if not self.stopping.is_set():
            self.failures.append(f"a Java client ended by itself, status {process.returncode}")

    def _end(self, process: "subprocess.Popen[str]") -> None:
        """When it is time, and at last by force."""
        while not self.stopping.wait(LOOKS_S):
            if process.poll() is not None:
                return
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()


class JavaClients:
    """See the module."""

    topics = (TOPIC,)

    def __init__(self, bootstrap: str, seed: int) -> None:
        self.history = ClientHistory()
        where = ("--bootstrap-server", bootstrap, "--topic", TOPIC)
        sends = ("--throughput", RATE, "--acks", "-1")
        reads = ("--group-id", GROUP, "--reset-policy", "earliest", "--verbose")
        self.writers = (_Program(seed, java_command("VerifiableProducer", *where, *sends), DEFAULTS, self._sent),)
        self.readers = (_Program(seed, java_command("VerifiableConsumer", *where, *reads), "", self._read),)

    def is_caught_up(self) -> bool:
        return self.history.is_caught_up()

    def verdict(self) -> Verdict:
        """The program chooses the partitions itself, and tells only of what was acknowledged: it numbers its records,
        so that what it sent where is known by what it was told and by what was read."""
        for partition in {partition for partition, _ in self.history.acknowledged} | set(self.history.read):
            told = {value for place, value in self.history.acknowledged if place == partition}
            found = {value for value in self.history.read[partition].values() if value.isdigit()}
            self.history.sent[partition] = sorted(told | found, key=int)
        return self.history.verdict()

    def _sent(self, event: dict[str, Any]) -> None:
        if event["name"] == "producer_send_success":
            self.history.note_acknowledged(event["partition"], event["value"].encode(), event["offset"])
        elif event["name"] == "producer_send_error":
            self.history.failures.append(f"VerifiableProducer: {event.get('message')}")

    def _read(self, event: dict[str, Any]) -> None:
        if event["name"] == "record_data":
            self.history.note_read(event["partition"], event["offset"], event["value"].encode())


def has_java() -> bool:
    """Whether Java is there; Kafka's jars are fetched where they are not."""
    return shutil.which("java") is not None
