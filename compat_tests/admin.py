"""Set-up work that is not itself under test, done with one client so that scenarios start alike."""

import functools
import time
from collections.abc import Mapping

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from compat_tests.wire.connection import Wire
from compat_tests.wire.requests import list_offsets

SETTLE_SECONDS = 10.0


@functools.cache
def admin_client(bootstrap: str) -> AdminClient:
    """One per broker: it has to outlive its calls, and to connect anew would cost each test time."""
    return AdminClient({"bootstrap.servers": bootstrap, "socket.timeout.ms": 10_000, "log_level": 0})


def create_topic(bootstrap: str, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
    """Creates the topic and waits until every partition of it can be used."""
    topic = NewTopic(name, partitions, 1, config=dict(configs or {}))
    admin_client(bootstrap).create_topics([topic])[name].result(20)
    wait_for_partitions(bootstrap, name, partitions)


def wait_for_partitions(bootstrap: str, name: str, partitions: int = 1) -> None:
    """Kafka answers that a topic is made a moment before its partitions have their leaders."""
    deadline = time.monotonic() + SETTLE_SECONDS
    with Wire(bootstrap) as wire:
        for partition in range(partitions):
            while True:
                answer = wire.ask(list_offsets(name, -1, partition=partition))
                if answer.topics[0].partitions[0].error_code == 0:
                    break
                assert time.monotonic() < deadline, f"partition {partition} of {name} has no leader"
                time.sleep(0.01)


def add_partitions(bootstrap: str, name: str, total: int) -> None:
    """Gives a topic more partitions and waits until they can be used."""
    admin_client(bootstrap).create_partitions([NewPartitions(name, total)])[name].result(20)
    wait_for_partitions(bootstrap, name, total)


def delete_topic(bootstrap: str, name: str) -> None:
    admin_client(bootstrap).delete_topics([name])[name].result(20)
