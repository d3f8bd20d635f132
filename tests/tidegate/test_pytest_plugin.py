"""The fixtures, with the real server and a real client."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.tidegate.timing import Timing, check_takes_less, timed
from tidegate import testing
from tidegate.pytest_plugin import LOG_LINES, _tail
from tidegate.running_cluster import RunningCluster
from tidegate.testing import RunningBroker


def _send(broker: RunningBroker, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("orders", value)
    assert producer.flush(10) == 0


def _receive(broker: RunningBroker, offset: int = 0) -> bytes | None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "unused"})
    consumer.assign([TopicPartition("orders", 0, offset)])
    message = consumer.poll(10)
    consumer.close()
    return None if message is None else message.value()


def test_a_record_comes_back(tidegate_broker: RunningBroker) -> None:
    _send(tidegate_broker, b"one coffee")
    assert _receive(tidegate_broker) == b"one coffee"


def test_each_test_gets_an_empty_broker(tidegate_broker: RunningBroker) -> None:
    topics = Producer({"bootstrap.servers": tidegate_broker.bootstrap}).list_topics(timeout=10).topics
    assert [name for name in topics if not name.startswith("__")] == []


@pytest.mark.parametrize("round_", [1, 2])
def test_the_session_broker_is_shared(tidegate_session_broker: RunningBroker, round_: int) -> None:
    _send(tidegate_session_broker, b"round %d" % round_)
    assert _receive(tidegate_session_broker, round_ - 1) == b"round %d" % round_


def test_records_survive_a_kill(tidegate_broker: RunningBroker) -> None:
    _send(tidegate_broker, b"one coffee")
    tidegate_broker.kill()
    tidegate_broker.start()
    assert _receive(tidegate_broker) == b"one coffee"


def test_records_survive_a_restart(tidegate_broker: RunningBroker) -> None:
    _send(tidegate_broker, b"one coffee")
    tidegate_broker.restart()
    assert _receive(tidegate_broker) == b"one coffee"


def test_a_cluster_has_three_nodes_and_one_can_be_killed(tidegate_cluster: RunningCluster) -> None:
    client = Producer({"bootstrap.servers": tidegate_cluster.bootstrap})
    assert sorted(client.list_topics(timeout=10).brokers) == [1, 2, 3]
    tidegate_cluster.kill(1)
    assert [node.is_running for node in tidegate_cluster.nodes.values()] == [False, True, True]
    assert "-- node 3" in tidegate_cluster.log()


def test_start_produce_consume_and_stop_take_under_a_second() -> None:
    check_takes_less(1.0, _one_round)


def _one_round() -> Timing:
    with timed() as (timing, note), testing.broker() as broker:
        _send(broker, b"one coffee")
        assert _receive(broker) == b"one coffee"
        note(broker.pid)
    return timing


def test_loading_the_plugin_loads_nothing_of_ours() -> None:
    program = (
        "import sys, pytest; import tidegate.pytest_plugin;"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in ('tidegate', 'engine', 'trio')))"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "['tidegate', 'tidegate.pytest_plugin']"


FAILING = """
import time
import pytest
from tidegate import testing

@pytest.fixture
def mine():
    with testing.broker({"http.port": "0"}, timeout_s=60) as running:
        yield running

def test_that_fails(mine):
    # The line of the log comes after the one that tells where the broker listens.
    deadline = time.monotonic() + 60
    while "the broker is ready" not in mine.log() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert mine.port == 0

def test_that_passes(mine):
    assert mine.port > 0
"""


def test_the_report_of_a_failure_ends_with_the_brokers_log(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(FAILING)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", str(tmp_path / "test_it.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in done.stdout
    assert done.stdout.count("Log of mine") == 1
    assert "the broker is ready" in done.stdout.split("Log of mine")[1]


def test_only_the_end_of_a_long_log_is_shown() -> None:
    lines = [f"line {number}" for number in range(LOG_LINES + 50)]
    shown = _tail(SimpleNamespace(log=lambda: "\n".join(lines))).splitlines()
    assert shown == ["... (50 lines before)", *lines[50:]]
    assert _tail(SimpleNamespace(log=lambda: "")) == "(nothing)"
