"""Transactions from the command line."""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException, Producer

from tests.tools.cli.conftest import Tidegate
from tidegate.testing import RunningBroker


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
