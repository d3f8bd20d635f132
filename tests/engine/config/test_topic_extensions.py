"""The topic keys of delay, priority and expiry: what they take, and what a topic cannot be at once."""

import pytest

from engine.config.broker import ENGINE_KEYS
from engine.config.resolve import BrokerSettings
from engine.config.topic import TOPIC_KEYS, parse_topic_overrides
from engine.config.topic_extensions import EXTENSIONS, TRACING
from engine.errors import InvalidConfig


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("extensions.enable", "perhaps"),
        ("extensions.max.decompressed.bytes", "1023"),
        ("stage.max.bytes", "-2"),
        ("delay.max.ms", "-1"),
        ("delay.max.ms", "9223372036854775807"),
        ("delay.fate.retention.ms", "-1"),
        ("priority.enable", "yes"),
        ("priority.weights", ""),
        ("priority.weights", "1,2,3,4"),
        ("priority.weights", "1,2,3,4,5,6"),
        ("priority.weights", "1,2,3,4,0"),
        ("priority.weights", "1,2,3,4,-5"),
        ("priority.weights", "1,2,3,4,1.5"),
        ("priority.weights", "1,2,3,4,10001"),
        ("priority.weights", "1,2,3,4,٣"),
        ("priority.starvation.ms", "0"),
        ("priority.policy", "fair"),
        ("priority.fetch.max.records", "0"),
        ("message.ttl.ms", "0"),
        ("message.ttl.ms", "-2"),
        ("expiry.policy", "keep"),
        ("dead.letter.topic", "a b"),
        ("dead.letter.topic", ".."),
        ("dead.letter.topic", "x" * 250),
    ],
)
def test_a_value_that_cannot_be_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidConfig, match=rf"for configuration {name}: must be "):
        parse_topic_overrides({name: text})


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("extensions.enable", "false", False),
        ("stage.max.bytes", "-1", -1),
        ("delay.max.ms", "0", 0),
        ("priority.weights", "20, 20,20,20,10000", ("20", "20", "20", "20", "10000")),
        ("message.ttl.ms", "-1", -1),
        ("message.ttl.ms", "1", 1),
        ("dead.letter.topic", "", ""),
        ("dead.letter.topic", "orders.DLQ_1-a", "orders.DLQ_1-a"),
    ],
)
def test_a_value_that_can_be_is_taken(name: str, text: str, value: object) -> None:
    assert parse_topic_overrides({name: text}) == {name: value}


def test_an_operator_sets_defaults_for_all_topics_but_not_what_concerns_one() -> None:
    without = {key.name for key in EXTENSIONS if f"log.{key.name}" not in ENGINE_KEYS}
    assert without == {"priority.enable", "dead.letter.topic"}
    settings = BrokerSettings({"log.delay.max.ms": 5, "log.extensions.enable": False})
    assert settings.topic_defaults["delay.max.ms"] == 5
    assert settings.topic_defaults["extensions.enable"] is False
    assert settings.topic_config({"extensions.enable": "true"})["extensions.enable"] is True


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_a_compacted_topic_cannot_be_prioritised(policy: str) -> None:
    with pytest.raises(InvalidConfig, match=rf"priority\.enable: a compacted topic .*cleanup\.policy is {policy}$"):
        BrokerSettings().topic_config({"priority.enable": "true", "cleanup.policy": policy})
    # Also where compaction is inherited.
    compacting = BrokerSettings({"log.cleanup.policy": tuple(policy.split(","))})
    with pytest.raises(InvalidConfig, match=r"priority\.enable"):
        compacting.topic_config({"priority.enable": "true"})
    assert compacting.topic_config({"priority.enable": "auto"})["priority.enable"] == "auto"


def test_the_keys_are_those_of_the_group() -> None:
    assert all(TOPIC_KEYS[key.name] is key for key in EXTENSIONS)


def test_a_topic_inherits_them_from_the_broker() -> None:
    assert all(TOPIC_KEYS[key.name] is key for key in TRACING)
    assert all(ENGINE_KEYS[f"log.{key.name}"].default == key.default for key in TRACING)
    settings = BrokerSettings({"log.trace.sample.per.second": 3, "log.trace.enable": False})
    assert settings.topic_defaults["trace.sample.per.second"] == 3
    assert settings.topic_config({"trace.enable": "true"})["trace.enable"] is True
    assert settings.topic_config({"trace.sample.ratio": "0.25"})["trace.sample.ratio"] == 0.25


def test_by_default_a_first_look_shows_something() -> None:
    defaults = BrokerSettings().topic_defaults
    assert [defaults[key.name] for key in TRACING] == [True, 10, 0.0]
