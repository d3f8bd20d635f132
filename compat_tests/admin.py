"""Set-up work that is not itself under test, done with one client so that scenarios start alike."""

import functools
from collections.abc import Mapping

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic


@functools.cache
def admin_client(bootstrap: str) -> AdminClient:
    """One per broker: it has to outlive its calls, and to connect anew would cost each test time."""
    return AdminClient({"bootstrap.servers": bootstrap, "socket.timeout.ms": 10_000})


def create_topic(
    bootstrap: str, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
) -> None:
    """Creates the topic and waits until the broker says so."""
    topic = NewTopic(name, partitions, 1, config=dict(configs or {}))
    admin_client(bootstrap).create_topics([topic])[name].result(20)


def delete_topic(bootstrap: str, name: str) -> None:
    admin_client(bootstrap).delete_topics([name])[name].result(20)
