"""Kafka's own programs: the Java producer in transactions, and the command for administrators."""

import re
import subprocess
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaException

from compat_tests import admin, brokers
from compat_tests.java.tool import console_text, tool
from compat_tests.transactions.readers import kcat_reader
from compat_tests.transactions.test_fencing import end_offsets
from compat_tests.transactions.writers import PATIENCE_S, confluent_producer
from compat_tests.waiting import eventually
from tidegate import testing
from tools.reference.java import java_command, java_tool


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
    state = re.compile(rf'"transactionalId":"{topic}".*?"transactionStatus":(\d)')
    shown = console_text(
        bootstrap,
        *("--topic", "__transaction_state", "--from-beginning"),
        *("--formatter", "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter"),
        until=lambda text: len(state.findall(text)) >= 3,
    )
    assert state.findall(shown)[:3] == ["0", "1", "2"], shown


@pytest.mark.skipif(brokers.target() == "kafka", reason="the reference broker is not ours to kill")
def test_a_broker_that_is_killed_under_the_java_producer_loses_and_doubles_nothing() -> None:
    count = 100_000
    with testing.broker(timeout_s=60) as broker:
        admin.create_topic(broker.bootstrap, "t")
        command = java_command(
            "ProducerPerformance",
            *("--topic", "t", "--num-records", str(count), "--record-size", "100", "--throughput", "20000"),
            *("--bootstrap-server", broker.bootstrap, "--transaction-duration-ms", "20", "--transactional-id", "x"),
        )
        producer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            for share in (0.1, 0.3, 0.5, 0.7):
                _wait_for_records(broker.bootstrap, "t", int(share * count))
                broker.kill()
                broker.start()
            said = producer.communicate(timeout=60)[0]
        finally:
            producer.kill()
        assert f"{count} records sent" in said, said
        assert len(kcat_reader(broker.bootstrap, "t", "read_committed")) == count


def _wait_for_records(bootstrap: str, topic: str, count: int) -> None:
    def there() -> bool:
        try:
            return end_offsets(bootstrap, topic)[1] >= count
        except KafkaException:
            # The client has not found the broker again.
            return False

    eventually(there, True, seconds=30)
