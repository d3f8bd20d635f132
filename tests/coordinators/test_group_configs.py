"""What groups are configured to: altered, described, in force at once, kept."""

from typing import Any

import pytest

from coordinators.configs import AlterOperation, ConfigAlteration, ConfigResource, ResourceType
from coordinators.group_configs import GROUP_CONFIGS
from engine.config.resolve import ConfigSource
from engine.errors import BrokerError, InvalidConfig, InvalidRequest, PolicyViolation

GROUP = ConfigResource(ResourceType.GROUP, "g")
SET, DELETE, APPEND, SUBTRACT = AlterOperation


def alter(desk: Any, *alterations: ConfigAlteration, group: str = "g") -> None:
    desk.run(desk.topics.plan_alter_configs([(ConfigResource(ResourceType.GROUP, group), alterations)]))


def set_one(desk: Any, name: str, value: str) -> None:
    alter(desk, ConfigAlteration(name, SET, value))


def described(desk: Any, name: str) -> Any:
    (entry,) = desk.topics.describe_configs(GROUP, [name])
    return entry


def test_a_group_obeys_what_it_has_chosen_at_once_and_after_a_restart(desk: Any) -> None:
    groups = desk.topics.groups
    assert groups.share_settings("g").delivery_count_limit == 5
    set_one(desk, "share.delivery.count.limit", "7")
    assert groups.share_settings("g").delivery_count_limit == 7
    set_one(desk, "share.delivery.count.limit", "8")
    assert groups.share_settings("g").delivery_count_limit == 8
    assert groups.share_settings("other").delivery_count_limit == 5
    desk.restart()
    assert desk.topics.groups.share_settings("g").delivery_count_limit == 8


def test_a_number_is_chosen_only_by_who_chose_it(desk: Any) -> None:
    set_one(desk, "consumer.session.timeout.ms", "50000")
    assert desk.topics.groups.chosen("g", "consumer.session.timeout.ms") == 50_000
    assert desk.topics.groups.chosen("g", "consumer.heartbeat.interval.ms") is None
    assert desk.topics.groups.chosen("other", "consumer.session.timeout.ms") is None


def test_a_group_that_chooses_nothing_any_more_is_forgotten(desk: Any) -> None:
    set_one(desk, "share.order", "key")
    assert list(desk.topics.groups.group_ids()) == ["g"]
    alter(desk, ConfigAlteration("share.order", DELETE))
    assert list(desk.topics.groups.group_ids()) == []
    assert desk.topics.groups.share_settings("g").order_by_key is False
    desk.restart()
    assert list(desk.topics.groups.group_ids()) == []


def test_the_brokers_own_setting_is_what_groups_inherit(desk: Any) -> None:
    desk.restart({"group.share.record.lock.duration.ms": 20_000})
    assert desk.topics.groups.share_settings("g").lock_duration_ms == 20_000
    entry = described(desk, "share.record.lock.duration.ms")
    assert (entry.text, entry.source) == ("20000", ConfigSource.STATIC_BROKER_CONFIG)
    set_one(desk, "share.record.lock.duration.ms", "16000")
    entry = described(desk, "share.record.lock.duration.ms")
    assert (entry.text, entry.source) == ("16000", ConfigSource.DYNAMIC_GROUP_CONFIG)
    assert [(each.name, each.text) for each in entry.synonyms] == [
        ("share.record.lock.duration.ms", "16000"),
        ("group.share.record.lock.duration.ms", "20000"),
        ("group.share.record.lock.duration.ms", "30000"),
    ]


def test_a_key_without_a_broker_key_has_its_own_default_behind_it(desk: Any) -> None:
    set_one(desk, "share.order", "key")
    behind = [(each.name, each.text, each.source) for each in described(desk, "share.order").synonyms]
    assert behind == [
        ("share.order", "key", ConfigSource.DYNAMIC_GROUP_CONFIG),
        ("share.order", "none", ConfigSource.DEFAULT_CONFIG),
    ]


def test_every_key_is_described_whether_or_not_there_is_such_a_group(desk: Any) -> None:
    entries = desk.topics.describe_configs(GROUP)
    assert [entry.key.name for entry in entries] == list(GROUP_CONFIGS)
    assert {entry.source for entry in entries} == {ConfigSource.DEFAULT_CONFIG}
    with pytest.raises(InvalidRequest):
        desk.topics.describe_configs(ConfigResource(ResourceType.GROUP, ""))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("no.such", "1", "Unknown group config name: no.such"),
        ("share.session.timeout.ms", "44999", "must be greater than or equal to group.share.min.session.timeout.ms"),
        ("share.session.timeout.ms", "60001", "must be less than or equal to group.share.max.session.timeout.ms"),
        ("share.delivery.count.limit", "11", "must be less than or equal to group.share.max.delivery.count.limit"),
        ("share.partition.max.record.locks", "4001", "must be less than or equal to group.share.max.partition"),
        ("share.record.lock.duration.ms", "14999", "must be greater than or equal to group.share.min.record.lock"),
        ("consumer.heartbeat.interval.ms", "15001", "must be less than or equal to group.consumer.max.heartbeat"),
        ("share.auto.offset.reset", "none", "must be earliest, latest or by_duration"),
        ("share.auto.offset.reset", "by_duration:-PT1H", "must be earliest, latest or by_duration"),
        ("share.isolation.level", "READ_COMMITTED", "must be one of"),
        ("share.priority.lanes", "urgent", "must be a list of critical"),
        ("share.retry.backoff.multiplier", "0.5", "must be a number, between"),
        ("errors.deadletterqueue.topic.name", "__x", "does not begin with __"),
    ],
)
def test_what_cannot_be_is_refused(desk: Any, name: str, value: str, message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        set_one(desk, name, value)
    assert list(desk.topics.groups.group_ids()) == []


def test_a_session_is_longer_than_the_time_between_heartbeats(desk: Any) -> None:
    desk.restart({"group.share.min.session.timeout.ms": 1, "group.share.max.heartbeat.interval.ms": 50_000})
    with pytest.raises(InvalidConfig, match=r"share.session.timeout.ms must be greater than share.heartbeat"):
        set_one(desk, "share.session.timeout.ms", "5000")
    with pytest.raises(InvalidConfig, match=r"share.session.timeout.ms must be greater than share.heartbeat"):
        set_one(desk, "share.heartbeat.interval.ms", "45000")


def test_a_default_group_and_a_value_of_none_are_refused(desk: Any) -> None:
    refused: list[tuple[str, ConfigAlteration]] = [
        ("", ConfigAlteration("share.order", SET, "key")),
        ("g", ConfigAlteration("share.order", SET, None)),
    ]
    for group, alteration in refused:
        with pytest.raises(InvalidRequest):
            alter(desk, alteration, group=group)


def test_lists_are_added_to_and_taken_from(desk: Any) -> None:
    alter(desk, ConfigAlteration("share.priority.lanes", APPEND, "high,critical"))
    assert desk.topics.groups.share_settings("g").priority_lanes == ("high", "critical")
    alter(desk, ConfigAlteration("share.priority.lanes", SUBTRACT, "high"))
    assert desk.topics.groups.share_settings("g").priority_lanes == ("critical",)
    with pytest.raises(InvalidConfig, match="append is not allowed"):
        alter(desk, ConfigAlteration("share.order", APPEND, "key"))


def test_removing_a_key_that_is_not_known_is_taken_as_kafka_does(desk: Any) -> None:
    alter(desk, ConfigAlteration("no.such", DELETE))
    assert list(desk.topics.groups.group_ids()) == []


def test_all_settings_are_replaced(desk: Any) -> None:
    set_one(desk, "share.order", "key")
    desk.run(desk.topics.plan_replace_configs([(GROUP, {"share.retry.backoff.ms": "0"})]))
    assert desk.topics.groups.own("g") == {"share.retry.backoff.ms": "0"}
    (refusal,) = desk.topics.plan_replace_configs([(GROUP, {"no.such": "0"})]).results
    assert isinstance(refusal, BrokerError)


def test_bounds_that_were_moved_bound_what_was_taken_before(desk: Any) -> None:
    set_one(desk, "share.record.lock.duration.ms", "60000")
    desk.restart({"group.share.max.record.lock.duration.ms": 40_000})
    assert desk.topics.groups.share_settings("g").lock_duration_ms == 40_000


def test_only_so_many_groups_have_configs_of_their_own(desk: Any) -> None:
    desk.restart({"max.configured.groups": 2})
    by_key = ConfigAlteration("share.order", SET, "key")
    for group in ("a", "b"):
        alter(desk, by_key, group=group)
    with pytest.raises(PolicyViolation, match=r"max\.configured\.groups"):
        alter(desk, by_key, group="c")
    alter(desk, ConfigAlteration("share.order", SET, "none"), group="a")
    alter(desk, ConfigAlteration("share.order", DELETE), group="a")
    alter(desk, by_key, group="c")
    assert sorted(desk.topics.groups.group_ids()) == ["b", "c"]


def test_a_topic_for_letters_has_to_take_them(desk: Any) -> None:
    desk.create("plain")
    desk.create("letters", 1, {"errors.deadletterqueue.group.enable": "true"})
    desk.create("compacted", 1, {"errors.deadletterqueue.group.enable": "true", "cleanup.policy": "compact"})
    for name, message in (("plain", "group.enable=true"), ("compacted", "is compacted")):
        with pytest.raises(InvalidConfig, match=message):
            set_one(desk, "errors.deadletterqueue.topic.name", name)
    for name in ("letters", "not-made-yet"):
        set_one(desk, "errors.deadletterqueue.topic.name", name)
        assert desk.topics.groups.share_settings("g").dead_letter_topic == name


def test_a_topic_for_letters_has_the_prefix_that_is_wanted(desk: Any) -> None:
    set_one(desk, "errors.deadletterqueue.topic.name", "letters")
    desk.restart({"errors.deadletterqueue.topic.name.prefix": "dlq."})
    set_one(desk, "share.order", "key")
    with pytest.raises(InvalidConfig, match=r"does not begin with 'dlq\.'"):
        set_one(desk, "errors.deadletterqueue.topic.name", "others")
    set_one(desk, "errors.deadletterqueue.topic.name", "dlq.others")
