"""The bounds of the Kafka door are those of the configuration."""

from pathlib import Path

from engine.config.keys import INT_MAX
from tests.wire.kafka.door import config
from tidegate.descriptors import DescriptorPlan
from tidegate.kafka_door import kafka_limits


def test_limits_of_connections_are_taken_from_their_keys(tmp_path: Path) -> None:
    settings = config(
        tmp_path,
        {
            "listeners": "A://127.0.0.1:0,B://127.0.0.1:0",
            "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
            "listener.name.b.max.connections": 7,
            "listener.name.b.max.connection.creation.rate": 8,
            "max.connection.creation.rate": 9,
            "max.connections.per.ip": 10,
            "max.connections.per.ip.overrides": "::ffff:10.0.0.1:11",
            "max.connections.per.principal": 12,
            "max.connections.unauthenticated": 13,
        },
    ).settings
    limits = kafka_limits(settings, DescriptorPlan.make(settings, 10_000))
    entry = limits.entry
    assert (entry.rate, entry.per_principal, entry.unauthenticated) == (9, 12, 13)
    assert [(each.name, each.most, each.rate) for each in entry.listeners] == [("A", INT_MAX, INT_MAX), ("B", 7, 8)]
    assert dict(entry.address_overrides) == {"10.0.0.1": 11}
    assert limits.connections.most_per_address == 10
