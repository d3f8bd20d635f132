"""Kafka's own programs: the Java producer in transactions, and the command for administrators."""

import re
from collections.abc import Callable

from compat_tests.java.tool import tool
from compat_tests.transactions.readers import kcat_reader
from compat_tests.transactions.writers import PATIENCE_S, confluent_producer
from tools.reference.java import java_tool


def test_producer_performance_in_transactions(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    done = java_tool(
        "ProducerPerformance",
        *("--topic", topic, "--num-records", "20000", "--record-size", "100", "--throughput", "-1"),
        *("--bootstrap-server", bootstrap, "--transaction-duration-ms", "20", "--transactional-id", topic),
    )
    assert "20000 records sent" in done.stdout, done.stdout + done.stderr
    assert len(kcat_reader(bootstrap, topic, "read_committed")) == 20_000


def transactions_command(bootstrap: str, *arguments: str) -> str:
    done = java_tool("TransactionsCommand", "--bootstrap-server", bootstrap, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_transactions_are_listed_and_described(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    producer = confluent_producer(bootstrap, topic)
    producer.begin_transaction()
    producer.produce(topic, "open", partition=0)
    producer.flush(PATIENCE_S)
    listed = transactions_command(bootstrap, "list")
    assert re.search(rf"^{topic}\s+\d+\s+\d+\s+Ongoing\s*$", listed, re.MULTILINE), listed
    described = transactions_command(bootstrap, "describe", "--transactional-id", topic)
    assert re.search(rf"{topic}\s+\d+\s+\d+\s+Ongoing\s+60000\s+\d+\s+\d+\s+{topic}-0\s*$", described), described
    producers = transactions_command(bootstrap, "describe-producers", "--topic", topic, "--partition", "0")
    assert re.search(r"^\d+\s+\d+\s+-?\d+\s+0\s+\d+\s+0\s*$", producers, re.MULTILINE), producers
    producer.commit_transaction(PATIENCE_S)
    assert "CompleteCommit" in transactions_command(bootstrap, "describe", "--transactional-id", topic)


def test_nothing_hangs(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    producer = confluent_producer(bootstrap, topic)
    producer.begin_transaction()
    producer.produce(topic, "one", partition=0)
    producer.commit_transaction(PATIENCE_S)
    found = transactions_command(bootstrap, "find-hanging", "--topic", topic)
    assert len(found.splitlines()) == 1, found


def test_an_administrator_aborts_a_transaction(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    producer = confluent_producer(bootstrap, topic)
    producer.begin_transaction()
    producer.produce(topic, "open", partition=0)
    producer.flush(PATIENCE_S)
    transactions_command(bootstrap, "abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    assert f"{topic}:0:2" in tool("GetOffsetShell", bootstrap, "--topic", topic)
    assert kcat_reader(bootstrap, topic, "read_committed") == []


def test_the_coordinators_records_are_read_by_kafkas_own_formatter(
    bootstrap: str, make_topic: Callable[..., str]
) -> None:
    topic = make_topic()
    producer = confluent_producer(bootstrap, topic)
    producer.begin_transaction()
    producer.produce(topic, "one", partition=0)
    producer.commit_transaction(PATIENCE_S)
    shown = tool(
        "ConsoleConsumer",
        bootstrap,
        *("--topic", "__transaction_state", "--from-beginning", "--timeout-ms", "8000"),
        *("--formatter", "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter"),
    )
    states = re.findall(rf'"transactionalId":"{topic}".*?"transactionStatus":(\d)', shown)
    assert states[:3] == ["0", "1", "2"], shown
