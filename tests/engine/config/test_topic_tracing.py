"""The topic keys of tracing, and the broker keys behind them."""

from engine.config.broker import ENGINE_KEYS
from engine.config.resolve import BrokerSettings
from engine.config.topic import TOPIC_KEYS
from engine.config.topic_tracing import TRACING


def test_a_topic_inherits_them_from_the_broker() -> None:
    assert all(TOPIC_KEYS[key.name] is key for key in TRACING)
    assert all(ENGINE_KEYS[f"log.{key.name}"].default == key.default for key in TRACING)
    settings = BrokerSettings({"log.trace.sample.per.second": 3, "log.trace.enable": False})
    assert settings.topic_defaults["trace.sample.per.second"] == 3
    assert settings.topic_config({"trace.enable": "true"})["trace.enable"] is True
    assert settings.topic_config({"trace.sample.ratio": "0.25"})["trace.sample.ratio"] == 0.25


def test_by_default_a_first_look_shows_something() -> None:
    defaults = BrokerSettings().topic_defaults
    assert [defaults[key.name] for key in TRACING] == [True, 10, 0.0]
