"""Transactions from the command line."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import define
from confluent_kafka import KafkaException, Producer

from tests.tools.cli.conftest import Tidegate
from tidegate.testing import RunningBroker
from tools.cli.commands.txn import find_open


@pytest.fixture
def hanging(topic: str, broker: RunningBroker) -> Iterator[tuple[str, Producer]]:
    """A transactional id with a transaction that is open, and its producer."""
    name = f"txn-{topic}"
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"uncommitted")
    producer.flush(30)
    yield name, producer
    producer.purge()


def test_open_transactions_are_listed_and_described(
    tidegate: Tidegate, topic: str, hanging: tuple[str, Producer]
) -> None:
    rows = tidegate("txn", "list", "--state", "Ongoing", "-o", "json").data
    assert hanging[0] in [row["transactional_id"] for row in rows]
    found = tidegate("txn", "describe", hanging[0], "-o", "json").data
    assert (found["state"], found["partitions"]) == ("Ongoing", [f"{topic}-0"])
    assert found["age_ms"] >= 0
    assert f"{topic}-0" in tidegate("txn", "describe", hanging[0]).out


def test_one_is_aborted_by_its_id_and_its_producer_fenced(
    tidegate: Tidegate, topic: str, hanging: tuple[str, Producer]
) -> None:
    name, producer = hanging
    assert tidegate("txn", "abort", name, "--yes", "-o", "json").data["was"] == "Ongoing"
    assert tidegate("txn", "describe", name, "-o", "json").data["state"] in ("CompleteAbort", "Empty")
    with pytest.raises(KafkaException):
        producer.commit_transaction(30)
    tidegate("produce", topic, "after")
    assert tidegate("consume", topic, "-e").out == "after\n"


def test_one_that_hangs_is_aborted_by_its_place(tidegate: Tidegate, topic: str, hanging: tuple[str, Producer]) -> None:
    place = ["--topic", topic, "--partition", "0"]
    elsewhere = tidegate("txn", "abort", *place, "--start-offset", "7", "--yes")
    assert (elsewhere.code, "open ones begin at 0" in elsewhere.err) == (4, True)
    assert tidegate("txn", "abort", *place, "--start-offset", "0", "--yes").code == 0
    tidegate("produce", topic, "after")
    assert tidegate("consume", topic, "-e").out == "after\n"


def test_what_is_open_and_does_not_hang_is_told(tidegate: Tidegate, topic: str, hanging: tuple[str, Producer]) -> None:
    (row,) = tidegate("txn", "hanging", "--all", "--topic", topic, "-o", "json").data
    assert (row["transactional_id"], row["start_offset"], row["hangs"]) == (hanging[0], 0, False)
    none = tidegate("txn", "hanging", "--topic", topic)
    assert (none.code, none.out, none.err) == (0, "", "no transaction hangs\n")
    assert tidegate("txn", "hanging", "--all", "-t", topic, "--older-than", "1h", "-o", "json").data == []


class Coordinators:
    """Answers as brokers do: two transactions are open in a partition, of which the coordinator knows one elsewhere."""

    def __init__(self, *answers: list[tuple[int, int]]) -> None:
        self.answers = list(answers)

    async def topics(self, names: list[str]) -> Any:
        partition = SimpleNamespace(partition_index=0, leader_id=1)
        return [SimpleNamespace(name=name, partitions=[partition]) for name in names]

    async def everywhere(self, _message: Any) -> Any:
        states = [SimpleNamespace(transactional_id="elsewhere", producer_id=8)]
        return [SimpleNamespace(transaction_states=states)]

    async def coordinator(self, *_named: Any) -> int:
        return 1

    async def patiently(self, ask: Any) -> Any:
        return await ask()

    async def call(self, message: Any, *, node: int) -> Any:
        assert node == 1
        if type(message).__name__ == "DescribeTransactionsRequest":
            place = SimpleNamespace(topic="other", partitions=[0])
            found = DescribedTransaction(topics=[place])
            return SimpleNamespace(transaction_states=[found])
        producers = [
            SimpleNamespace(producer_id=number, producer_epoch=0, last_timestamp=17, current_txn_start_offset=start)
            for number, start in self.answers.pop(0)
        ]
        partition = SimpleNamespace(partition_index=0, error_code=0, error_message=None, active_producers=producers)
        return SimpleNamespace(topics=[SimpleNamespace(name="orders", partitions=[partition])])


@define
class DescribedTransaction:
    topics: list[Any]
    error_code: int = 0
    transaction_state: str = "Ongoing"
    transaction_start_time_ms: int = 17
    transaction_timeout_ms: int = 1_000
    producer_id: int = 8
    producer_epoch: int = 0


def found_open(*answers: list[tuple[int, int]]) -> list[tuple[int, int, bool]]:
    rows = asyncio.run(find_open(Coordinators(*answers), ["orders"], 20))  # type: ignore[arg-type]
    return [(row["producer_id"], row["start_offset"], row["hangs"]) for row in rows]


def test_what_its_coordinator_does_not_know_there_hangs() -> None:
    assert found_open([(7, 5), (8, 6), (9, -1)], [(7, 5), (8, 6)]) == [(7, 5, True), (8, 6, True)]


def test_what_has_ended_meanwhile_does_not_hang() -> None:
    assert found_open([(7, 5)], [(7, 9)]) == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["describe", "gone"], 4),
        (["abort", "gone", "--yes"], 4),
        (["abort", "--yes"], 2),
        (["abort", "x", "--topic", "t", "--partition", "0", "--start-offset", "0", "--yes"], 2),
        (["list", "--state", "Dreaming"], 2),
        (["abort", "--topic", "gone", "--partition", "0", "--start-offset", "0", "--yes"], 4),
    ],
)
def test_what_cannot_be_is_told(tidegate: Tidegate, arguments: list[str], code: int) -> None:
    ended = tidegate("txn", *arguments)
    assert ended.code == code
    assert ended.err.startswith("tidegate: ")
