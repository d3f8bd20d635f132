"""The keys of the group coordinator."""

import pytest

from coordinators.group.config import CONSUMER_GROUP_KEYS, GROUP_KEYS
from engine.config.keys import by_name
from engine.errors import InvalidConfig

KEYS = by_name((*GROUP_KEYS, *CONSUMER_GROUP_KEYS))


@pytest.mark.parametrize("name", ["offsets.retention.minutes", "group.max.size", "offsets.topic.num.partitions"])
def test_none_of_them_is_nothing(name: str) -> None:
    with pytest.raises(InvalidConfig):
        KEYS[name].parse("0")


@pytest.mark.parametrize("value", ["", "mine", "range,range"])
def test_assignors_are_some_that_the_broker_has(value: str) -> None:
    with pytest.raises(InvalidConfig):
        KEYS["group.consumer.assignors"].coerce(value)
