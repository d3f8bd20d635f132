"""Consume, transform, produce: each record once, whatever is aborted or killed on the way."""

from collections.abc import Callable

import pytest

from compat_tests import admin, brokers
from compat_tests.transactions.exactly_once import PARTITIONS, fill, run_until_done
from tidegate import testing

COUNT = 1_000


@pytest.mark.timeout(180)
@pytest.mark.parametrize("client", ["confluent", "aiokafka", "java"])
def test_kill_of_the_client(bootstrap: str, make_topic: Callable[..., str], client: str) -> None:
    topics = (make_topic(PARTITIONS), make_topic(PARTITIONS))
    sent = fill(bootstrap, topics[0], COUNT)
    run_until_done(client, bootstrap, topics, sent, seed=7, seconds=150)


@pytest.mark.timeout(180)
@pytest.mark.skipif(brokers.target() == "kafka", reason="the reference broker is not ours to kill")
@pytest.mark.parametrize("client", ["confluent", "aiokafka", "java"])
def test_kill_of_client_and_broker(client: str) -> None:
    with testing.broker(timeout_s=60) as broker:
        topics = ("in", "out")
        for topic in topics:
            admin.create_topic(broker.bootstrap, topic, PARTITIONS)
        sent = fill(broker.bootstrap, "in", COUNT)

        def kill_broker() -> None:
            broker.kill()
            broker.start()

        run_until_done(client, broker.bootstrap, topics, sent, seed=11, kill_broker=kill_broker, seconds=150)
