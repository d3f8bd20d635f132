"""kill -9 of the broker under share groups: nothing is lost, and nothing that was accepted comes again."""

from collections.abc import Iterator

import pytest

from compat_tests import admin, brokers
from compat_tests.groups.broker import MortalBroker, mortal_broker
from compat_tests.share.asking import prepare_group
from compat_tests.share.conftest import SETTINGS, make_known, warm_up
from compat_tests.share.member import ACCEPT, REJECT, RELEASE, ShareMember
from compat_tests.share.sending import fill, send
from compat_tests.share.test_clients import counts
from compat_tests.share.workers import crew, wait_until

pytestmark = [
    pytest.mark.skipif(brokers.target() != "tidegate", reason="starts Tidegate on data of its own"),
    pytest.mark.timeout(240),
]


@pytest.fixture
def broker() -> Iterator[MortalBroker]:
    with mortal_broker(SETTINGS) as running:
        warm_up(running.bootstrap)
        yield running


def test_what_was_settled_stays_settled_and_the_rest_comes_again(broker: MortalBroker) -> None:
    admin.create_topic(broker.bootstrap, "t")
    prepare_group(broker.bootstrap, "g")
    make_known(broker.bootstrap, "g", "t")
    fill(broker.bootstrap, "t", 10)
    before = ShareMember(broker.bootstrap, "g")
    assert before.collect("t", 10) == dict.fromkeys(range(10), 1)
    assert before.acknowledge("t", (0, 5, [ACCEPT, RELEASE, REJECT, RELEASE, ACCEPT, ACCEPT])) == 0
    broker.restart()
    before.close()
    after = ShareMember(broker.bootstrap, "g")
    found = after.collect("t", 6)
    assert set(found) == {1, 3, 6, 7, 8, 9}
    assert (found[1], found[3]) == (2, 2), "what was released had been written down with its count"
    assert after.acknowledge("t", (1, 1, ACCEPT), (3, 3, ACCEPT), (6, 9, ACCEPT)) == 0
    fill(broker.bootstrap, "t", 1)
    assert after.collect("t", 1) == {10: 1}
    after.close()


def test_a_group_that_begins_at_the_end_skips_nothing_over_a_restart(broker: MortalBroker) -> None:
    """Kafka decides anew where it begins if nothing was acknowledged before."""
    admin.create_topic(broker.bootstrap, "t")
    prepare_group(broker.bootstrap, "g", **{"share.auto.offset.reset": "latest"})
    fill(broker.bootstrap, "t", 3)
    make_known(broker.bootstrap, "g", "t")
    before = ShareMember(broker.bootstrap, "g")
    assert before.fetch("t", max_wait_ms=0).offsets == []
    fill(broker.bootstrap, "t", 2)
    broker.restart()
    before.close()
    after = ShareMember(broker.bootstrap, "g")
    assert set(after.collect("t", 2)) == {3, 4}
    after.close()


@pytest.mark.parametrize("kind", ["java", "franz", "confluent", "asyncio"])
def test_workers_go_on(broker: MortalBroker, kind: str) -> None:
    bootstrap = broker.bootstrap
    admin.create_topic(bootstrap, "t")
    prepare_group(bootstrap, "g")
    values = [f"accept-{number}" for number in range(60)]
    with crew(bootstrap, "g", "t") as start:
        worker = start(kind)
        send(bootstrap, "t", values[:30])
        wait_until(lambda: len(worker.settled) >= 30, [worker])
        broker.restart()
        send(bootstrap, "t", values[30:])
        wait_until(lambda: set(counts(worker)) >= set(values), [worker], seconds=90)
        again = [value for value in values[:30] if len(counts(worker)[value]) > 1]
        assert again == [], "these had been accepted"
