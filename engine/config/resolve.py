"""Which value of a key is in force, where it comes from, and what stands behind it.

A topic's own setting goes first, then the broker's dynamic config (of this node, then of the cluster), then
its static config, then the default. Values are worked out once per change; topics without settings of
their own share one `TopicConfig`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum

from attrs import Factory, define, field, frozen

from engine.config.broker import BROKER_SYNONYMS, ENGINE_KEYS
from engine.config.keys import BrokerSynonym, ConfigKey, Value
from engine.config.topic import TOPIC_KEYS, check_topic_values, is_topic_setting, parse_topic_overrides
from engine.errors import InvalidConfig


class ConfigSource(IntEnum):
    """Where a value comes from, with the numbers that DescribeConfigs carries."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_GROUP_CONFIG = 8


@frozen
class SourcedValue:
    """One of the values behind an entry: strongest first, the first is in force. `text` is None if hidden."""

    name: str
    text: str | None
    source: ConfigSource


@frozen
class ConfigEntry:
    """One key as DescribeConfigs shows it. `text` is None if unset or sensitive."""

    key: ConfigKey
    text: str | None
    source: ConfigSource
    synonyms: tuple[SourcedValue, ...]
    read_only: bool


@frozen
class TopicConfig:
    """The values in force for a topic, by key. `overrides` are the topic's own settings, as text."""

    values: Mapping[str, Value]
    overrides: Mapping[str, str] = Factory(dict)

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def integer(self, name: str) -> int:
        value = self.values[name]
        assert isinstance(value, int)
        return value

    def text(self, name: str) -> str:
        value = self.values[name]
        assert isinstance(value, str)
        return value


@define
class BrokerSettings:
    """The layers of broker config: what was set in each, without defaults. Replaced, never altered.

    `static` is the node's own configuration; `dynamic` is what was altered for this node while running,
    `dynamic_default` for all nodes. `keys` are all keys that there are: a broker has those of its coordinators and
    doors, too.
    """

    static: Mapping[str, Value] = field(factory=dict, repr=False)
    dynamic: Mapping[str, Value] = Factory(dict)
    dynamic_default: Mapping[str, Value] = Factory(dict)
    keys: Mapping[str, ConfigKey] = field(default=ENGINE_KEYS, kw_only=True, repr=False)
    _topic_defaults: TopicConfig = field(init=False)

    def __attrs_post_init__(self) -> None:
        values = {name: self._topic_default(key) for name, key in TOPIC_KEYS.items()}
        self._topic_defaults = TopicConfig(values)

    def check(self) -> None:
        """`InvalidConfig` if values contradict each other; each for itself was checked when it was given."""
        check_topic_values(self._topic_defaults.values)

    def __getitem__(self, name: str) -> Value:
        """The value in force of a broker key."""
        key = self.keys[name]
        return next((values[name] for _source, values in self.layers() if name in values), key.default)

    def is_set(self, name: str) -> bool:
        """Whether somebody has chosen the value of a broker key."""
        return any(name in values for _source, values in self.layers())

    def integer(self, name: str) -> int:
        value = self[name]
        assert isinstance(value, int), f"{name} is not a number"
        return value

    def text(self, name: str) -> str:
        value = self[name]
        assert isinstance(value, str), f"{name} is not text"
        return value

    def flag(self, name: str) -> bool:
        value = self[name]
        assert isinstance(value, bool), f"{name} is not true or false"
        return value

    def items(self, name: str) -> tuple[str, ...]:
        value = self[name]
        assert isinstance(value, tuple), f"{name} is not a list"
        return value

    @property
    def topic_defaults(self) -> TopicConfig:
        """What is in force for a topic without settings of its own."""
        return self._topic_defaults

    def topic_config(self, overrides: Mapping[str, str]) -> TopicConfig:
        """What is in force for a topic with these settings; `InvalidConfig` if they cannot be."""
        if not overrides:
            return self._topic_defaults
        values = {**self._topic_defaults.values, **parse_topic_overrides(overrides)}
        check_topic_values(values)
        return TopicConfig(values, dict(overrides))

    def stored_topic_config(self, overrides: Mapping[str, str]) -> TopicConfig:
        """The same for settings that were taken once: one that can no longer be is passed over.

        Another version of the program, or another broker config, must not make a topic unusable.
        """
        kept = {name: text for name, text in overrides.items() if is_topic_setting(name, text)}
        if not kept:
            return self._topic_defaults
        return TopicConfig({**self._topic_defaults.values, **parse_topic_overrides(kept)}, kept)

    def stored_values(self, configs: Mapping[str, str]) -> dict[str, Value]:
        """The values of dynamic broker configs that were taken once, without those that can no longer be."""
        values: dict[str, Value] = {}
        for name, text in configs.items():
            with suppress(KeyError, InvalidConfig):
                values[name] = self.keys[name].parse(text)
        return values

    def layers(self) -> tuple[tuple[ConfigSource, Mapping[str, Value]], ...]:
        """The layers in which a value may be set, strongest first."""
        return (
            (ConfigSource.DYNAMIC_BROKER_CONFIG, self.dynamic),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, self.dynamic_default),
            (ConfigSource.STATIC_BROKER_CONFIG, self.static),
        )

    def _topic_default(self, key: ConfigKey) -> Value:
        for _source, values in self.layers():
            for synonym in key.synonyms:
                if synonym.name in values:
                    return _converted(values[synonym.name], synonym)
        # In a cluster some broker keys have other defaults; one without a default leaves it to a weaker spelling.
        strongest = self.keys.get(key.synonyms[0].name) if key.synonyms else None
        return key.default if strongest is None or strongest.default is None else strongest.default


def describe_topic(config: TopicConfig, settings: BrokerSettings) -> list[ConfigEntry]:
    """Every topic key, with the value in force and what stands behind it."""
    return [_topic_entry(key, config, settings) for key in TOPIC_KEYS.values()]


def describe_broker(settings: BrokerSettings) -> list[ConfigEntry]:
    """Every broker key of this node, the read-only ones too."""
    return [_broker_entry(key, settings) for key in settings.keys.values()]


def describe_broker_default(settings: BrokerSettings) -> list[ConfigEntry]:
    """What was altered for all nodes: Kafka describes the default broker by these alone."""
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    entries = []
    for name, value in settings.dynamic_default.items():
        key = settings.keys[name]
        text = key.format(value)
        entries.append(ConfigEntry(key, text, source, (SourcedValue(name, text, source),), key.read_only))
    return entries


def _topic_entry(key: ConfigKey, config: TopicConfig, settings: BrokerSettings) -> ConfigEntry:
    text = key.format(config.values[key.name])
    names = [synonym.name for synonym in key.synonyms]
    # As in Kafka, other spellings' defaults stand behind a topic's value only where the broker sets one of them.
    is_set = any(name in values for _source, values in settings.layers() for name in names)
    behind = list(_behind(names, settings, defaults_of=names if is_set else names[:1]))
    if key.name in config.overrides:
        behind.insert(0, SourcedValue(key.name, text, ConfigSource.DYNAMIC_TOPIC_CONFIG))
    source = behind[0].source if behind else ConfigSource.DEFAULT_CONFIG
    return ConfigEntry(key, text, source, tuple(behind), read_only=False)


def _broker_entry(key: ConfigKey, settings: BrokerSettings) -> ConfigEntry:
    names = BROKER_SYNONYMS.get(key.name, (key.name,))
    behind = list(_behind(names, settings, defaults_of=names))
    # A stronger spelling does not stand behind a weaker one.
    while behind and behind[0].name != key.name:
        del behind[0]
    source = behind[0].source if behind else ConfigSource.DEFAULT_CONFIG
    return ConfigEntry(key, key.format(settings[key.name]), source, tuple(behind), key.read_only)


def _behind(names: Sequence[str], settings: BrokerSettings, *, defaults_of: Sequence[str]) -> Iterator[SourcedValue]:
    """The values set for these broker keys, layer by layer, then the defaults of some."""
    keys = settings.keys
    defaults = {name: keys[name].default for name in defaults_of if keys[name].default is not None}
    for source, values in (*settings.layers(), (ConfigSource.DEFAULT_CONFIG, defaults)):
        for name in names:
            if name in values:
                yield SourcedValue(name, keys[name].format(values[name]), source)


def _converted(value: Value, synonym: BrokerSynonym) -> Value:
    """A broker key's value in the topic key's unit; -1 is "for ever" in every unit."""
    if synonym.factor == 1:
        return value
    assert isinstance(value, int)
    return value * synonym.factor if value > 0 else value
