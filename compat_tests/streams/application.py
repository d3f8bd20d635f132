"""Instances of the application `WordCount.java`, each a process of its own, and what it has counted."""

import os
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import define
from confluent_kafka import Consumer, Producer, TopicPartition

from compat_tests.java.program import java_program
from tools.reference.streams import streams_class_path

SOURCE = Path(__file__).with_name("WordCount.java")
PATIENCE_S = 60.0


@define(eq=False)
class Instance:
    """One process; its output and its log lie in its folder."""

    process: "subprocess.Popen[bytes]"
    folder: Path

    def said(self) -> list[str]:
        """The states that it has gone through, and what ended it."""
        return (self.folder / "output").read_text().split("\n")

    def wait_until(self, state: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while state not in self.said():
            assert self.process.poll() is None, self.report()
            assert time.monotonic() < deadline, self.report()
            time.sleep(0.05)

    def report(self) -> str:
        log = (self.folder / "log").read_text().splitlines()
        told = [line for line in log if " INFO " not in line and not line.startswith("\t")]
        return f"{self.said()}\n" + "\n".join(told[-40:])

    def kill(self) -> None:
        """As `kill -9`."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """It leaves its group."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(PATIENCE_S) == 0, self.report()


@contextmanager
def instance(
    application: str, source: str, target: str, *, state: Path | None = None, **settings: str
) -> Iterator[Instance]:
    """Runs for as long as the block. `settings` have underscores for dots."""
    with tempfile.TemporaryDirectory(prefix="compat-streams-") as name:
        folder = Path(name)
        command = [*java_program(SOURCE, streams_class_path()), application, source, target, str(state or folder)]
        command += [f"{key.replace('_', '.')}={value}" for key, value in settings.items()]
        with (folder / "output").open("wb") as output, (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=log)
        running = Instance(process, folder)
        try:
            yield running
        finally:
            if process.poll() is None:
                running.kill()
            if process.stdin is not None:
                process.stdin.close()


def write_lines(bootstrap: str, topic: str, lines: Iterable[str]) -> Counter[str]:
    """Lines of words, spread over the partitions; how often each word is among them."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    written: Counter[str] = Counter()
    for number, line in enumerate(lines):
        producer.produce(topic, line, key=str(number))
        written.update(line.split(" "))
    assert producer.flush(PATIENCE_S) == 0
    return written


def lines(count: int, seed: int = 0) -> list[str]:
    return [f"every w{(number + seed) % 7} v{(number * seed) % 3}" for number in range(count)]


class Counts:
    """What an application has counted, as those see it who read what is committed."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "unused",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
        self.latest: dict[str, int] = {}
        self.updates = 0

    def wait_for(self, expected: Counter[str], *instances: Instance) -> None:
        """Until every word has been counted as often as it was written; counts only grow."""
        deadline = time.monotonic() + PATIENCE_S
        while self.latest != expected:
            reports = "\n".join(each.report() for each in instances)
            assert time.monotonic() < deadline, f"{self.latest} is not {dict(expected)}\n{reports}"
            message = self._consumer.poll(0.2)
            if message is None or message.error() is not None:
                continue
            word, count = (message.key() or b"").decode(), int(message.value() or b"0")
            assert count > self.latest.get(word, 0), f"{word} was {self.latest[word]} and is {count}"
            assert count <= expected[word], f"{word} is counted {count} times, and was written {expected[word]} times"
            self.latest[word] = count
            self.updates += 1

    def close(self) -> None:
        self._consumer.close()
