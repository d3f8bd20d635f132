"""Runs the loop, kills it and (where that is possible) the broker, and judges the outcome."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from tools.soak.history import judge

PROJECT_ROOT = Path(__file__).resolve().parents[2]
PARTITIONS = 2


@contextmanager
def loop(
    client: str, bootstrap: str, topics: tuple[str, str], name: str, seed: int
) -> Iterator["subprocess.Popen[str]"]:
    """The loop for the length of the block; it ends by kill -9."""
    command = [sys.executable, "-m", "compat_tests.transactions.loop", client, bootstrap, *topics]
    process = subprocess.Popen(
        [*command, f"group-{name}", name, str(seed)],
        cwd=PROJECT_ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


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


def committed(bootstrap: str, topic: str) -> dict[int, list[str]]:
    """What a reader of committed records sees now, by partition."""
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
    found: dict[int, list[str]] = {partition: [] for partition in range(PARTITIONS)}
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
                found[message.partition()].append((message.value() or b"").decode())
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
    """Kills the loop at random instants until everything has passed, then judges: once each, in order."""
    chance, name, total = random.Random(seed), topics[1], sum(map(len, sent.values()))
    deadline = time.monotonic() + seconds
    kills = 0
    read: dict[int, list[str]] = {}
    while sum(map(len, read.values())) < total:
        assert time.monotonic() < deadline, f"after {kills} kills {sum(map(len, read.values()))} of {total} are there"
        with loop(client, bootstrap, topics, name, seed + kills):
            # The first lives are short: they are to end inside of transactions.
            time.sleep(chance.uniform(0.8, 2.5) if kills < 4 else 6.0)
            if kill_broker is not None and kills < 4:
                kill_broker()
                time.sleep(chance.uniform(0.5, 2.0))
        kills += 1
        read = committed(bootstrap, topics[1])
    verdict = judge(sent, read)
    assert verdict.clean, verdict
