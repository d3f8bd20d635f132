"""Reading and writing the values of config keys."""

import pytest

from engine.config.keys import (
    ConfigKey,
    ConfigType,
    Effect,
    Value,
    at_least,
    between,
    by_name,
    distinct_from,
    one_of,
)
from engine.errors import InvalidConfig


def key(type_: ConfigType, **more: object) -> ConfigKey:
    return ConfigKey("some.key", type_, None, "Some meaning.", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (ConfigType.BOOLEAN, "true", True),
        (ConfigType.BOOLEAN, " FALSE ", False),
        (ConfigType.STRING, " text ", "text"),
        (ConfigType.SHORT, "-32768", -32768),
        (ConfigType.INT, "2147483647", 2**31 - 1),
        (ConfigType.INT, "+5", 5),
        (ConfigType.LONG, "-9223372036854775808", -(2**63)),
        (ConfigType.DOUBLE, "0.5", 0.5),
        (ConfigType.LIST, "a, b", ("a", "b")),
        (ConfigType.LIST, "", ()),
        (ConfigType.CLASS, "a.B", "a.B"),
        (ConfigType.PASSWORD, "secret", "secret"),
    ],
)
def test_text_becomes_a_value(type_: ConfigType, text: str, value: Value) -> None:
    assert key(type_).parse(text) == value


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (ConfigType.BOOLEAN, "yes"),
        (ConfigType.BOOLEAN, ""),
        (ConfigType.SHORT, "32768"),
        (ConfigType.INT, "2147483648"),
        (ConfigType.INT, "1.0"),
        (ConfigType.INT, "1_000"),
        (ConfigType.INT, "\u0663"),
        (ConfigType.INT, "9" * 10_000),
        (ConfigType.LONG, "9223372036854775808"),
        (ConfigType.LONG, "x"),
        (ConfigType.DOUBLE, "half"),
        (ConfigType.DOUBLE, "nan"),
        (ConfigType.LIST, "a,,b"),
    ],
)
def test_text_of_another_type_is_refused(type_: ConfigType, text: str) -> None:
    with pytest.raises(InvalidConfig, match=r"for configuration some\.key: must be"):
        key(type_).parse(text)


def test_a_refusal_says_what_would_be_right() -> None:
    with pytest.raises(InvalidConfig) as refusal:
        ConfigKey("retention.ms", ConfigType.LONG, 0, "", at_least(-1)).parse("x")
    expected = "Invalid value 'x' for configuration retention.ms: must be a whole number of 64 bits, at least -1"
    assert str(refusal.value) == expected


@pytest.mark.parametrize(
    ("rule", "good", "bad", "sentence"),
    [
        (at_least(0), 0, -1, "at least 0"),
        (between(0, 1), 0.5, 1.5, "between 0 and 1"),
        (one_of("a", "b"), "a", "c", "one of a, b"),
        (distinct_from("a", "b"), ("b", "a"), ("a", "a"), "a list of a, b, each at most once, or empty"),
    ],
)
def test_a_rule_checks_and_says_what_it_wants(rule: object, good: Value, bad: Value, sentence: str) -> None:
    assert rule.accepts(good)  # type: ignore[attr-defined]
    assert not rule.accepts(bad)  # type: ignore[attr-defined]
    assert rule.sentence == sentence  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (ConfigType.BOOLEAN, True, "true"),
        (ConfigType.LONG, 5, "5"),
        (ConfigType.LIST, ("a", "b"), "a,b"),
        (ConfigType.LIST, (), ""),
        (ConfigType.DOUBLE, 0.5, "0.5"),
        (ConfigType.STRING, None, None),
    ],
)
def test_a_value_is_written_as_kafka_writes_it(type_: ConfigType, value: Value, text: str | None) -> None:
    assert key(type_).format(value) == text


@pytest.mark.parametrize(
    ("type_", "given", "value"),
    [
        (ConfigType.INT, 5, 5),
        (ConfigType.BOOLEAN, True, True),
        (ConfigType.LIST, ["a", "b"], ("a", "b")),
        (ConfigType.DOUBLE, 1, 1.0),
    ],
)
def test_a_program_may_give_python_values(type_: ConfigType, given: object, value: Value) -> None:
    assert key(type_).coerce(given) == value


def test_a_sensitive_value_is_shown_nowhere() -> None:
    secret = key(ConfigType.PASSWORD, sensitive=True, rule=one_of("right"))
    assert secret.format("right") is None
    with pytest.raises(InvalidConfig) as refusal:
        secret.parse("wrong one")
    assert "wrong one" not in str(refusal.value)


def test_the_documentation_says_when_a_key_has_no_effect_and_why_a_default_differs() -> None:
    shown = key(ConfigType.INT, effect=Effect.NONE, default_reason="because.").full_documentation
    assert shown == "Some meaning. (Accepted, without effect here.) Default not Kafka's: because."


def test_two_keys_of_one_name_are_a_bug() -> None:
    with pytest.raises(AssertionError):
        by_name([key(ConfigType.INT), key(ConfigType.INT)])
