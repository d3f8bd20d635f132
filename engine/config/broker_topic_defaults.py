"""The broker keys that give topics their defaults (`log.segment.bytes` for `segment.bytes`, ...).

Most take their type, default, rule and meaning from the topic key, so that the two cannot drift apart.
As in Kafka, the strongest of several spellings (`log.retention.ms`) may be altered while the broker runs,
the weaker ones (`log.retention.hours`) only in its own configuration.
"""

from attrs import evolve

from engine.config.keys import ConfigKey, ConfigType, Rule, Value, at_least
from engine.config.topic import HOUR_MS, TOPIC_KEYS
from engine.config.topic_extensions import EXTENSIONS as EXTENSION_TOPIC_KEYS
from engine.config.topic_extensions import TRACING as TRACING_TOPIC_KEYS


def _default_for(topic_name: str, *, unset: bool = False) -> ConfigKey:
    """The strongest broker key behind a topic key; `unset` if a weaker spelling holds the default."""
    topic = TOPIC_KEYS[topic_name]
    return evolve(
        topic,
        name=topic.synonyms[0].name,
        default=None if unset else topic.default,
        documentation=f"The default of the topic key `{topic_name}`: {topic.documentation}",
        synonyms=(),
    )


def _weaker(name: str, type_: ConfigType, default: Value, topic_name: str, unit: str, rule: Rule) -> ConfigKey:
    topic = TOPIC_KEYS[topic_name]
    stronger = [synonym.name for synonym in topic.synonyms]
    stronger = stronger[: stronger.index(name)]
    return ConfigKey(
        name,
        type_,
        default,
        f"The default of the topic key `{topic_name}` in {unit}, unless `{'` or `'.join(stronger)}` is set.",
        rule,
        dynamic=False,
        effect=topic.effect,
    )


def _forever_or_positive() -> Rule:
    return Rule(lambda value: value == -1 or value >= 1, "at least 1, or -1 for ever")


def _retention_ms() -> ConfigKey:
    # As in Kafka, 0 is legal on a topic but not as the broker's default.
    return evolve(_default_for("retention.ms", unset=True), rule=_forever_or_positive())


RETENTION = (
    _retention_ms(),
    _weaker("log.retention.minutes", ConfigType.INT, None, "retention.ms", "minutes", _forever_or_positive()),
    _weaker("log.retention.hours", ConfigType.INT, 168, "retention.ms", "hours", _forever_or_positive()),
    *(
        _default_for(name)
        for name in (
            "retention.bytes",
            "cleanup.policy",
            "delete.retention.ms",
            "min.compaction.lag.ms",
            "max.compaction.lag.ms",
            "min.cleanable.dirty.ratio",
            "file.delete.delay.ms",
        )
    ),
)

SEGMENTS = (
    _default_for("segment.bytes"),
    _default_for("segment.ms", unset=True),
    _weaker("log.roll.hours", ConfigType.INT, 7 * 24, "segment.ms", "hours", at_least(1)),
    _default_for("segment.jitter.ms", unset=True),
    _weaker("log.roll.jitter.hours", ConfigType.INT, 0, "segment.jitter.ms", "hours", at_least(0)),
    _default_for("segment.index.bytes"),
    _default_for("index.interval.bytes"),
    _default_for("preallocate"),
)

RECORDS = tuple(
    _default_for(name)
    for name in (
        "max.message.bytes",
        "max.message.records",
        "message.validation",
        "compression.type",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "message.timestamp.type",
        "message.timestamp.before.max.ms",
        "message.timestamp.after.max.ms",
    )
)

DURABILITY = (
    _default_for("flush.mode"),
    _default_for("flush.messages"),
    _default_for("flush.ms", unset=True),
    _weaker(
        "log.flush.scheduler.interval.ms",
        ConfigType.LONG,
        TOPIC_KEYS["flush.ms"].default,
        "flush.ms",
        "milliseconds",
        at_least(0),
    ),
    _default_for("min.insync.replicas"),
    _default_for("unclean.leader.election.enable"),
)

EXTENSIONS = tuple(_default_for(key.name) for key in EXTENSION_TOPIC_KEYS if key.synonyms)

TRACING = tuple(_default_for(key.name) for key in TRACING_TOPIC_KEYS)

TOPIC_DEFAULT_KEYS = (*RETENTION, *SEGMENTS, *RECORDS, *DURABILITY, *TRACING, *EXTENSIONS)

assert TOPIC_KEYS["retention.ms"].default == 168 * HOUR_MS
assert TOPIC_KEYS["segment.ms"].default == 168 * HOUR_MS
