"""The broker keys that give topics their defaults follow the topic keys."""

import pytest

from engine.config.broker_topic_defaults import TOPIC_DEFAULT_KEYS
from engine.config.keys import by_name
from engine.config.topic import TOPIC_KEYS
from engine.errors import InvalidConfig

KEYS = by_name(TOPIC_DEFAULT_KEYS)


def test_a_broker_key_has_the_type_of_its_topic_key() -> None:
    assert all(KEYS[key.synonyms[0].name].type is key.type for key in TOPIC_KEYS.values() if key.synonyms)


def test_a_broker_key_names_its_topic_key() -> None:
    assert "`segment.bytes`" in KEYS["log.segment.bytes"].documentation


def test_a_weaker_spelling_says_what_goes_before_it() -> None:
    assert "unless `log.retention.ms` or `log.retention.minutes` is set" in KEYS["log.retention.hours"].documentation


@pytest.mark.parametrize("name", ["log.retention.ms", "log.retention.minutes", "log.retention.hours"])
def test_no_retention_at_all_is_refused_as_a_default(name: str) -> None:
    with pytest.raises(InvalidConfig, match="at least 1, or -1"):
        KEYS[name].parse("0")
