"""Idempotent producers of held records through cut connections and lost answers: nothing twice, nothing lost."""

from collections.abc import Callable, Iterator

import pytest

from compat_tests import admin
from compat_tests.clients import confluent
from compat_tests.clients.base import Record
from compat_tests.conftest import unique_name
from compat_tests.extensions.holding import tide, tidegate_only, watching
from compat_tests.proxy import Plan, Proxy, broker_behind_proxy
from compat_tests.waiting import eventually
from compat_tests.wire.batches import build
from compat_tests.wire.requests import produce, produced
from compat_tests.wire.test_idempotence import init_producer_id

pytestmark = tidegate_only
MakeTopic = Callable[..., str]
COUNT = 2000
KINDS = {"plain": {}, "prioritised": {"priority.enable": "true"}}


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with broker_behind_proxy() as proxy:
        yield proxy


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "plan", [pytest.param({"cuts": 12}, id="cuts"), pytest.param({"lost_answers": 10, "every": 5}, id="lost-answers")]
)
def test_every_record_is_released_once(proxy: Proxy, kind: str, plan: dict[str, int]) -> None:
    topic = unique_name(f"retried-{kind}")
    admin.create_topic(proxy.address, topic, configs=KINDS[kind])
    proxy.plan = Plan(seed=7, **plan)
    producer = confluent.producer_for(
        proxy.address,
        enable_idempotence=True,
        linger_ms=1,
        batch_num_messages=20,
        retry_backoff_ms=10,
        reconnect_backoff_ms=10,
        reconnect_backoff_max_ms=100,
        message_timeout_ms=60_000,
        log_level=2,
    )
    records = [Record(b"%d" % n, b"x" * 100, tide(delay=1 + n % 300) if n % 3 else ()) for n in range(COUNT)]
    reports = confluent.send(producer, topic, records)
    assert producer.flush(60) == 0
    assert [error for error, _ in reports if error is not None] == []
    done, proxy.plan = proxy.plan.done, Plan()
    assert len(done) >= 3, "the plan has hardly cut anything: this proves little"
    with watching(proxy.address, topic) as watcher:
        eventually(lambda: len(watcher.arrivals) >= COUNT, True, seconds=30)
    values = [int(value or b"") for value in watcher.values]
    assert sorted(values) == list(range(COUNT))
    assert [value for value in values if value % 3 == 0] == list(range(0, COUNT, 3))


def test_a_duplicate_is_answered_like_the_original(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(priority_enable="true")
    _, producer_id, epoch = init_producer_id(bootstrap)
    identity = {"producer_id": producer_id, "producer_epoch": epoch}
    first, second = (build([b"%d" % n, b"%d" % (n + 1)], sequence=n, **identity) for n in (0, 2))
    for batch in (first, second, first, second, second):
        answer = produced(bootstrap, produce(topic, batch))
        assert (answer.error_code, answer.base_offset) == (0, -1)
    with watching(bootstrap, topic) as watcher:
        watcher.arrival(b"3")
    assert watcher.values == [b"0", b"1", b"2", b"3"]
    # Also once they are in the log.
    for batch in (first, second):
        assert produced(bootstrap, produce(topic, batch)).error_code == 0
    assert len(watcher.values) == 4
