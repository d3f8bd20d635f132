"""The keys of the Kafka door."""

import pytest

from engine.config.keys import by_name
from engine.errors import InvalidConfig
from wire.kafka.config import LISTENER_KEYS

KEYS = by_name(LISTENER_KEYS)


def test_there_is_a_listener_and_clients_need_not_be_told_another() -> None:
    with pytest.raises(InvalidConfig):
        KEYS["listeners"].parse("")
    assert KEYS["advertised.listeners"].parse("") == ()


@pytest.mark.parametrize("name", ["listeners", "advertised.listeners"])
def test_an_address_is_used_once(name: str) -> None:
    with pytest.raises(InvalidConfig, match="no address twice"):
        KEYS[name].parse("PLAINTEXT://127.0.0.1:9092,PLAINTEXT://127.0.0.1:9092")
