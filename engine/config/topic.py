"""The topic keys: what may be set on a topic, with Kafka's names, types and defaults.

Each key names the broker keys that give it its default, as Kafka pairs them.
"""

from collections.abc import Mapping

from engine.config.keys import (
    LONG_MAX,
    BrokerSynonym,
    ConfigKey,
    ConfigType,
    Effect,
    Importance,
    Rule,
    Value,
    at_least,
    between,
    by_name,
    distinct_from,
    one_of,
)
from engine.config.topic_extensions import EXTENSIONS, LETTERS, TRACING
from engine.config.topic_schemas import SCHEMAS
from engine.errors import InvalidConfig

MEBIBYTE = 2**20
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

SEGMENT_BYTES = 64 * MEBIBYTE
SEGMENT_BYTES_REASON = (
    "64 MiB instead of 1 GiB bounds how much index is rebuilt after a crash and lets retention free space "
    "in smaller steps."
)
COMPRESSION_TYPES = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
FLUSH_MODES = ("sync", "os")
MESSAGE_VALIDATIONS = ("structure", "header")


def _throttled_replicas() -> Rule:
    def one(item: str) -> bool:
        partition, _, broker = item.partition(":")
        return partition.isdecimal() and broker.isdecimal()

    def accepts(items: tuple[str, ...]) -> bool:
        return items == ("*",) or all(one(item) for item in items)

    return Rule(accepts, "a list of partition:broker pairs, or *, or empty")


def _gzip_level() -> Rule:
    return Rule(lambda value: value == -1 or 1 <= value <= 9, "between 1 and 9, or -1 for the codec's default")


def _synonyms(*names: str) -> tuple[BrokerSynonym, ...]:
    return tuple(BrokerSynonym(name) for name in names)


CLEANUP = (
    ConfigKey(
        "cleanup.policy",
        ConfigType.LIST,
        ("delete",),
        "What happens to old records: `delete` drops whole segments by age and size, `compact` keeps "
        "the last "
        "record of every key, both do both, and an empty list keeps everything.",
        distinct_from("compact", "delete"),
        synonyms=_synonyms("log.cleanup.policy"),
    ),
    ConfigKey(
        "retention.ms",
        ConfigType.LONG,
        7 * DAY_MS,
        "How long records are kept under the policy `delete`, in milliseconds; -1 is for ever.",
        at_least(-1),
        synonyms=(
            BrokerSynonym("log.retention.ms"),
            BrokerSynonym("log.retention.minutes", MINUTE_MS),
            BrokerSynonym("log.retention.hours", HOUR_MS),
        ),
    ),
    ConfigKey(
        "retention.bytes",
        ConfigType.LONG,
        -1,
        "How large a partition may grow under the policy `delete` before its oldest segments go; -1 is no limit.",
        synonyms=_synonyms("log.retention.bytes"),
    ),
    ConfigKey(
        "delete.retention.ms",
        ConfigType.LONG,
        DAY_MS,
        "How long a tombstone stays readable in a compacted topic, in milliseconds.",
        at_least(0),
        synonyms=_synonyms("log.cleaner.delete.retention.ms"),
    ),
    ConfigKey(
        "min.compaction.lag.ms",
        ConfigType.LONG,
        0,
        "A record younger than this is not compacted, in milliseconds.",
        at_least(0),
        synonyms=_synonyms("log.cleaner.min.compaction.lag.ms"),
    ),
    ConfigKey(
        "max.compaction.lag.ms",
        ConfigType.LONG,
        LONG_MAX,
        "A record older than this makes its partition due for compaction whatever the dirty ratio, in milliseconds.",
        at_least(1),
        synonyms=_synonyms("log.cleaner.max.compaction.lag.ms"),
    ),
    ConfigKey(
        "min.cleanable.dirty.ratio",
        ConfigType.DOUBLE,
        0.5,
        "The share of a partition not yet compacted at which compaction starts.",
        between(0, 1),
        synonyms=_synonyms("log.cleaner.min.cleanable.ratio"),
    ),
    ConfigKey(
        "file.delete.delay.ms",
        ConfigType.LONG,
        MINUTE_MS,
        "How long the files of a dropped segment are kept before they are removed, in milliseconds.",
        at_least(0),
        importance=Importance.LOW,
        synonyms=_synonyms("log.segment.delete.delay.ms"),
    ),
)

RECORDS = (
    ConfigKey(
        "max.message.bytes",
        ConfigType.INT,
        MEBIBYTE + 12,
        "The largest record batch taken, in bytes.",
        at_least(0),
        synonyms=_synonyms("message.max.bytes"),
    ),
    ConfigKey(
        "max.message.records",
        ConfigType.INT,
        1_000_000,
        "Tidegate's own key. How many records a batch may hold; one of more is refused before it is opened, however "
        "small it is compressed. The default is the most that librdkafka puts into a batch (`batch.num.messages`).",
        at_least(1),
        synonyms=_synonyms("log.max.message.records"),
    ),
    ConfigKey(
        "message.validation",
        ConfigType.STRING,
        "structure",
        "Tidegate's own key. How closely a client's batch is looked at before it is stored. `structure` reads over all "
        "of its records, as Kafka does: as many as the header counts, offset deltas 0, 1, 2, ..., lengths that add up "
        "to the last byte; a batch that no consumer could read past is refused. `header` believes what the header says "
        "of them, and compressed batches are opened only where another key asks for it.",
        one_of(*MESSAGE_VALIDATIONS),
        synonyms=_synonyms("log.message.validation"),
    ),
    ConfigKey(
        "compression.type",
        ConfigType.STRING,
        "producer",
        "The codec that batches are stored in: `producer` keeps what the producer chose, another name recompresses.",
        one_of(*COMPRESSION_TYPES),
        synonyms=_synonyms("compression.type"),
    ),
    ConfigKey(
        "compression.gzip.level",
        ConfigType.INT,
        -1,
        "The level used when batches are recompressed with gzip.",
        _gzip_level(),
        synonyms=_synonyms("compression.gzip.level"),
    ),
    ConfigKey(
        "compression.lz4.level",
        ConfigType.INT,
        9,
        "The level used when batches are recompressed with lz4.",
        between(1, 17),
        synonyms=_synonyms("compression.lz4.level"),
    ),
    ConfigKey(
        "compression.zstd.level",
        ConfigType.INT,
        3,
        "The level used when batches are recompressed with zstd.",
        between(-131072, 22),
        synonyms=_synonyms("compression.zstd.level"),
    ),
    ConfigKey(
        "message.timestamp.type",
        ConfigType.STRING,
        "CreateTime",
        "Whether a record's time is the producer's (`CreateTime`) or that of the append (`LogAppendTime`).",
        one_of("CreateTime", "LogAppendTime"),
        synonyms=_synonyms("log.message.timestamp.type"),
    ),
    ConfigKey(
        "message.timestamp.before.max.ms",
        ConfigType.LONG,
        LONG_MAX,
        "How far a record's create time may lie before the broker's clock, in milliseconds; "
        "without effect under `LogAppendTime`.",
        at_least(0),
        synonyms=_synonyms("log.message.timestamp.before.max.ms"),
    ),
    ConfigKey(
        "message.timestamp.after.max.ms",
        ConfigType.LONG,
        HOUR_MS,
        "How far a record's create time may lie after the broker's clock, in milliseconds; "
        "without effect under `LogAppendTime`.",
        at_least(0),
        synonyms=_synonyms("log.message.timestamp.after.max.ms"),
    ),
)

SEGMENTS = (
    ConfigKey(
        "segment.bytes",
        ConfigType.INT,
        SEGMENT_BYTES,
        "The size at which a new segment file is begun, in bytes.",
        at_least(MEBIBYTE),
        default_reason=SEGMENT_BYTES_REASON,
        synonyms=_synonyms("log.segment.bytes"),
    ),
    ConfigKey(
        "segment.ms",
        ConfigType.LONG,
        7 * DAY_MS,
        "The age at which a new segment file is begun even if the old one is not full, in milliseconds.",
        at_least(1),
        synonyms=(BrokerSynonym("log.roll.ms"), BrokerSynonym("log.roll.hours", HOUR_MS)),
    ),
    ConfigKey(
        "segment.jitter.ms",
        ConfigType.LONG,
        0,
        "The most by which `segment.ms` is shortened at random, so that partitions do not all roll at once. "
        "Rolling costs one file here and is not jittered.",
        at_least(0),
        effect=Effect.NONE,
        synonyms=(BrokerSynonym("log.roll.jitter.ms"), BrokerSynonym("log.roll.jitter.hours", HOUR_MS)),
    ),
    ConfigKey(
        "segment.index.bytes",
        ConfigType.INT,
        10 * MEBIBYTE,
        "The largest size of an index file, in bytes. Index files grow as needed here and are not preallocated.",
        at_least(4),
        effect=Effect.NONE,
        synonyms=_synonyms("log.index.size.max.bytes"),
    ),
    ConfigKey(
        "index.interval.bytes",
        ConfigType.INT,
        4096,
        "About how many bytes of log lie between two entries of the offset index.",
        at_least(0),
        synonyms=_synonyms("log.index.interval.bytes"),
    ),
    ConfigKey(
        "preallocate",
        ConfigType.BOOLEAN,
        False,
        "Whether a segment file gets its whole size at once. Segment files always grow with what is appended here.",
        effect=Effect.NONE,
        synonyms=_synonyms("log.preallocate"),
    ),
)

DURABILITY = (
    ConfigKey(
        "flush.mode",
        ConfigType.STRING,
        "sync",
        "Tidegate's own key. `sync`: every append is synced to disk before `acks=all` is answered "
        "and before anybody "
        "reads it. `os`: the operating system writes when it likes, as Kafka does by default; a "
        "power cut may lose "
        "acknowledged records.",
        one_of(*FLUSH_MODES),
        importance=Importance.HIGH,
        synonyms=_synonyms("log.flush.mode"),
    ),
    ConfigKey(
        "flush.messages",
        ConfigType.LONG,
        LONG_MAX,
        "After how many records Kafka forces a sync. `flush.mode` decides here: `sync` is stricter "
        "than any value, "
        "`os` leaves it to the operating system.",
        at_least(1),
        effect=Effect.NONE,
        synonyms=_synonyms("log.flush.interval.messages"),
    ),
    ConfigKey(
        "flush.ms",
        ConfigType.LONG,
        LONG_MAX,
        "After how long Kafka forces a sync, in milliseconds. `flush.mode` decides here.",
        at_least(0),
        effect=Effect.NONE,
        synonyms=_synonyms("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    ),
)

REPLICATION = (
    ConfigKey(
        "min.insync.replicas",
        ConfigType.INT,
        1,
        "How many replicas must have a record before `acks=all` is answered; with fewer in sync such "
        "a produce is refused. A value above the number of replicas counts as that number, as in Kafka. In a "
        "cluster the default is 2.",
        at_least(1),
        synonyms=_synonyms("min.insync.replicas"),
    ),
    ConfigKey(
        "unclean.leader.election.enable",
        ConfigType.BOOLEAN,
        False,
        "Whether a replica that was not in sync may become leader, at the price of lost records.",
        effect=Effect.NONE_ON_ONE_NODE,
        importance=Importance.HIGH,
        synonyms=_synonyms("unclean.leader.election.enable"),
    ),
    ConfigKey(
        "leader.replication.throttled.replicas",
        ConfigType.LIST,
        (),
        "The replicas that are throttled while they catch up, on the leader's side: partition and number of the "
        "leader, or `*` for all. `leader.replication.throttled.rate` of that node says how fast they may.",
        _throttled_replicas(),
        effect=Effect.NONE_ON_ONE_NODE,
    ),
    ConfigKey(
        "follower.replication.throttled.replicas",
        ConfigType.LIST,
        (),
        "The same on the follower's side: partition and number of the follower, or `*` for all; the rate is "
        "`follower.replication.throttled.rate`.",
        _throttled_replicas(),
        effect=Effect.NONE_ON_ONE_NODE,
    ),
)

TOPIC_KEYS: dict[str, ConfigKey] = by_name(
    (*CLEANUP, *RECORDS, *SEGMENTS, *DURABILITY, *REPLICATION, *LETTERS, *TRACING, *EXTENSIONS, *SCHEMAS)
)


def topic_key(name: str) -> ConfigKey:
    try:
        return TOPIC_KEYS[name]
    except KeyError:
        raise InvalidConfig(f"Unknown topic config name: {name}") from None


def parse_topic_overrides(overrides: Mapping[str, str]) -> dict[str, Value]:
    """The values of a topic's own settings; `InvalidConfig` for an unknown key or a bad value."""
    return {name: topic_key(name).parse(text) for name, text in overrides.items()}


def is_topic_setting(name: str, text: str) -> bool:
    """Whether the key exists and takes this value."""
    try:
        topic_key(name).parse(text)
    except InvalidConfig:
        return False
    return True


def check_topic_values(values: Mapping[str, Value]) -> None:
    """The rules that concern several keys of one topic at once; `values` are those in force."""
    least, most = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    assert isinstance(least, int)
    assert isinstance(most, int)
    if least > most:
        raise InvalidConfig(
            f"Invalid value '{least}' for configuration min.compaction.lag.ms: must be at most "
            f"max.compaction.lag.ms, which is {most}"
        )
    policy = values["cleanup.policy"]
    assert isinstance(policy, tuple)
    if values["priority.enable"] == "true" and "compact" in policy:
        raise InvalidConfig(
            "Invalid value 'true' for configuration priority.enable: a compacted topic cannot be prioritised, "
            f"and cleanup.policy is {','.join(policy)}"
        )
