"""The keys of the group coordinator."""

import pytest

from engine.config.broker import BROKER_KEYS
from engine.config.broker_groups import GROUP_KEYS
from engine.errors import InvalidConfig


def test_they_are_broker_keys_that_need_a_restart() -> None:
    for key in GROUP_KEYS:
        assert BROKER_KEYS[key.name] is key
        assert key.read_only


@pytest.mark.parametrize("name", ["offsets.retention.minutes", "group.max.size", "offsets.topic.num.partitions"])
def test_none_of_them_is_nothing(name: str) -> None:
    with pytest.raises(InvalidConfig):
        BROKER_KEYS[name].parse("0")
