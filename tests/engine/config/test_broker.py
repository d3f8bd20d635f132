"""The keys of the engine's own; how they hang together with all others is in tests/tidegate/test_config_keys.py."""

import pytest

from engine.config.broker import ENGINE_KEYS
from engine.config.resolve import BrokerSettings
from engine.errors import InvalidConfig


def test_logs_lie_in_one_directory() -> None:
    assert ENGINE_KEYS["log.dirs"].parse("data") == ("data",)
    with pytest.raises(InvalidConfig, match="exactly one directory"):
        ENGINE_KEYS["log.dirs"].parse("a,b")


def test_the_engine_knows_no_key_of_a_door() -> None:
    with pytest.raises(KeyError):
        BrokerSettings().integer("http.port")
