"""Which value is in force, and what DescribeConfigs says of it."""

import pytest

from engine.config.broker import ENGINE_KEYS
from engine.config.resolve import (
    BrokerSettings,
    ConfigEntry,
    ConfigSource,
    describe_broker,
    describe_broker_default,
    describe_topic,
)
from engine.config.topic import TOPIC_KEYS
from engine.errors import InvalidConfig

HOUR_MS = 3_600_000
LAYERED = BrokerSettings(
    static={"log.segment.bytes": 2_000_000, "log.retention.hours": 2},
    dynamic={"log.segment.bytes": 4_000_000},
    dynamic_default={"log.segment.bytes": 3_000_000},
)


def topic_entry(settings: BrokerSettings, name: str, overrides: dict[str, str] | None = None) -> ConfigEntry:
    entries = describe_topic(settings.topic_config(overrides or {}), settings)
    return next(entry for entry in entries if entry.key.name == name)


def broker_entry(settings: BrokerSettings, name: str) -> ConfigEntry:
    return next(entry for entry in describe_broker(settings) if entry.key.name == name)


def shown(entry: ConfigEntry) -> list[tuple[str, str | None, str]]:
    return [(each.name, each.text, each.source.name) for each in entry.synonyms]


def test_without_settings_the_defaults_are_in_force() -> None:
    config = BrokerSettings().topic_defaults
    assert {name: config[name] for name in TOPIC_KEYS} == {n: k.default for n, k in TOPIC_KEYS.items()}


def test_a_topics_own_setting_goes_first() -> None:
    assert LAYERED.topic_config({"segment.bytes": "5000000"})["segment.bytes"] == 5_000_000


def test_broker_layers_go_from_this_node_to_all_nodes_to_its_own_configuration() -> None:
    assert LAYERED.topic_defaults["segment.bytes"] == 4_000_000
    assert BrokerSettings(LAYERED.static, {}, LAYERED.dynamic_default)["log.segment.bytes"] == 3_000_000
    assert BrokerSettings(LAYERED.static)["log.segment.bytes"] == 2_000_000


def test_a_dynamic_weaker_layer_does_not_hide_the_static_spelling_of_another_unit() -> None:
    assert LAYERED.topic_defaults["retention.ms"] == 2 * HOUR_MS
    assert BrokerSettings({"log.retention.hours": 2, "log.retention.ms": 5}).topic_defaults["retention.ms"] == 5
    assert BrokerSettings({"log.retention.hours": -1}).topic_defaults["retention.ms"] == -1
    assert BrokerSettings({"log.retention.minutes": 3}).topic_defaults["retention.ms"] == 180_000


def test_topics_without_settings_share_one_config() -> None:
    assert LAYERED.topic_config({}) is LAYERED.topic_config({})


def test_a_bad_setting_is_refused() -> None:
    for overrides in (
        {"no.such": "1"},
        {"retention.ms": "x"},
        {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"},
    ):
        with pytest.raises(InvalidConfig):
            LAYERED.topic_config(overrides)


def test_settings_of_another_version_are_passed_over_when_stored() -> None:
    config = LAYERED.stored_topic_config({"no.such": "1", "retention.ms": "x", "flush.mode": "os"})
    assert config.overrides == {"flush.mode": "os"}
    assert config["retention.ms"] == 2 * HOUR_MS
    assert LAYERED.stored_topic_config({"no.such": "1"}) is LAYERED.topic_defaults
    assert BrokerSettings().stored_values({"no.such": "1", "log.segment.bytes": "x", "log.roll.ms": "5"}) == {
        "log.roll.ms": 5
    }


def test_contradicting_broker_values_are_found() -> None:
    with pytest.raises(InvalidConfig, match=r"min\.compaction\.lag\.ms"):
        BrokerSettings({"log.cleaner.min.compaction.lag.ms": 9, "log.cleaner.max.compaction.lag.ms": 8}).check()


def test_a_topic_entry_shows_every_layer_strongest_first() -> None:
    entry = topic_entry(LAYERED, "segment.bytes", {"segment.bytes": "5000000"})
    assert (entry.text, entry.source, entry.read_only) == (
        "5000000",
        ConfigSource.DYNAMIC_TOPIC_CONFIG,
        False,
    )
    assert shown(entry) == [
        ("segment.bytes", "5000000", "DYNAMIC_TOPIC_CONFIG"),
        ("log.segment.bytes", "4000000", "DYNAMIC_BROKER_CONFIG"),
        ("log.segment.bytes", "3000000", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
        ("log.segment.bytes", "2000000", "STATIC_BROKER_CONFIG"),
        ("log.segment.bytes", str(64 * 2**20), "DEFAULT_CONFIG"),
    ]


def test_a_topic_entry_in_another_unit_shows_the_spelling_that_was_set() -> None:
    entry = topic_entry(LAYERED, "retention.ms")
    assert (entry.text, entry.source) == (str(2 * HOUR_MS), ConfigSource.STATIC_BROKER_CONFIG)
    assert shown(entry) == [
        ("log.retention.hours", "2", "STATIC_BROKER_CONFIG"),
        ("log.retention.hours", "168", "DEFAULT_CONFIG"),
    ]


def test_a_topic_entry_without_broker_key_is_a_default() -> None:
    entry = topic_entry(LAYERED, "leader.replication.throttled.replicas")
    assert (entry.text, entry.source, entry.synonyms) == ("", ConfigSource.DEFAULT_CONFIG, ())


def test_every_key_is_described() -> None:
    assert [entry.key.name for entry in describe_topic(LAYERED.topic_defaults, LAYERED)] == list(TOPIC_KEYS)
    assert [entry.key.name for entry in describe_broker(LAYERED)] == list(ENGINE_KEYS)


def test_a_broker_entry_tells_whether_it_can_be_altered() -> None:
    assert broker_entry(LAYERED, "log.dirs").read_only
    assert not broker_entry(LAYERED, "log.segment.bytes").read_only


def test_a_broker_entry_shows_its_own_value_and_weaker_spellings() -> None:
    settings = BrokerSettings({"log.retention.hours": 2}, {"log.retention.ms": 7})
    strong, weak = broker_entry(settings, "log.retention.ms"), broker_entry(settings, "log.retention.hours")
    assert (strong.text, strong.source.name) == ("7", "DYNAMIC_BROKER_CONFIG")
    assert shown(strong)[1:] == shown(weak)
    assert (weak.text, weak.source.name) == ("2", "STATIC_BROKER_CONFIG")
    assert broker_entry(settings, "log.retention.minutes").text is None


def test_the_default_broker_is_described_by_what_was_altered_for_all() -> None:
    (entry,) = describe_broker_default(LAYERED)
    assert (entry.key.name, entry.text) == ("log.segment.bytes", "3000000")
    assert entry.source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
