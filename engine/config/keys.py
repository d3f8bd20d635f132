"""What a config key is: its name, type, default, rule and meaning, and how its text is read and written.

Keys are data. `topic.py` and `broker.py` list them; everything else (loading, altering, describing,
documentation) is derived from these lists, so a key cannot be accepted in one place and unknown in another.
"""

from collections.abc import Callable, Iterable
from enum import Enum, IntEnum
from typing import Any

from attrs import field, frozen

from engine.errors import InvalidConfig

Value = bool | int | float | str | tuple[str, ...] | None

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


class ConfigType(IntEnum):
    """Kafka's config types, with the numbers that DescribeConfigs carries."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Importance(Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Effect(Enum):
    """Whether the key changes what this broker does."""

    IN_FORCE = "in force"
    NONE_ON_ONE_NODE = "accepted, without effect on one node"
    NONE = "accepted, without effect here"


@frozen
class Rule:
    """What a value must be: a check, and the sentence that follows "must be"."""

    accepts: Callable[[Any], bool]
    sentence: str


def at_least(minimum: int) -> Rule:
    return Rule(lambda value: bool(value >= minimum), f"at least {minimum}")


def between(minimum: float, maximum: float) -> Rule:
    return Rule(lambda value: bool(minimum <= value <= maximum), f"between {minimum} and {maximum}")


def one_of(*choices: str) -> Rule:
    return Rule(lambda value: value in choices, "one of " + ", ".join(choices))


def distinct_from(*choices: str) -> Rule:
    """A list of these choices, none of them twice; it may be empty."""

    def accepts(values: tuple[str, ...]) -> bool:
        return set(values) <= set(choices) and len(set(values)) == len(values)

    return Rule(accepts, "a list of " + ", ".join(choices) + ", each at most once, or empty")


def anything() -> Rule:
    return Rule(lambda _value: True, "")


_INTEGER_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
_TYPE_SENTENCES = {
    ConfigType.BOOLEAN: "true or false",
    ConfigType.SHORT: "a whole number of 16 bits",
    ConfigType.INT: "a whole number of 32 bits",
    ConfigType.LONG: "a whole number of 64 bits",
    ConfigType.DOUBLE: "a number",
    ConfigType.LIST: "a comma-separated list",
}


@frozen
class BrokerSynonym:
    """A broker key that gives a topic key its default; `factor` turns its unit into the topic key's."""

    name: str
    factor: int = 1


@frozen
class ConfigKey:
    """One key. `synonyms` of a topic key are the broker keys behind it, strongest first.

    `default_reason` says why a default is not Kafka's, where it is not.
    """

    name: str
    type: ConfigType
    default: Value
    documentation: str
    rule: Rule = field(factory=anything)
    dynamic: bool = True
    sensitive: bool = False
    importance: Importance = Importance.MEDIUM
    effect: Effect = Effect.IN_FORCE
    synonyms: tuple[BrokerSynonym, ...] = ()
    default_reason: str = ""
    per_listener: bool = False
    """Whether a listener may have a value of its own, by `listener.name.<name>.<key>`."""

    @property
    def read_only(self) -> bool:
        return not self.dynamic

    @property
    def expectation(self) -> str:
        """What would be right, to follow "must be"."""
        parts = [_TYPE_SENTENCES.get(self.type, ""), self.rule.sentence]
        if self.type is ConfigType.LIST and self.rule.sentence:
            parts = [self.rule.sentence]
        return ", ".join(part for part in parts if part) or "text"

    @property
    def full_documentation(self) -> str:
        """The meaning with the notes about effect and default, as DescribeConfigs and the docs show it."""
        parts = [self.documentation]
        if self.effect is not Effect.IN_FORCE:
            parts.append(f"({self.effect.value[0].upper()}{self.effect.value[1:]}.)")
        if self.per_listener:
            parts.append(f"Of one listener: `listener.name.<name>.{self.name}`.")
        if self.default_reason:
            parts.append(f"Default not Kafka's: {self.default_reason}")
        return " ".join(parts)

    def parse(self, text: str) -> Value:
        """The value that the text stands for; `InvalidConfig` says what would be right."""
        try:
            value = _parse(self.type, text.strip())
        except ValueError:
            raise self.refusal(text) from None
        if not self.rule.accepts(value):
            raise self.refusal(text)
        return value

    def coerce(self, value: object) -> Value:
        """The same for a value that is perhaps no text: from TOML or from a program."""
        return self.parse(as_text(value))

    def refusal(self, text: str) -> InvalidConfig:
        shown = "[hidden]" if self.sensitive else f"'{text}'"
        return InvalidConfig(f"Invalid value {shown} for configuration {self.name}: must be {self.expectation}")

    def format(self, value: Value) -> str | None:
        """The value as text, or None if it is unset or may not be shown."""
        return None if value is None or self.sensitive else as_text(value)


def as_text(value: object) -> str:
    """The text of a Python value as Kafka writes it: `true`, `1`, `a,b`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(str(item) for item in value)
    return str(value)


def by_name(keys: Iterable[ConfigKey]) -> dict[str, ConfigKey]:
    """The keys by name; two of one name is a bug."""
    result: dict[str, ConfigKey] = {}
    for key in keys:
        assert key.name not in result, f"config key {key.name} is defined twice"
        result[key.name] = key
    return result


def _parse(type_: ConfigType, text: str) -> Value:
    if type_ is ConfigType.BOOLEAN:
        return _boolean(text)
    if type_ in _INTEGER_BITS:
        return _integer(text, _INTEGER_BITS[type_])
    if type_ is ConfigType.DOUBLE:
        return _number(text)
    if type_ is ConfigType.LIST:
        return _items(text)
    return text


def _boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered not in ("true", "false"):
        raise ValueError(text)
    return lowered == "true"


def _integer(text: str, bits: int) -> int:
    # int() alone would also take "1_000" and non-ASCII digits, which Kafka refuses.
    if not text.isascii() or "_" in text or len(text) > 20:
        raise ValueError(text)
    value = int(text)
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise ValueError(text)
    return value


def _number(text: str) -> float:
    if not text.isascii() or "_" in text:
        raise ValueError(text)
    value = float(text)
    if value != value:
        raise ValueError(text)
    return value


def _items(text: str) -> tuple[str, ...]:
    if not text:
        return ()
    items = tuple(item.strip() for item in text.split(","))
    if not all(items):
        raise ValueError(text)
    return items
