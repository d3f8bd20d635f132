"""The broker keys of tracing as plain values."""

from attrs import frozen

from engine.config.resolve import BrokerSettings


@frozen
class TraceSettings:
    """What bounds traces."""

    max_traces: int = 10_000
    max_events_per_trace: int = 64
    max_per_second: int = 200
    compressed_batch_max_bytes: int = 64 * 1024
    compressed_bytes_per_second: int = 2 * 1024 * 1024

    @classmethod
    def of(cls, settings: BrokerSettings) -> "TraceSettings":
        return cls(
            settings.integer("trace.max.traces"),
            settings.integer("trace.max.events.per.trace"),
            settings.integer("trace.max.per.second"),
            settings.integer("trace.compressed.batch.max.bytes"),
            settings.integer("trace.compressed.bytes.per.second"),
        )


@frozen
class EventTopicSettings:
    """How the topic of events is made, and how much may wait for it."""

    enabled: bool = True
    retention_ms: int = 3_600_000
    segment_bytes: int = 8 * 1024 * 1024
    queue_size: int = 10_000

    @classmethod
    def of(cls, settings: BrokerSettings) -> "EventTopicSettings":
        return cls(
            settings.flag("trace.events.topic.enable"),
            settings.integer("trace.events.topic.retention.ms"),
            settings.integer("trace.events.topic.segment.bytes"),
            settings.integer("trace.events.queue.size"),
        )


@frozen
class ExporterSettings:
    """Where spans go."""

    names: tuple[str, ...] = ()
    http_endpoint: str = "http://127.0.0.1:4318/v1/traces"
    grpc_endpoint: str = "http://127.0.0.1:4317"
    headers: tuple[tuple[str, str], ...] = ()
    timeout_ms: int = 10_000
    file_path: str = "traces.jsonl"
    file_max_bytes: int = 16 * 1024 * 1024
    file_max_files: int = 5
    queue_size: int = 4096
    service_name: str = "tidegate"

    @classmethod
    def of(cls, settings: BrokerSettings) -> "ExporterSettings":
        return cls(
            tuple(name for name in settings.items("trace.exporter") if name != "none"),
            settings.text("trace.exporter.otlp.http.endpoint"),
            settings.text("trace.exporter.otlp.grpc.endpoint"),
            _pairs(settings.text("trace.exporter.otlp.headers")),
            settings.integer("trace.exporter.otlp.timeout.ms"),
            settings.text("trace.exporter.file.path"),
            settings.integer("trace.exporter.file.max.bytes"),
            settings.integer("trace.exporter.file.max.files"),
            settings.integer("trace.exporter.queue.size"),
            settings.text("trace.service.name"),
        )


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    split = (pair.split("=", 1) for pair in text.split(",") if pair.strip())
    return tuple((name.strip().lower(), value.strip()) for name, value in split)
