"""The coordinator's configuration."""

from coordinators.group.settings import GroupSettings
from engine.config.resolve import BrokerSettings
from tidegate.config_keys import BROKER_KEYS


def test_the_defaults_are_those_of_the_keys() -> None:
    assert GroupSettings.of(BrokerSettings(keys=BROKER_KEYS)) == GroupSettings()


def test_what_is_set_is_in_force() -> None:
    given = {"offsets.retention.minutes": "2", "group.initial.rebalance.delay.ms": "0"}
    settings = BrokerSettings({name: BROKER_KEYS[name].parse(text) for name, text in given.items()}, keys=BROKER_KEYS)
    assert GroupSettings.of(settings).offsets_retention_ms == 120_000
    assert GroupSettings.of(settings).initial_rebalance_delay_ms == 0
