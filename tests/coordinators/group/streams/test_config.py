"""The keys of streams groups."""

import pytest

from coordinators.group.streams.config import STREAMS_CONFIGS, STREAMS_GROUP_KEYS, StreamsGroupSettings
from coordinators.group_configs import GroupConfigs
from engine.config.keys import by_name
from engine.config.resolve import BrokerSettings
from engine.errors import InvalidConfig
from tidegate.config_keys import BROKER_KEYS


def test_the_defaults_are_those_of_the_keys() -> None:
    values = {each.name: each.key.default for each in STREAMS_CONFIGS}
    assert StreamsGroupSettings.of(values) == StreamsGroupSettings()
    for name, default in values.items():
        assert by_name(STREAMS_GROUP_KEYS)[f"group.{name}"].default == default


def test_a_group_chooses_within_the_bounds_that_the_broker_sets() -> None:
    configs = GroupConfigs(BrokerSettings({"group.streams.num.standby.replicas": 1}, keys=BROKER_KEYS))
    assert configs.streams_settings("g") == StreamsGroupSettings(num_standby_replicas=1)
    assert configs.plan("g", {"streams.num.standby.replicas": "2", "streams.session.timeout.ms": "50000"}).changes
    for wrong in (
        {"streams.num.standby.replicas": "3"},
        {"streams.session.timeout.ms": "44999"},
        {"streams.heartbeat.interval.ms": "15001"},
        {"streams.assignment.interval.ms": "-1"},
    ):
        with pytest.raises(InvalidConfig):
            configs.plan("g", wrong)
    configs.take({"g": ({"streams.initial.rebalance.delay.ms": "0"}, 1)})
    assert configs.streams_settings("g").initial_rebalance_delay_ms == 0
    configs.take({"g": ({}, 0)})
    assert configs.streams_settings("g").initial_rebalance_delay_ms == 3_000
