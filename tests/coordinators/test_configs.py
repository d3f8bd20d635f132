"""Altering and describing configs, with Kafka's rules and errors."""

from typing import Any

import pytest

from coordinators.configs import AlterOperation, ConfigAlteration, ConfigResource, ResourceType
from engine.catalogue.records import broker_configs_key, decode_configs
from engine.config.resolve import ConfigSource
from engine.errors import BrokerError, InvalidConfig, InvalidRequest, InvalidTopic, UnknownTopicOrPartition

TOPIC = ConfigResource(ResourceType.TOPIC, "t")
NODE = ConfigResource(ResourceType.BROKER, "1")
ALL_NODES = ConfigResource(ResourceType.BROKER, "")
SET, DELETE, APPEND, SUBTRACT = AlterOperation


def alter(desk: Any, resource: ConfigResource, *alterations: ConfigAlteration) -> None:
    desk.run(desk.topics.plan_alter_configs([(resource, alterations)]))


def replace(desk: Any, resource: ConfigResource, configs: dict[str, str | None]) -> None:
    desk.run(desk.topics.plan_replace_configs([(resource, configs)]))


def overrides(desk: Any) -> dict[str, str]:
    return dict(desk.topics.by_name["t"].config.overrides)


def described(desk: Any, resource: ConfigResource, name: str) -> Any:
    (entry,) = desk.topics.describe_configs(resource, [name])
    return entry


def test_a_setting_is_in_force_at_once_and_after_a_restart(desk: Any) -> None:
    desk.create("t", 1, {"segment.ms": "9"})
    alter(desk, TOPIC, ConfigAlteration("retention.ms", SET, "5"))
    assert desk.topics.by_name["t"].config["retention.ms"] == 5
    assert overrides(desk) == {"segment.ms": "9", "retention.ms": "5"}
    desk.restart()
    assert overrides(desk) == {"segment.ms": "9", "retention.ms": "5"}


def test_a_deleted_setting_falls_back_to_what_it_inherits(desk: Any) -> None:
    desk.create("t", 1, {"retention.ms": "5"})
    alter(desk, TOPIC, ConfigAlteration("retention.ms", DELETE), ConfigAlteration("segment.ms", DELETE))
    assert desk.topics.by_name["t"].config["retention.ms"] == 604_800_000
    assert overrides(desk) == {}


def test_a_list_is_appended_to_and_subtracted_from(desk: Any) -> None:
    desk.create("t")
    alter(desk, TOPIC, ConfigAlteration("cleanup.policy", APPEND, "compact"))
    assert overrides(desk) == {"cleanup.policy": "delete,compact"}
    alter(desk, TOPIC, ConfigAlteration("cleanup.policy", APPEND, "compact"))
    assert overrides(desk) == {"cleanup.policy": "delete,compact"}
    alter(desk, TOPIC, ConfigAlteration("cleanup.policy", SUBTRACT, "delete"))
    assert overrides(desk) == {"cleanup.policy": "compact"}


@pytest.mark.parametrize(
    ("alterations", "error", "message"),
    [
        ([("no.such", SET, "1")], InvalidConfig, "Unknown topic config name: no.such"),
        ([("retention.ms", SET, "x")], InvalidConfig, "retention.ms: must be"),
        ([("retention.ms", SET, None)], InvalidRequest, "Null value not supported for : retention.ms"),
        ([("retention.ms", APPEND, "1")], InvalidConfig, "append is not allowed for config key: retention.ms"),
        ([("retention.ms", SUBTRACT, "1")], InvalidConfig, "subtract is not allowed"),
        ([("cleanup.policy", APPEND, "purge")], InvalidConfig, "cleanup.policy: must be"),
        ([("retention.ms", 9, "1")], InvalidRequest, "Unknown config operation 9"),
        ([("retention.ms", SET, "1"), ("retention.ms", DELETE, None)], InvalidRequest, "duplicate config keys"),
        (
            [("retention.ms", SET, "1"), ("min.compaction.lag.ms", SET, "9"), ("max.compaction.lag.ms", SET, "1")],
            InvalidConfig,
            "min.compaction.lag.ms: must be at most",
        ),
        (
            [("priority.enable", SET, "true"), ("cleanup.policy", APPEND, "compact")],
            InvalidConfig,
            "priority.enable: a compacted topic cannot be prioritised, and cleanup.policy is delete,compact",
        ),
    ],
)
def test_an_alteration_that_cannot_be_is_refused_whole(
    desk: Any, alterations: list[tuple[str, int, str | None]], error: type[BrokerError], message: str
) -> None:
    desk.create("t")
    plan = desk.topics.plan_alter_configs([(TOPIC, [ConfigAlteration(*each) for each in alterations])])
    assert plan.empty
    with pytest.raises(error, match=message):
        raise plan.results[0]


def test_a_prioritised_topic_is_not_made_a_compacted_one_nor_the_reverse(desk: Any) -> None:
    desk.create("t", 1, {"priority.enable": "true"})
    with pytest.raises(InvalidConfig, match=r"priority\.enable: a compacted topic cannot be prioritised"):
        alter(desk, TOPIC, ConfigAlteration("cleanup.policy", SET, "compact"))
    replace(desk, TOPIC, {"cleanup.policy": "compact"})
    with pytest.raises(InvalidConfig, match=r"priority\.enable: a compacted topic cannot be prioritised"):
        alter(desk, TOPIC, ConfigAlteration("priority.enable", SET, "true"))


def test_replacing_drops_what_is_not_given(desk: Any) -> None:
    desk.create("t", 1, {"retention.ms": "5", "segment.ms": "9"})
    replace(desk, TOPIC, {"segment.ms": "8"})
    assert overrides(desk) == {"segment.ms": "8"}
    replace(desk, TOPIC, {})
    assert overrides(desk) == {}


def test_replacing_refuses_what_cannot_be(desk: Any) -> None:
    desk.create("t")
    with pytest.raises(InvalidConfig):
        replace(desk, TOPIC, {"retention.ms": "x"})
    with pytest.raises(InvalidRequest, match="Null value not supported"):
        replace(desk, TOPIC, {"retention.ms": None})


def test_nothing_to_change_is_no_transaction(desk: Any) -> None:
    desk.create("t", 1, {"retention.ms": "5"})
    plan = desk.topics.plan_alter_configs([(TOPIC, [ConfigAlteration("retention.ms", SET, "5")])])
    assert plan.results == (TOPIC,)
    assert plan.empty


def test_a_broker_setting_reaches_the_topics_that_inherit_it(desk: Any) -> None:
    desk.create("t")
    desk.create("own", 1, {"retention.ms": "5"})
    plan = desk.topics.plan_alter_configs([(NODE, [ConfigAlteration("log.retention.ms", SET, "7")])])
    updates = desk.commit(plan.commit)
    assert [update.after.name for update in updates] == ["t"]
    assert desk.topics.by_name["t"].config["retention.ms"] == 7
    assert desk.topics.by_name["own"].config["retention.ms"] == 5
    assert desk.restart().by_name["t"].config["retention.ms"] == 7


def test_a_setting_of_this_node_goes_before_one_of_all_nodes(desk: Any) -> None:
    alter(desk, ALL_NODES, ConfigAlteration("log.segment.bytes", SET, "2000000"))
    assert desk.topics.settings["log.segment.bytes"] == 2_000_000
    alter(desk, NODE, ConfigAlteration("log.segment.bytes", SET, "3000000"))
    assert desk.topics.settings["log.segment.bytes"] == 3_000_000
    alter(desk, NODE, ConfigAlteration("log.segment.bytes", DELETE))
    assert desk.topics.settings["log.segment.bytes"] == 2_000_000


def test_a_topic_can_be_altered_after_a_broker_setting_reached_it(desk: Any) -> None:
    desk.create("t")
    alter(desk, NODE, ConfigAlteration("log.retention.ms", SET, "7"))
    alter(desk, TOPIC, ConfigAlteration("retention.ms", SET, "5"))
    assert desk.topics.by_name["t"].config["retention.ms"] == 5


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("num.partitions", "5", "Cannot update these configs dynamically: num.partitions"),
        ("no.such", "5", "Unknown broker config name: no.such"),
        ("log.segment.bytes", "x", "log.segment.bytes: must be"),
        ("log.cleaner.max.compaction.lag.ms", "0", "must be"),
    ],
)
def test_a_broker_setting_that_cannot_be_is_an_invalid_request(desk: Any, name: str, value: str, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        alter(desk, NODE, ConfigAlteration(name, SET, value))
    with pytest.raises(InvalidRequest, match=message):
        replace(desk, NODE, {name: value})


def test_broker_settings_that_contradict_each_other_are_refused(desk: Any) -> None:
    alter(desk, NODE, ConfigAlteration("log.cleaner.max.compaction.lag.ms", SET, "5"))
    with pytest.raises(InvalidRequest, match=r"min\.compaction\.lag\.ms"):
        alter(desk, NODE, ConfigAlteration("log.cleaner.min.compaction.lag.ms", SET, "6"))


@pytest.mark.parametrize(
    ("resource", "error", "message"),
    [
        (ConfigResource(2, "none"), UnknownTopicOrPartition, "The topic 'none' does not exist"),
        (ConfigResource(4, "7"), InvalidRequest, "expected 1 or empty string, but received 7"),
        (ConfigResource(4, "x"), InvalidRequest, "Node id must be an integer, but it is: x"),
        (ConfigResource(8, "1"), InvalidRequest, "resource type 8"),
    ],
)
def test_what_has_no_configs_is_refused(
    desk: Any, resource: ConfigResource, error: type[BrokerError], message: str
) -> None:
    with pytest.raises(error, match=message):
        alter(desk, resource)
    with pytest.raises(error, match=message):
        replace(desk, resource, {})
    with pytest.raises(error, match=message):
        desk.topics.describe_configs(resource)


def test_a_topic_without_a_name_is_refused_as_kafka_does_it(desk: Any) -> None:
    nameless = ConfigResource(2, "")
    with pytest.raises(InvalidRequest, match="Default topic resources are not allowed"):
        alter(desk, nameless)
    with pytest.raises(InvalidTopic, match="the empty string is not allowed"):
        desk.topics.describe_configs(nameless)


def test_a_resource_appears_once_per_request(desk: Any) -> None:
    desk.create("t")
    plan = desk.topics.plan_alter_configs([(TOPIC, []), (TOPIC, [])])
    assert [str(result) for result in plan.results] == ["Each resource must appear at most once."] * 2
    plan = desk.topics.plan_replace_configs([(TOPIC, {}), (TOPIC, {})])
    assert [type(result) for result in plan.results] == [InvalidRequest] * 2


def test_a_refused_resource_leaves_the_others_of_its_request_alone(desk: Any) -> None:
    desk.create("t")
    none = ConfigResource(ResourceType.TOPIC, "none")
    alteration = [ConfigAlteration("retention.ms", SET, "5")]
    plan = desk.topics.plan_alter_configs([(none, alteration), (TOPIC, alteration)])
    desk.commit(plan.commit)
    assert isinstance(plan.results[0], UnknownTopicOrPartition)
    assert overrides(desk) == {"retention.ms": "5"}


def test_a_topic_is_described_with_the_source_of_each_value(desk: Any) -> None:
    desk.restart({"log.segment.bytes": 2_000_000})
    desk.create("t", 1, {"retention.ms": "5"})
    assert described(desk, TOPIC, "retention.ms").source is ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert described(desk, TOPIC, "segment.bytes").source is ConfigSource.STATIC_BROKER_CONFIG
    assert described(desk, TOPIC, "segment.ms").source is ConfigSource.DEFAULT_CONFIG


def test_this_node_is_described_with_its_read_only_keys(desk: Any) -> None:
    alter(desk, NODE, ConfigAlteration("log.segment.bytes", SET, "2000000"))
    entry = described(desk, NODE, "log.segment.bytes")
    assert (entry.text, entry.source.name, entry.read_only) == ("2000000", "DYNAMIC_BROKER_CONFIG", False)
    assert described(desk, NODE, "num.partitions").read_only


def test_all_keys_are_described_if_none_is_named(desk: Any) -> None:
    desk.create("t")
    assert len(desk.topics.describe_configs(TOPIC)) == len(desk.topics.describe_configs(TOPIC, [])) > 25
    assert desk.topics.describe_configs(TOPIC, ["no.such"]) == []
    assert desk.topics.describe_configs(ALL_NODES) == []


def test_only_a_node_itself_tells_its_configs_and_any_node_alters_them(desk: Any) -> None:
    other = ConfigResource(ResourceType.BROKER, "2")
    rate = ConfigAlteration("leader.replication.throttled.rate", SET, "1000")
    with pytest.raises(InvalidRequest, match="expected 1 or empty string, but received 2"):
        desk.topics.describe_configs(other)
    (refused,) = desk.topics.plan_alter_configs([(other, [rate])], {1, 3}).results
    assert isinstance(refused, InvalidRequest)
    for value in ("1000", "2000"):
        altered = ConfigAlteration(rate.name, SET, value)
        assert desk.commit(desk.topics.plan_alter_configs([(other, [altered])], {1, 2}).commit) == []
    assert decode_configs(desk.catalogue.get(broker_configs_key(2))) == {rate.name: "2000"}
    assert desk.topics.settings[rate.name] == 2**63 - 1
    desk.commit(desk.topics.plan_replace_configs([(other, {})], {1, 2}).commit)
    assert decode_configs(desk.catalogue.get(broker_configs_key(2))) == {}
