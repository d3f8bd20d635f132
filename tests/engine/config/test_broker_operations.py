"""The keys of the operations door, of metrics and of the program's log."""

import pytest

from engine.config.broker import BROKER_KEYS
from engine.config.broker_operations import OPERATIONS_KEYS
from engine.errors import InvalidConfig


def test_they_are_broker_keys_that_need_a_restart() -> None:
    for key in OPERATIONS_KEYS:
        assert BROKER_KEYS[key.name] is key
        assert key.read_only


def test_the_token_is_never_shown() -> None:
    key = BROKER_KEYS["http.token"]
    assert key.format("secret") is None
    assert "secret" not in str(key.refusal("secret"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("http.port", "-2"),
        ("http.port", "65536"),
        ("http.max.connections", "0"),
        ("http.token", ""),
        ("http.token", " "),
        ("http.max.header.bytes", "10"),
        ("logging.format", "xml"),
        ("logging.level", "loud"),
        ("metrics.topic.limit", "-1"),
    ],
)
def test_what_cannot_be_is_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidConfig, match=name):
        BROKER_KEYS[name].parse(value)
