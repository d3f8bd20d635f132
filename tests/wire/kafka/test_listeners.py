"""Listener addresses are read and written as Kafka writes them."""

import pytest

from wire.kafka.listeners import Listener, are_listeners, parse_listener


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("PLAINTEXT://127.0.0.1:9092", Listener("PLAINTEXT", "127.0.0.1", 9092)),
        ("plaintext://broker.example:0", Listener("PLAINTEXT", "broker.example", 0)),
        ("PLAINTEXT://[::1]:9092", Listener("PLAINTEXT", "::1", 9092)),
        ("PLAINTEXT://:9092", Listener("PLAINTEXT", "", 9092)),
    ],
)
def test_a_listener_is_read(text: str, listener: Listener) -> None:
    assert parse_listener(text) == listener


def test_a_listener_is_written_as_it_is_read() -> None:
    for text in ("PLAINTEXT://127.0.0.1:9092", "PLAINTEXT://[::1]:9092"):
        assert str(parse_listener(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1:9092",
        "PLAINTEXT://host",
        "PLAINTEXT://host:x",
        "PLAINTEXT://host:65536",
        "PLAINTEXT://host:-1",
        "PLAINTEXT://::1:9092",
        "SSL://host:1",
    ],
)
def test_what_is_no_listener_is_refused(text: str) -> None:
    assert not are_listeners([text])


def test_two_listeners_on_one_address_are_refused() -> None:
    assert not are_listeners(["PLAINTEXT://a:1", "PLAINTEXT://a:1"])
    assert are_listeners(["PLAINTEXT://a:0", "PLAINTEXT://a:0", "PLAINTEXT://b:1"])
