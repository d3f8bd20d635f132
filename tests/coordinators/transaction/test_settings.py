"""The coordinator's configuration."""

from coordinators.transaction.settings import TransactionSettings
from tests.coordinators.transaction.world import World


def test_the_defaults_are_kafkas() -> None:
    assert TransactionSettings.of(World().topics.settings) == TransactionSettings()


def test_the_brokers_keys_are_obeyed() -> None:
    world = World(settings={"transaction.max.timeout.ms": "5", "transaction.partition.verification.enable": "false"})
    assert TransactionSettings.of(world.topics.settings).max_timeout_ms == 5
    assert not TransactionSettings.of(world.topics.settings).verifies_partitions
