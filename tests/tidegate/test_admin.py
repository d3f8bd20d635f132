"""The administration of a running broker, with records of an ordinary client."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from trio.testing import trio_test

from tests.wire.kafka.door import open_door
from tidegate import testing
from tidegate.admin import Admin, AdminError, DelayedRecord, NoSuchRecord, NoSuchTopic, TooLate, Unreachable
from tidegate.admin_results import ERRORS
from tidegate.embedded_admin import EmbeddedAdmin
from tidegate.remote_admin import RemoteAdmin
from tidegate.testing import RunningBroker

HOUR_MS = 3_600_000
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with testing.broker({"num.partitions": "3"}, timeout_s=30) as running:
        yield running


@pytest.fixture
def topic(broker: RunningBroker, request: pytest.FixtureRequest) -> str:
    """A topic of the test's own, of three partitions."""
    name = request.node.name
    client = AdminClient({"bootstrap.servers": broker.bootstrap})
    client.create_topics([NewTopic(name, 3, 1)])[name].result(PATIENCE_S)
    return name


def send(broker: RunningBroker, topic: str, value: str, partition: int = 0, **asked: object) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    headers = [(f"tide-{name.replace('_', '-')}", str(each)) for name, each in asked.items()]
    producer.produce(topic, value, "key", partition, headers=headers)
    assert producer.flush(PATIENCE_S) == 0


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def read(broker: RunningBroker, topic: str) -> tuple[bytes, int, int]:
    """The next record that a consumer gets: value, partition, offset."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": topic, "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([topic])
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        assert message.error() is None
        return message.value(), message.partition(), message.offset()
    finally:
        consumer.close()


def test_a_delayed_job_is_found_and_released_now(broker: RunningBroker, topic: str) -> None:
    admin = Admin.connect(broker.http_url)
    send(broker, topic, "invoice", partition=1, delay=HOUR_MS, schedule_id="invoice/17")
    (found,) = admin.find(topic, "invoice/17")
    assert (found.partition, found.fate) == (1, "PENDING")
    looked_at = admin.look(topic, 1, "invoice/17")
    assert isinstance(looked_at, DelayedRecord)
    assert looked_at.record is not None
    assert (looked_at.value, looked_at.record.key) == (b"invoice", b"key")
    admin.release_now(topic, 1, "invoice/17")
    assert read(broker, topic) == (b"invoice", 1, 0)
    until(lambda: admin.fate(topic, 1, "invoice/17").fate == "DELIVERED")
    assert admin.fate(topic, 1, "invoice/17").offset == 0


def test_jobs_are_listed_over_partitions_counted_and_moved(broker: RunningBroker, topic: str) -> None:
    admin = Admin.connect(broker.http_url)
    for number in range(6):
        send(broker, topic, f"job {number}", number % 3, delay=HOUR_MS * (6 - number), schedule_id=f"job {number}")
    page = admin.list_pending(topic, limit=4)
    assert [each.id for each in page.records] == ["job 5", "job 4", "job 3", "job 2"]
    assert page.next_skip is not None
    rest = admin.list_pending(topic, limit=4, skip=page.next_skip)
    assert ([each.id for each in rest.records], rest.next_skip) == (["job 1", "job 0"], None)
    assert (admin.count_pending(topic), admin.count_pending(topic, 0)) == (6, 2)
    now_ms = int(time.time() * 1000)
    buckets = admin.histogram(topic, [now_ms, now_ms + 3 * HOUR_MS + HOUR_MS // 2])
    assert [each.records for each in buckets] == [0, 3, 3]
    later = now_ms + 48 * HOUR_MS
    assert admin.reschedule(topic, 2, "job 5", deliver_at_ms=later) == later
    assert admin.list_pending(topic).records[-1].due_ms == later
    admin.cancel(topic, 2, "job 5")
    assert admin.count_pending(topic) == 5
    with pytest.raises(TooLate, match="already CANCELLED"):
        admin.cancel(topic, 2, "job 5")


def test_what_is_not_there_is_told_apart(broker: RunningBroker, topic: str) -> None:
    admin = Admin.connect(broker.http_url)
    with pytest.raises(NoSuchTopic):
        admin.list_pending("nobody")
    with pytest.raises(NoSuchTopic, match="has no partition 9"):
        admin.cancel(topic, 9, "x")
    with pytest.raises(NoSuchRecord, match="no record 'x'"):
        admin.cancel(topic, 0, "x")
    assert admin.fate(topic, 0, "x").fate == "UNKNOWN"
    assert admin.find(topic, "x") == ()


def test_figures_are_told(broker: RunningBroker, topic: str) -> None:
    admin = Admin.connect(broker.http_url)
    send(broker, topic, "later", delay=HOUR_MS)
    send(broker, topic, "urgent", partition=1, priority="critical")
    report = admin.delay_statistics()
    (own,) = [each for each in report.topics if each.topic == topic]
    assert (own.pending, own.staged) == (1, 2)
    assert report.all.pending >= 1
    assert own.next_due_ms is not None
    (lanes,) = admin.priority_statistics(topic)
    assert (lanes.partition, lanes.ready, lanes.enqueued) == (1, (1, 0, 0, 0, 0), (1, 0, 0, 0, 0))


def test_the_token_opens_the_door() -> None:
    with testing.broker({"http.token": "secret"}, timeout_s=30) as running:
        assert Admin.connect(running.http_url, "secret").delay_statistics().topics == ()
        with pytest.raises(Exception, match="Authorization: Bearer"):
            Admin.connect(running.http_url).delay_statistics()


@trio_test
async def test_in_the_brokers_own_process_the_methods_are_async(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        admin = Admin.of(door.broker)
        assert (await admin.delay_statistics()).topics == ()


def test_both_ways_offer_the_same() -> None:
    def methods(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_") and callable(getattr(kind, name))}

    assert methods(EmbeddedAdmin) - {"of"} == methods(RemoteAdmin)


def test_every_method_and_error_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "admin.md").read_text()
    documented = set(re.findall(r"^\| `(\w+)\(", page, re.MULTILINE))
    assert documented == {name for name in vars(RemoteAdmin) if not name.startswith("_") and name in dir(EmbeddedAdmin)}
    assert all(f"`{kind.__name__}`" in page for kind in (*ERRORS.values(), AdminError, Unreachable))


def test_asking_another_process_loads_nothing_of_the_broker() -> None:
    program = "import sys, tidegate.admin; print(sorted({'engine', 'coordinators', 'wire', 'trio'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "[]"


def test_a_program_with_packages_of_the_same_names_may_ask(tmp_path: Path) -> None:
    (tmp_path / "coordinators").mkdir()
    (tmp_path / "coordinators" / "__init__.py").write_text("OWNER = 'the user'")
    program = "import coordinators; from tidegate.admin import Fate; print(coordinators.OWNER, Fate('UNKNOWN').fate)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "the user UNKNOWN"


def test_a_broker_embedded_later_tells_in_the_same_values() -> None:
    program = (
        "from tidegate.admin import Fate; from tidegate import Broker; import coordinators.release.lookup as lookup\n"
        "print(lookup.Fate is Fate)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "True"
