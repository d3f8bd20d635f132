"""The topic keys are Kafka's, with Kafka's defaults unless a reason is given."""

import pytest

from engine.config.keys import ConfigType
from engine.config.topic import (
    TOPIC_KEYS,
    check_topic_values,
    is_topic_setting,
    parse_topic_overrides,
    topic_key,
)
from engine.config.topic_extensions import EXTENSIONS, LETTERS, TRACING
from engine.config.topic_schemas import SCHEMAS
from engine.errors import InvalidConfig

LONG_MAX = 2**63 - 1
KAFKA_DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.gzip.level": "-1",
    "compression.lz4.level": "9",
    "compression.type": "producer",
    "compression.zstd.level": "3",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": str(LONG_MAX),
    "flush.ms": str(LONG_MAX),
    "follower.replication.throttled.replicas": "",
    "index.interval.bytes": "4096",
    "leader.replication.throttled.replicas": "",
    "max.compaction.lag.ms": str(LONG_MAX),
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": str(LONG_MAX),
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}


@pytest.mark.parametrize("name", KAFKA_DEFAULTS)
def test_a_default_is_kafkas_or_has_a_reason(name: str) -> None:
    key = TOPIC_KEYS[name]
    assert key.format(key.default) == KAFKA_DEFAULTS[name] or key.default_reason


def test_of_what_kafka_does_not_have_all_is_said_to_be_ours() -> None:
    ours = {"flush.mode", "max.message.records", "message.validation", *(key.name for key in EXTENSIONS)}
    ours |= {key.name for key in SCHEMAS if not key.name.startswith("confluent.")}
    later = {key.name for key in (*LETTERS, *SCHEMAS)} - ours
    assert set(TOPIC_KEYS) - set(KAFKA_DEFAULTS) - later - {key.name for key in TRACING} == ours
    assert all(TOPIC_KEYS[name].documentation.startswith("Tidegate's own key. ") for name in ours)


@pytest.mark.parametrize("name", TOPIC_KEYS)
def test_a_default_is_a_value_that_the_key_takes(name: str) -> None:
    key = TOPIC_KEYS[name]
    assert key.parse(key.format(key.default) or "") == key.default


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cleanup.policy", "purge"),
        ("cleanup.policy", "delete,delete"),
        ("compression.gzip.level", "0"),
        ("compression.lz4.level", "18"),
        ("compression.type", "none"),
        ("compression.zstd.level", "23"),
        ("flush.mode", "never"),
        ("leader.replication.throttled.replicas", "0:1,x"),
        ("max.compaction.lag.ms", "0"),
        ("message.timestamp.type", "createtime"),
        ("min.cleanable.dirty.ratio", "1.1"),
        ("min.insync.replicas", "0"),
        ("retention.ms", "-2"),
        ("segment.bytes", "1000"),
        ("segment.ms", "0"),
    ],
)
def test_a_value_that_kafka_refuses_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidConfig, match=name):
        parse_topic_overrides({name: text})
    assert not is_topic_setting(name, text)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("cleanup.policy", "compact,delete", ("compact", "delete")),
        ("cleanup.policy", "", ()),
        ("retention.ms", "-1", -1),
        ("retention.bytes", "-1", -1),
        ("compression.gzip.level", "-1", -1),
        ("leader.replication.throttled.replicas", "0:1,1:2", ("0:1", "1:2")),
        ("follower.replication.throttled.replicas", "*", ("*",)),
    ],
)
def test_a_value_that_kafka_takes_is_taken(name: str, text: str, value: object) -> None:
    assert parse_topic_overrides({name: text}) == {name: value}
    assert is_topic_setting(name, text)


def test_an_unknown_key_is_refused_as_kafka_does() -> None:
    with pytest.raises(InvalidConfig, match=r"^Unknown topic config name: no\.such\.key$"):
        topic_key("no.such.key")


def test_compaction_lags_may_not_cross() -> None:
    with pytest.raises(InvalidConfig, match=r"min\.compaction\.lag\.ms: must be at most"):
        check_topic_values({"min.compaction.lag.ms": 2, "max.compaction.lag.ms": 1})


def test_the_types_of_lists_are_lists() -> None:
    assert TOPIC_KEYS["cleanup.policy"].type is ConfigType.LIST
