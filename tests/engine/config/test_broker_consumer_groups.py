"""The broker keys of groups of the new consumer protocol."""

import pytest

from engine.config.broker import BROKER_KEYS
from engine.config.broker_consumer_groups import CONSUMER_GROUP_KEYS
from engine.errors import InvalidConfig


def test_they_are_broker_keys_with_kafkas_defaults() -> None:
    defaults = {key.name: key.default for key in CONSUMER_GROUP_KEYS}
    assert defaults["group.consumer.session.timeout.ms"] == 45_000
    assert defaults["group.consumer.heartbeat.interval.ms"] == 5_000
    assert defaults["group.consumer.assignors"] == ("uniform", "range")
    assert defaults["group.consumer.migration.policy"] == "bidirectional"
    assert set(defaults) <= set(BROKER_KEYS)


@pytest.mark.parametrize("value", ["", "mine", "range,range"])
def test_assignors_are_some_that_the_broker_has(value: str) -> None:
    with pytest.raises(InvalidConfig):
        BROKER_KEYS["group.consumer.assignors"].coerce(value)
