"""The keys of the operations door."""

import pytest

from engine.config.keys import by_name
from engine.errors import InvalidConfig
from wire.http.config import HTTP_KEYS, Access

KEYS = by_name(HTTP_KEYS)


def test_the_token_is_never_shown() -> None:
    key = KEYS["http.token"]
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
    ],
)
def test_what_cannot_be_is_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidConfig, match=name):
        KEYS[name].parse(value)


def test_the_token_does_not_appear_in_a_log_line() -> None:
    assert "secret" not in repr(Access("secret"))
