"""Runs the loop, kills it and (where that is possible) the broker, and judges the outcome."""

import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from compat_tests.java.program import java_program
from compat_tests.transactions.loop import transformed
from tools.soak.history import judge

PROJECT_ROOT = Path(__file__).resolve().parents[2]
JAVA_LOOP = Path(__file__).with_name("ExactlyOnceLoop.java")
PARTITIONS = 2
SHORT_LIVES = 4
START_SECONDS = 20.0


def loop_command(client: str) -> list[str]:
    if client == "java":
        return java_program(JAVA_LOOP)
    return [sys.executable, "-m", "compat_tests.transactions.loop", client]


@contextmanager
def loop(
    client: str, bootstrap: str, topics: tuple[str, str], name: str, seed: int
) -> Iterator["subprocess.Popen[bytes]"]:
    """The loop for the length of the block; it ends by kill -9."""
    process = subprocess.Popen(
        [*loop_command(client), bootstrap, *topics, f"group-{name}", name, str(seed)],
        cwd=PROJECT_ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def fill(bootstrap: str, topic: str, count: int) -> dict[int, list[str]]:
    """Numbers, spread over the partitions."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    sent: dict[int, list[str]] = {partition: [] for partition in range(PARTITIONS)}
    for number in range(count):
        partition = number % PARTITIONS
        producer.produce(topic, str(number), partition=partition)
        sent[partition].append(str(number))
    assert producer.flush(20) == 0
    return sent


@define
class Results:
    """What a reader of committed records has seen, by partition, and of which transactions."""

    values: dict[int, list[str]] = field(factory=lambda: {partition: [] for partition in range(PARTITIONS)})
    seen: Counter[bytes] = field(factory=Counter)
    sizes: dict[bytes, int] = field(factory=dict)
    aborted: set[bytes] = field(factory=set)

    def take(self, message: Message) -> None:
        self.values[message.partition()].append((message.value() or b"").decode())
        labels = dict(message.headers() or [])
        name = labels["transaction"]
        self.seen[name] += 1
        self.sizes[name] = int(labels["records"])
        if labels["fate"] == b"aborted":
            self.aborted.add(name)

    def __len__(self) -> int:
        return sum(map(len, self.values.values()))

    @property
    def torn(self) -> dict[bytes, tuple[int, int]]:
        """Transactions of which a part is missing, or too much there: how many records, of how many."""
        return {name: (count, self.sizes[name]) for name, count in self.seen.items() if count != self.sizes[name]}


def committed(bootstrap: str, topic: str) -> Results:
    """What a reader of committed records sees now."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    found = Results()
    ended: set[int] = set()
    deadline = time.monotonic() + 20
    try:
        while len(ended) < PARTITIONS and time.monotonic() < deadline:
            message = consumer.poll(0.5)
            if message is None:
                continue
            if message.error() is not None:
                ended.add(message.partition())
            else:
                found.take(message)
    finally:
        consumer.close()
    return found


def run_until_done(
    client: str,
    bootstrap: str,
    topics: tuple[str, str],
    sent: dict[int, list[str]],
    seed: int,
    *,
    kill_broker: Callable[[], object] | None = None,
    seconds: float = 90.0,
) -> None:
    """Kills the loop at random instants until everything has passed, then judges: once each, in order, whole."""
    chance, name, total = random.Random(seed), topics[1], sum(map(len, sent.values()))
    deadline = time.monotonic() + seconds
    kills = 0
    results = Results()
    while len(results) < total:
        assert time.monotonic() < deadline, f"after {kills} kills {len(results)} of {total} are there"
        with loop(client, bootstrap, topics, name, seed + kills) as process:
            _let_it_work(process, chance.uniform(0.05, 0.6) if kills < SHORT_LIVES else 4.0)
            if kill_broker is not None and kills < SHORT_LIVES:
                kill_broker()
                _let_it_work(process, chance.uniform(0.2, 1.0))
        kills += 1
        results = committed(bootstrap, topics[1])
    assert kills > 1, "it was done before it could be killed"
    expected = {place: [transformed(value.encode()).decode() for value in values] for place, values in sent.items()}
    verdict = judge(expected, results.values)
    assert verdict.clean, verdict
    assert not results.torn
    assert not results.aborted


def _let_it_work(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    """From the first transaction that it begins, so that a slow machine does not kill it before."""
    assert process.stdout is not None
    select.select([process.stdout], [], [], START_SECONDS)
    assert process.poll() is None, "the loop has ended by itself"
    time.sleep(seconds)
