"""The broker keys of tracing as values."""

from coordinators.tracing.settings import EventTopicSettings, ExporterSettings, TraceSettings
from engine.config.resolve import BrokerSettings
from tidegate.config_keys import BROKER_KEYS


def settings(**values: str) -> BrokerSettings:
    named = {name.replace("_", "."): value for name, value in values.items()}
    return BrokerSettings({name: BROKER_KEYS[name].parse(text) for name, text in named.items()}, keys=BROKER_KEYS)


def test_without_configuration_the_defaults_of_the_classes_hold() -> None:
    assert TraceSettings.of(settings()) == TraceSettings()
    assert EventTopicSettings.of(settings()) == EventTopicSettings()
    assert ExporterSettings.of(settings()) == ExporterSettings()


def test_what_is_configured() -> None:
    assert TraceSettings.of(settings(trace_max_traces="7")).max_traces == 7
    assert not EventTopicSettings.of(settings(trace_events_topic_enable="false")).enabled
    exporter = ExporterSettings.of(
        settings(trace_exporter="file,otlp-http", trace_exporter_otlp_headers="API-Key=a=b, x=y")
    )
    assert exporter.names == ("file", "otlp-http")
    assert exporter.headers == (("api-key", "a=b"), ("x", "y"))
