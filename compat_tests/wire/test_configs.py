"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: values, where they come from, and refusals."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from kafka.protocol.admin import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)

from compat_tests.waiting import eventually
from compat_tests.wire.connection import ask
from compat_tests.wire.requests import versions_of
from compat_tests.wire.test_topics import this_node

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
OF_TOPIC, OF_BROKER, OF_ALL_BROKERS, STATIC, DEFAULT = 1, 2, 3, 4, 5
UNKNOWN_SERVER_ERROR, UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC, INVALID_CONFIG, INVALID_REQUEST = -1, 3, 17, 40, 42
BOOLEAN, STRING, INT, LONG, DOUBLE, LIST = 1, 2, 3, 5, 6, 7
# Every key of a topic that Kafka 4.3 knows, its type, default, and the broker's key behind it. The default
# is None where Tidegate documents another one (segment.bytes), or where Kafka writes one by itself.
TOPIC_KEYS: dict[str, tuple[int, str | None, str | None]] = {
    "cleanup.policy": (LIST, "delete", "log.cleanup.policy"),
    "compression.gzip.level": (INT, "-1", "compression.gzip.level"),
    "compression.lz4.level": (INT, "9", "compression.lz4.level"),
    "compression.type": (STRING, "producer", "compression.type"),
    "compression.zstd.level": (INT, "3", "compression.zstd.level"),
    "delete.retention.ms": (LONG, "86400000", "log.cleaner.delete.retention.ms"),
    "file.delete.delay.ms": (LONG, "60000", "log.segment.delete.delay.ms"),
    "flush.messages": (LONG, "9223372036854775807", "log.flush.interval.messages"),
    "flush.ms": (LONG, "9223372036854775807", None),
    "index.interval.bytes": (INT, "4096", "log.index.interval.bytes"),
    "max.compaction.lag.ms": (LONG, "9223372036854775807", "log.cleaner.max.compaction.lag.ms"),
    "max.message.bytes": (INT, "1048588", "message.max.bytes"),
    "message.timestamp.after.max.ms": (LONG, "3600000", "log.message.timestamp.after.max.ms"),
    "message.timestamp.before.max.ms": (
        LONG,
        "9223372036854775807",
        "log.message.timestamp.before.max.ms",
    ),
    "message.timestamp.type": (STRING, "CreateTime", "log.message.timestamp.type"),
    "min.cleanable.dirty.ratio": (DOUBLE, "0.5", "log.cleaner.min.cleanable.ratio"),
    "min.compaction.lag.ms": (LONG, "0", "log.cleaner.min.compaction.lag.ms"),
    "min.insync.replicas": (INT, None, "min.insync.replicas"),
    "preallocate": (BOOLEAN, "false", "log.preallocate"),
    "retention.bytes": (LONG, "-1", "log.retention.bytes"),
    "retention.ms": (LONG, "604800000", None),
    "segment.bytes": (INT, None, "log.segment.bytes"),
    "segment.index.bytes": (INT, "10485760", "log.index.size.max.bytes"),
    "segment.jitter.ms": (LONG, "0", None),
    "segment.ms": (LONG, "604800000", None),
    "unclean.leader.election.enable": (BOOLEAN, "false", "unclean.leader.election.enable"),
}
BROKER_KEYS = {
    "auto.create.topics.enable": BOOLEAN,
    "default.replication.factor": INT,
    "log.cleanup.policy": LIST,
    "log.retention.ms": LONG,
    "log.retention.hours": INT,
    "log.segment.bytes": INT,
    "message.max.bytes": INT,
    "num.partitions": INT,
    "advertised.listeners": LIST,
}
MakeTopic = Callable[..., str]


def describe(bootstrap: str, kind: int, name: str, keys: Sequence[str] | None = None, **options: Any) -> Any:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None if keys is None else list(keys)
    )
    request = DescribeConfigsRequest(
        version=options.get("version", 4),
        resources=[resource],
        include_synonyms=options.get("synonyms", True),
        include_documentation=options.get("documentation", False),
    )
    (answer,) = ask(bootstrap, request).results
    assert (answer.resource_type, answer.resource_name) == (kind, name)
    return answer


def configs(bootstrap: str, kind: int, name: str, **options: Any) -> dict[str, Any]:
    answer = describe(bootstrap, kind, name, **options)
    assert answer.error_code == 0
    return {config.name: config for config in answer.configs}


def value_of(bootstrap: str, kind: int, name: str, key: str) -> tuple[str, int]:
    config = configs(bootstrap, kind, name, keys=[key])[key]
    return config.value, config.config_source


def synonyms_of(config: Any) -> list[tuple[str, str, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms]


def change(
    bootstrap: str, kind: int, name: str, *operations: tuple[str, int, str | None], validate: bool = False
) -> int:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    altered = [
        resource.AlterableConfig(name=key, config_operation=operation, value=value)
        for key, operation, value in operations
    ]
    request = IncrementalAlterConfigsRequest(
        version=1,
        resources=[resource(resource_type=kind, resource_name=name, configs=altered)],
        validate_only=validate,
    )
    (answer,) = ask(bootstrap, request).responses
    return int(answer.error_code)


def replace(bootstrap: str, kind: int, name: str, values: dict[str, str | None], version: int = 2) -> int:
    resource = AlterConfigsRequest.AlterConfigsResource
    altered = [resource.AlterableConfig(name=key, value=value) for key, value in values.items()]
    request = AlterConfigsRequest(
        version=version,
        resources=[resource(resource_type=kind, resource_name=name, configs=altered)],
        validate_only=False,
    )
    (answer,) = ask(bootstrap, request).responses
    return int(answer.error_code)


@pytest.mark.parametrize("key", TOPIC_KEYS)
def test_topic_key(bootstrap: str, make_topic: MakeTopic, key: str) -> None:
    kind, default, broker_key = TOPIC_KEYS[key]
    config = configs(bootstrap, TOPIC, make_topic(), keys=[key])[key]
    assert (config.config_type, config.read_only, config.is_sensitive) == (kind, False, False)
    if default is not None:
        assert (config.value, config.config_source) == (default, DEFAULT)
    names = {synonym.name for synonym in config.synonyms}
    if key == "retention.ms":
        # Kafka shows the hours behind it only once a broker's own value has been set and removed again.
        assert names <= {"log.retention.hours"}
    else:
        assert names == ({broker_key} if broker_key else set())


def test_a_topics_own_value(bootstrap: str, make_topic: MakeTopic) -> None:
    config = configs(bootstrap, TOPIC, make_topic(max_message_bytes=5000))["max.message.bytes"]
    assert (config.value, config.config_source) == ("5000", OF_TOPIC)
    assert synonyms_of(config)[0] == ("max.message.bytes", "5000", OF_TOPIC)
    assert ("message.max.bytes", "1048588", DEFAULT) in synonyms_of(config)


@pytest.mark.parametrize("version", range(1, 5))
def test_every_version_describes(bootstrap: str, make_topic: MakeTopic, version: int) -> None:
    topic = make_topic(retention_ms=5000)
    found = configs(bootstrap, TOPIC, topic, version=version)
    assert set(TOPIC_KEYS) <= set(found)
    assert (found["retention.ms"].value, found["retention.ms"].config_source) == ("5000", OF_TOPIC)
    assert versions_of(bootstrap)[32][1] >= version


def test_only_what_is_asked(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert set(configs(bootstrap, TOPIC, topic, keys=["retention.ms", "no.such"])) == {"retention.ms"}
    assert set(configs(bootstrap, TOPIC, topic, keys=[])) == set(configs(bootstrap, TOPIC, topic))
    config = configs(bootstrap, TOPIC, topic, keys=["max.message.bytes"], synonyms=False)["max.message.bytes"]
    assert not config.synonyms


def test_documentation_if_asked(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    config = configs(bootstrap, TOPIC, topic, keys=["retention.ms"], documentation=True)["retention.ms"]
    assert len(config.documentation) > 20
    config = configs(bootstrap, TOPIC, topic, keys=["retention.ms"])["retention.ms"]
    assert not config.documentation


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "no-such-topic", UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "no spaces", INVALID_TOPIC),
        (TOPIC, "", INVALID_TOPIC),
        (BROKER, "4711", INVALID_REQUEST),
        (BROKER, "abc", INVALID_REQUEST),
        (77, "x", INVALID_REQUEST),
    ],
)
def test_what_cannot_be_described(bootstrap: str, kind: int, name: str, code: int) -> None:
    answer = describe(bootstrap, kind, name)
    assert (answer.error_code, answer.configs) == (code, [])


@pytest.mark.parametrize("key", BROKER_KEYS)
def test_broker_key(bootstrap: str, key: str) -> None:
    config = configs(bootstrap, BROKER, str(this_node(bootstrap)), keys=[key])[key]
    assert (config.config_type, config.is_sensitive) == (BROKER_KEYS[key], False)
    assert config.config_source in (STATIC, DEFAULT)


def test_a_broker_key_that_was_given_at_the_start(bootstrap: str) -> None:
    config = configs(bootstrap, BROKER, str(this_node(bootstrap)), keys=["num.partitions"])["num.partitions"]
    assert (config.value, config.config_source, config.read_only) == ("1", STATIC, True)
    assert synonyms_of(config) == [("num.partitions", "1", STATIC), ("num.partitions", "1", DEFAULT)]


def test_set_delete_append_subtract(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()

    def step(key: str, operation: int, value: str | None, expected: tuple[str, int]) -> None:
        assert change(bootstrap, TOPIC, topic, (key, operation, value)) == 0
        eventually(lambda: value_of(bootstrap, TOPIC, topic, key), expected)

    step("segment.ms", SET, "1234567", ("1234567", OF_TOPIC))
    step("segment.ms", DELETE, None, ("604800000", DEFAULT))
    step("cleanup.policy", APPEND, "compact", ("delete,compact", OF_TOPIC))
    step("cleanup.policy", APPEND, "compact", ("delete,compact", OF_TOPIC))
    step("cleanup.policy", SUBTRACT, "delete", ("compact", OF_TOPIC))
    step("retention.ms", DELETE, None, ("604800000", DEFAULT))


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        ([("segment.ms", APPEND, "7")], INVALID_CONFIG),
        ([("no.such.key", SET, "7")], INVALID_CONFIG),
        ([("no.such.key", DELETE, None)], 0),
        ([("segment.ms", SET, "abc")], INVALID_CONFIG),
        ([("segment.ms", SET, None)], INVALID_REQUEST),
        ([("segment.ms", SET, "7"), ("segment.ms", SET, "8")], INVALID_REQUEST),
        ([("segment.ms", SET, "777000"), ("retention.ms", SET, "x")], INVALID_CONFIG),
    ],
)
def test_changes_refused_leave_all_as_it_was(
    bootstrap: str, make_topic: MakeTopic, operations: list[tuple[str, int, str | None]], code: int
) -> None:
    topic = make_topic()
    assert change(bootstrap, TOPIC, topic, *operations) == code
    assert value_of(bootstrap, TOPIC, topic, "segment.ms") == ("604800000", DEFAULT)


def test_changes_of_what_is_not_there(bootstrap: str) -> None:
    operation = ("segment.ms", SET, "7000")
    assert change(bootstrap, TOPIC, "no-such-topic", operation) == UNKNOWN_TOPIC_OR_PARTITION
    assert change(bootstrap, TOPIC, "", operation) == INVALID_REQUEST
    assert change(bootstrap, BROKER, "4711", ("log.retention.ms", SET, "7000")) == INVALID_REQUEST
    assert change(bootstrap, BROKER, "abc", ("log.retention.ms", SET, "7000")) == INVALID_REQUEST
    assert change(bootstrap, 77, "x", operation) == INVALID_REQUEST


def test_validate_only_changes_nothing(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert change(bootstrap, TOPIC, topic, ("segment.ms", SET, "777000"), validate=True) == 0
    assert change(bootstrap, TOPIC, topic, ("segment.ms", SET, "x"), validate=True) == INVALID_CONFIG
    assert value_of(bootstrap, TOPIC, topic, "segment.ms") == ("604800000", DEFAULT)


def test_alter_replaces_all(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms=5000)
    for version in range(3):
        assert replace(bootstrap, TOPIC, topic, {"segment.ms": f"55{version}"}, version) == 0
        eventually(
            lambda: value_of(bootstrap, TOPIC, topic, "segment.ms"),
            (f"55{version}", OF_TOPIC),
        )
    assert value_of(bootstrap, TOPIC, topic, "retention.ms") == ("604800000", DEFAULT)


def test_alter_refused(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert replace(bootstrap, TOPIC, topic, {"no.such.key": "1"}) == INVALID_CONFIG
    assert replace(bootstrap, TOPIC, topic, {"segment.ms": None}) == INVALID_REQUEST
    assert replace(bootstrap, TOPIC, "no-such-topic", {}) == UNKNOWN_TOPIC_OR_PARTITION


@pytest.fixture
def restored(bootstrap: str) -> Iterator[str]:
    """The node's name; what the test changes in the broker's configs is undone."""
    node = str(this_node(bootstrap))
    yield node
    for name, key in ((node, "log.retention.ms"), ("", "log.index.interval.bytes")):
        assert change(bootstrap, BROKER, name, (key, DELETE, None)) == 0
    eventually(lambda: value_of(bootstrap, BROKER, node, "log.index.interval.bytes"), ("4096", DEFAULT))
    eventually(lambda: value_of(bootstrap, BROKER, node, "log.retention.ms")[1], DEFAULT)


def test_a_brokers_key_reaches_its_topics(bootstrap: str, restored: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert change(bootstrap, BROKER, restored, ("log.retention.ms", SET, "99999999")) == 0
    eventually(lambda: value_of(bootstrap, BROKER, restored, "log.retention.ms"), ("99999999", OF_BROKER))
    eventually(lambda: value_of(bootstrap, TOPIC, topic, "retention.ms"), ("99999999", OF_BROKER))
    config = configs(bootstrap, TOPIC, topic, keys=["retention.ms"])["retention.ms"]
    assert synonyms_of(config) == [
        ("log.retention.ms", "99999999", OF_BROKER),
        ("log.retention.hours", "168", DEFAULT),
    ]


def test_a_key_for_all_brokers(bootstrap: str, restored: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert change(bootstrap, BROKER, "", ("log.index.interval.bytes", SET, "8192")) == 0
    eventually(lambda: value_of(bootstrap, TOPIC, topic, "index.interval.bytes"), ("8192", OF_ALL_BROKERS))
    key = "log.index.interval.bytes"
    assert value_of(bootstrap, BROKER, restored, key) == ("8192", OF_ALL_BROKERS)
    assert value_of(bootstrap, BROKER, "", key) == ("8192", OF_ALL_BROKERS)
    config = configs(bootstrap, TOPIC, topic, keys=["index.interval.bytes"])["index.interval.bytes"]
    assert synonyms_of(config) == [(key, "8192", OF_ALL_BROKERS), (key, "4096", DEFAULT)]


@pytest.mark.parametrize(
    ("key", "value"),
    [("num.partitions", "3"), ("auto.create.topics.enable", "false"), ("log.retention.ms", "abc")],
)
def test_broker_keys_that_cannot_be_changed(bootstrap: str, key: str, value: str) -> None:
    assert change(bootstrap, BROKER, str(this_node(bootstrap)), (key, SET, value)) == INVALID_REQUEST
