"""The broker keys hang together, with each other and with the topic keys."""

import pytest

from engine.config.broker import BROKER_SYNONYMS
from engine.config.topic import TOPIC_KEYS
from engine.errors import InvalidConfig
from tidegate.config_keys import BROKER_KEYS


@pytest.mark.parametrize("name", [name for name, key in BROKER_KEYS.items() if key.default is not None])
def test_a_default_is_a_value_that_the_key_takes(name: str) -> None:
    key = BROKER_KEYS[name]
    assert key.parse(key.format(key.default) or "") == key.default


@pytest.mark.parametrize("name", [name for name, key in TOPIC_KEYS.items() if key.synonyms])
def test_every_synonym_of_a_topic_key_is_a_broker_key(name: str) -> None:
    assert all(synonym.name in BROKER_KEYS for synonym in TOPIC_KEYS[name].synonyms)


@pytest.mark.parametrize("name", [name for name, key in TOPIC_KEYS.items() if key.synonyms])
def test_the_default_of_a_topic_key_is_that_of_its_broker_keys(name: str) -> None:
    key = TOPIC_KEYS[name]
    weakest = key.synonyms[-1]
    default = BROKER_KEYS[weakest.name].default
    assert default == key.default or default * weakest.factor == key.default  # type: ignore[operator]


def test_keys_that_listen_or_name_the_node_cannot_be_altered_while_running() -> None:
    read_only = ("node.id", "listeners", "log.dirs", "num.partitions", "log.retention.hours")
    assert all(BROKER_KEYS[name].read_only for name in read_only)


def test_the_strongest_spelling_of_a_topic_default_can_be_altered_while_running() -> None:
    assert all(BROKER_KEYS[key.synonyms[0].name].dynamic for key in TOPIC_KEYS.values() if key.synonyms)


def test_the_spellings_of_one_setting_know_each_other() -> None:
    spellings = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
    assert all(BROKER_SYNONYMS[name] == spellings for name in spellings)


@pytest.mark.parametrize("name", ["max.connections", "max.connections.per.ip", "queued.max.request.bytes"])
def test_limits_are_finite(name: str) -> None:
    default = BROKER_KEYS[name].default
    assert isinstance(default, int)
    assert default < 2**30


@pytest.mark.parametrize(
    ("name", "value"), [("logging.format", "xml"), ("logging.level", "loud"), ("metrics.topic.limit", "-1")]
)
def test_what_cannot_be_is_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidConfig, match=name):
        BROKER_KEYS[name].parse(value)


# Whoever sizes a cluster by Kafka's documentation must find its numbers here.
KAFKAS = {
    "transaction.max.timeout.ms": 900_000,
    "transactional.id.expiration.ms": 604_800_000,
    "transaction.state.log.num.partitions": 50,
    "group.consumer.session.timeout.ms": 45_000,
    "group.consumer.heartbeat.interval.ms": 5_000,
    "group.consumer.assignors": ("uniform", "range"),
    "group.consumer.migration.policy": "bidirectional",
}


@pytest.mark.parametrize("name", KAFKAS)
def test_defaults_are_kafkas(name: str) -> None:
    assert BROKER_KEYS[name].default == KAFKAS[name]
