"""The broker keys of tracing."""

import pytest

from engine.config.broker import BROKER_KEYS
from engine.config.broker_tracing import TRACING_KEYS
from engine.errors import InvalidConfig


def test_they_are_keys_of_the_broker() -> None:
    assert all(BROKER_KEYS[key.name] is key for key in TRACING_KEYS)
    assert all(key.rule.accepts(key.default) for key in TRACING_KEYS)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("trace.exporter", "otlp-http,file", "otlp-http,zipkin"),
        ("trace.exporter", "none", "none,file"),
        ("trace.exporter.otlp.http.endpoint", "https://example.org/v1/traces", "example.org:4318"),
        ("trace.exporter.otlp.headers", "api-key=abc, b=c=d", "abc"),
        ("trace.max.traces", "1", "0"),
    ],
)
def test_what_is_taken(name: str, good: str, bad: str) -> None:
    BROKER_KEYS[name].parse(good)
    with pytest.raises(InvalidConfig, match=name):
        BROKER_KEYS[name].parse(bad)


def test_headers_are_not_shown() -> None:
    assert BROKER_KEYS["trace.exporter.otlp.headers"].format("api-key=abc") is None
