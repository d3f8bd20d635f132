"""A redrive that is killed at any of its steps, and gone on with, sends each letter exactly once."""

import os
import signal
import subprocess
import sys

import pytest

from coordinators.letters.ledger import REDRIVEN, Ledger
from tests.tidegate.processes import ROOT
from tests.tools.cli.conftest import Tidegate
from tests.tools.cli.letters import committed_values, write_letters
from tidegate.testing import RunningBroker
from tools.cli.dead_letters import DeadLetter, LetterFilter, Listed
from tools.cli.formats import Record
from tools.cli.redriving import Chosen, Copying, Outcome, Pace

KILLED = """
import os, signal, sys
from aiokafka import AIOKafkaProducer
from tools.cli.app import run
name, when, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
real, calls = getattr(AIOKafkaProducer, name), 0
async def dying(*arguments, **named):
    global calls
    calls += 1
    if calls == number and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = await real(*arguments, **named)
    if calls == number and when == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return result
setattr(AIOKafkaProducer, name, dying)
sys.exit(run(sys.argv[4:]))
"""


def letter(key: bytes | None = b"k", **headers: str) -> DeadLetter:
    told = tuple((f"__dlq.errors.{name}", value.encode()) for name, value in headers.items())
    return DeadLetter(Record("orders.dlq", 5, 7, 0, key, b"v", told))


def test_a_letter_goes_back_to_its_partition_and_elsewhere_by_its_key() -> None:
    home = letter(topic="orders", partition="2")
    assert Copying().target(home, Listed()) == "orders"
    assert Copying().partition(home, "orders", Listed(), 3) == 2
    assert Copying().partition(home, "orders", Listed(), 2) is None
    assert Copying("others").partition(home, "others", Listed(), 3) is None
    assert Copying("others").partition(letter(None), "others", Listed(), 3) == 2
    assert Copying().target(home, Listed("listed", 1)) == "listed"
    assert Copying().partition(home, "listed", Listed("listed", 1), 3) == 1
    assert Copying("others").target(home, Listed("listed", 1)) == "others"


def test_only_the_stretch_that_matters_is_read() -> None:
    ledger = Ledger("id")
    ledger.partitions[0].add(3, 9, REDRIVEN)
    found = {("t", 0): (3, 100), ("t", 1): (0, 50)}
    assert Chosen().stretch(found, ledger) == ({("t", 0): 10, ("t", 1): 0}, {("t", 0): 100, ("t", 1): 50})
    listed = Chosen(LetterFilter(), {(0, 20): Listed(), (0, 30): Listed()})
    starts, stops = listed.stretch(found, ledger)
    assert (starts["t", 0], stops["t", 0]) == (20, 31)
    assert stops["t", 1] <= starts["t", 1]


@pytest.mark.parametrize(("rate", "together"), [(None, 500), (0.5, 1), (20, 20), (1e6, 500)])
def test_what_goes_together_is_a_seconds_worth(rate: float | None, together: int) -> None:
    assert Pace(rate).together == together


def test_an_outcome_as_data() -> None:
    outcome = Outcome("orders.dlq", "run", settled=1)
    outcome.by_target["orders", ""] += 1
    outcome.left["gone"] += 2
    data = outcome.as_data()
    assert data["by_target"] == [{"to": "orders", "reason": None, "letters": 1}]
    assert data["left"] == [{"why": "gone", "letters": 2}]


@pytest.mark.slow
def test_killed_at_each_step_and_gone_on_with(tidegate: Tidegate, broker: RunningBroker, topic: str) -> None:
    letters = f"{topic}.dlq"
    tidegate("topic", "create", letters, "--partitions", "2")
    write_letters(broker.bootstrap, letters, topic, range(60), partitions=2)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TIDEGATE_CLI_BOOTSTRAP": broker.bootstrap}
    # Twenty together: killed among the copies, before and after the end of a transaction, before it begins.
    for name, when, number in (
        ("send", "after", 10),
        ("commit_transaction", "before", 1),
        ("commit_transaction", "after", 1),
        ("send", "before", 21),
        ("begin_transaction", "after", 2),
    ):
        command = [sys.executable, "-c", KILLED, name, when, str(number), "dlq", "redrive", letters, "--rate", "20"]
        ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=90, check=False)
        assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
        values = committed_values(broker.bootstrap, topic)
        assert len(values) == len(set(values))
    assert tidegate("dlq", "redrive", letters).code == 0
    assert committed_values(broker.bootstrap, topic) == [f"v{number}" for number in range(60)]


def test_two_at_once_send_each_letter_once(tidegate: Tidegate, broker: RunningBroker, topic: str) -> None:
    letters = f"{topic}.dlq"
    tidegate("topic", "create", letters, "--partitions", "1")
    write_letters(broker.bootstrap, letters, topic, range(40))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TIDEGATE_CLI_BOOTSTRAP": broker.bootstrap}
    command = [sys.executable, "-m", "tidegate", "dlq", "redrive", letters, "--rate", "5"]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE) as slow:
        try:
            while not committed_values(broker.bootstrap, topic):
                assert slow.poll() is None
            assert tidegate("dlq", "redrive", letters).code == 0
            assert slow.stderr is not None
            said = slow.stderr.read()
            assert b"another run deals with" in said, said.decode()
            assert slow.wait(60) == 5
        finally:
            slow.kill()
    assert committed_values(broker.bootstrap, topic) == [f"v{number}" for number in range(40)]


def test_a_letter_that_only_names_its_record_is_sent_with_it(
    tidegate: Tidegate, broker: RunningBroker, topic: str
) -> None:
    from confluent_kafka import Producer

    tidegate("topic", "create", f"{topic}.dlq", "--partitions", "1")
    tidegate("produce", topic, "v0", "--key", "k", "--header", "own=1")
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for offset in ("0", "77"):
        told = {"topic": topic, "partition": "0", "offset": offset, "message": "no"}
        headers = [(f"__dlq.errors.{name}", value) for name, value in told.items()]
        producer.produce(f"{topic}.dlq", None, headers=headers)
    producer.flush(30)
    ended = tidegate("dlq", "redrive", f"{topic}.dlq", "-o", "json")
    assert (ended.code, ended.data["settled"]) == (1, 1)
    assert ended.data["topics"][0]["left"][0]["letters"] == 1
    shown = tidegate("consume", topic, "-e", "-f", "%k %v %h\\n").out.splitlines()
    assert shown[1].startswith("k v0 own=1,__redriven.topic=")
