"""The keys of the group coordinator."""

import pytest

from coordinators.group.config import CONSUMER_GROUP_KEYS, GROUP_KEYS, GroupSettings
from engine.config.keys import by_name
from engine.config.resolve import BrokerSettings
from engine.errors import InvalidConfig
from tidegate.config_keys import BROKER_KEYS

KEYS = by_name((*GROUP_KEYS, *CONSUMER_GROUP_KEYS))


@pytest.mark.parametrize("name", ["offsets.retention.minutes", "group.max.size", "offsets.topic.num.partitions"])
def test_none_of_them_is_nothing(name: str) -> None:
    with pytest.raises(InvalidConfig):
        KEYS[name].parse("0")


@pytest.mark.parametrize("value", ["", "mine", "range,range"])
def test_assignors_are_some_that_the_broker_has(value: str) -> None:
    with pytest.raises(InvalidConfig):
        KEYS["group.consumer.assignors"].coerce(value)


def test_the_defaults_are_those_of_the_keys() -> None:
    assert GroupSettings.of(BrokerSettings(keys=BROKER_KEYS)) == GroupSettings()


def test_what_is_set_is_in_force() -> None:
    given = {"offsets.retention.minutes": "2", "group.initial.rebalance.delay.ms": "0"}
    settings = BrokerSettings({name: BROKER_KEYS[name].parse(text) for name, text in given.items()}, keys=BROKER_KEYS)
    assert GroupSettings.of(settings).offsets_retention_ms == 120_000
    assert GroupSettings.of(settings).initial_rebalance_delay_ms == 0
