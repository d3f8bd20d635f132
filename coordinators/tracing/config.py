"""The broker keys of tracing: bounds, the topic of events, exporters. Kafka has none of them."""

from engine.config.keys import INT_MAX, ConfigKey, ConfigType, Rule, at_least, between, distinct_from

EXPORTERS = ("none", "otlp-http", "otlp-grpc", "console", "file")
HOUR_MS = 3_600_000
KIBIBYTE = 1024
MEBIBYTE = 1024 * KIBIBYTE


def _exporters() -> Rule:
    known = distinct_from(*EXPORTERS)

    def accepts(names: tuple[str, ...]) -> bool:
        return known.accepts(names) and ("none" not in names or names == ("none",))

    return Rule(accepts, f"none, or a list of {', '.join(EXPORTERS[1:])}, each at most once")


def _url() -> Rule:
    return Rule(lambda text: text.startswith(("http://", "https://")), "a URL that begins with http:// or https://")


def _pairs() -> Rule:
    def accepts(text: str) -> bool:
        return all("=" in pair and pair.split("=", 1)[0].strip() for pair in text.split(",") if pair.strip())

    return Rule(accepts, "name=value pairs, separated by commas")


BOUNDS = (
    ConfigKey(
        "trace.max.traces",
        ConfigType.INT,
        10_000,
        "Tidegate's own key. How many traces the broker keeps in memory, each of one record; the oldest goes first.",
        between(1, 1_000_000),
        dynamic=False,
    ),
    ConfigKey(
        "trace.max.events.per.trace",
        ConfigType.INT,
        64,
        "Tidegate's own key. How many events of one trace are kept; later ones are counted.",
        between(1, 10_000),
        dynamic=False,
    ),
    ConfigKey(
        "trace.max.per.second",
        ConfigType.INT,
        200,
        "Tidegate's own key. How many traces are begun per second over all topics; what comes beyond, also with a "
        "sampled `traceparent`, is stored as ever and only counted. Records that topics sample take half of it at "
        "most. A trace costs the broker some 0.1 ms of CPU time in all.",
        between(1, INT_MAX),
        dynamic=False,
    ),
    ConfigKey(
        "trace.compressed.batch.max.bytes",
        ConfigType.INT,
        64 * KIBIBYTE,
        "Tidegate's own key. Compressed batches up to this size are opened to look for `traceparent`; 0 opens none. "
        "A batch that was opened for another reason is looked through whatever its size.",
        at_least(0),
        dynamic=False,
    ),
    ConfigKey(
        "trace.compressed.bytes.per.second",
        ConfigType.INT,
        2 * MEBIBYTE,
        "Tidegate's own key. How many bytes of compressed batches are opened per second to look for `traceparent`; "
        "what comes beyond is not looked at, and counted.",
        at_least(0),
        dynamic=False,
    ),
)

EVENTS_TOPIC = (
    ConfigKey(
        "trace.events.topic.enable",
        ConfigType.BOOLEAN,
        True,
        "Tidegate's own key. Whether the events of traces are written to the topic `__trace_events`, as JSON.",
        dynamic=False,
    ),
    ConfigKey(
        "trace.events.topic.retention.ms",
        ConfigType.LONG,
        HOUR_MS,
        "Tidegate's own key. How long that topic keeps events, in milliseconds; taken when the topic is made.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "trace.events.topic.segment.bytes",
        ConfigType.INT,
        8 * MEBIBYTE,
        "Tidegate's own key. The size of a segment file of that topic, in bytes; taken when the topic is made.",
        at_least(MEBIBYTE),
        dynamic=False,
    ),
    ConfigKey(
        "trace.events.queue.size",
        ConfigType.INT,
        10_000,
        "Tidegate's own key. How many events may wait to be written to that topic; more are dropped and counted.",
        at_least(1),
        dynamic=False,
    ),
)

EXPORT = (
    ConfigKey(
        "trace.exporter",
        ConfigType.LIST,
        ("none",),
        "Tidegate's own key. Where spans go: `otlp-http` and `otlp-grpc` to an OpenTelemetry collector (Jaeger and "
        "Tempo are such), `console` to standard error, `file` to a file of JSON lines. All but `file` need "
        "`pip install tidegate[otlp]`.",
        _exporters(),
        dynamic=False,
    ),
    ConfigKey(
        "trace.exporter.otlp.http.endpoint",
        ConfigType.STRING,
        "http://127.0.0.1:4318/v1/traces",
        "Tidegate's own key. Where `otlp-http` posts spans: the whole URL.",
        _url(),
        dynamic=False,
    ),
    ConfigKey(
        "trace.exporter.otlp.grpc.endpoint",
        ConfigType.STRING,
        "http://127.0.0.1:4317",
        "Tidegate's own key. Where `otlp-grpc` sends spans; `https` means TLS.",
        _url(),
        dynamic=False,
    ),
    ConfigKey(
        "trace.exporter.otlp.headers",
        ConfigType.PASSWORD,
        "",
        "Tidegate's own key. Headers for both, `name=value` pairs separated by commas; for an API key.",
        _pairs(),
        dynamic=False,
        sensitive=True,
    ),
    ConfigKey(
        "trace.exporter.otlp.timeout.ms",
        ConfigType.INT,
        10_000,
        "Tidegate's own key. How long one export may take, in milliseconds.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "trace.exporter.file.path",
        ConfigType.STRING,
        "traces.jsonl",
        "Tidegate's own key. The file that `file` writes, a line of OTLP JSON per export; a relative path begins in "
        "the data directory.",
        Rule(bool, "a path"),
        dynamic=False,
    ),
    ConfigKey(
        "trace.exporter.file.max.bytes",
        ConfigType.LONG,
        16 * MEBIBYTE,
        "Tidegate's own key. The size at which that file is put aside and a new one begun, in bytes.",
        at_least(KIBIBYTE),
        dynamic=False,
    ),
    ConfigKey(
        "trace.exporter.file.max.files",
        ConfigType.INT,
        5,
        "Tidegate's own key. How many files that were put aside are kept, as `.1`, `.2` and so on.",
        between(0, 1000),
        dynamic=False,
    ),
    ConfigKey(
        "trace.exporter.queue.size",
        ConfigType.INT,
        4096,
        "Tidegate's own key. How many spans may wait for each exporter; more are dropped and counted.",
        at_least(1),
        dynamic=False,
    ),
    ConfigKey(
        "trace.service.name",
        ConfigType.STRING,
        "tidegate",
        "Tidegate's own key. The broker's `service.name` in its spans.",
        Rule(bool, "a name"),
        dynamic=False,
    ),
)

TRACING_KEYS = (*BOUNDS, *EVENTS_TOPIC, *EXPORT)
