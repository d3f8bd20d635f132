"""The broker keys of tracing."""

import pytest

from coordinators.tracing.config import TRACING_KEYS
from engine.config.keys import by_name
from engine.errors import InvalidConfig

KEYS = by_name(TRACING_KEYS)


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
    KEYS[name].parse(good)
    with pytest.raises(InvalidConfig, match=name):
        KEYS[name].parse(bad)


def test_headers_are_not_shown() -> None:
    assert KEYS["trace.exporter.otlp.headers"].format("api-key=abc") is None
