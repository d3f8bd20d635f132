"""Configs of groups by Kafka's ConfigCommand, and that groups obey them."""

import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1.request import AlterableConfig, AlterConfigsResource
from kio.static.primitive import i8

from compat_tests import brokers
from compat_tests.groups.consumer_member import ask
from compat_tests.java.tool import failing_tool, tool
from compat_tests.waiting import eventually
from compat_tests.wire.connection import Wire
from compat_tests.wire.requests import versions_of

GROUP_RESOURCE = 32
is_ours = pytest.mark.skipif(brokers.target() == "kafka", reason="keys that Kafka does not have")


def entity(group: str) -> tuple[str, ...]:
    return "--entity-type", "groups", "--entity-name", group


def alter(bootstrap: str, group: str, **configs: object) -> None:
    text = ",".join(f"{name.replace('_', '.')}={value}" for name, value in configs.items())
    tool("ConfigCommand", bootstrap, *entity(group), "--alter", "--add-config", text)


def described(bootstrap: str, group: str, *options: str) -> Mapping[str, str]:
    lines = tool("ConfigCommand", bootstrap, *entity(group), "--describe", *options).splitlines()
    return dict(line.strip().split("=", 1) for line in lines if "synonyms=" in line)


def find_coordinators(wire: Wire, *groups: str) -> None:
    """Which has them made if there are none yet."""

    def errors() -> set[ErrorCode]:
        answer = ask(wire, "find_coordinator", 4, "FindCoordinator", key_type=i8(0), coordinator_keys=groups)
        return {each.error_code for each in answer.coordinators}

    eventually(errors, {ErrorCode.none}, seconds=30)


@pytest.fixture
def group(topic_name: str) -> str:
    return topic_name


def test_a_group_is_configured_described_and_forgotten(bootstrap: str, group: str) -> None:
    assert described(bootstrap, group) == {}
    alter(bootstrap, group, share_auto_offset_reset="earliest", share_record_lock_duration_ms=20_000)
    found = described(bootstrap, group)
    behind = "{DYNAMIC_GROUP_CONFIG:share.auto.offset.reset=earliest, DEFAULT_CONFIG:share.auto.offset.reset=latest}"
    assert found["share.auto.offset.reset"] == f"earliest sensitive=false synonyms={behind}"
    lock = "{DYNAMIC_GROUP_CONFIG:share.record.lock.duration.ms=20000, "
    lock += "DEFAULT_CONFIG:group.share.record.lock.duration.ms=30000}"
    assert found["share.record.lock.duration.ms"] == f"20000 sensitive=false synonyms={lock}"
    everything = described(bootstrap, group, "--all")
    assert everything["share.isolation.level"].startswith("read_uncommitted ")
    assert everything["consumer.session.timeout.ms"].startswith("45000 ")
    assert f"for group {group} are" in tool("ConfigCommand", bootstrap, "--entity-type", "groups", "--describe")
    names = "share.auto.offset.reset,share.record.lock.duration.ms"
    tool("ConfigCommand", bootstrap, *entity(group), "--alter", "--delete-config", names)
    assert described(bootstrap, group) == {}


def test_what_cannot_be_is_refused(bootstrap: str, group: str) -> None:
    said = failing_tool("ConfigCommand", bootstrap, *entity(group), "--alter", "--add-config", "share.nothing=1")
    assert "InvalidConfigurationException" in said
    refused = {
        "share.session.timeout.ms": "60001",
        "share.delivery.count.limit": "11",
        "share.partition.max.record.locks": "4001",
        "share.record.lock.duration.ms": "x",
        "share.auto.offset.reset": "by_duration:-PT1H",
        "share.isolation.level": "none",
        "consumer.heartbeat.interval.ms": "15001",
    }
    with Wire(bootstrap) as wire:
        for name, value in refused.items():
            config = AlterableConfig(name=name, config_operation=i8(0), value=value)
            resource = AlterConfigsResource(resource_type=i8(GROUP_RESOURCE), resource_name=group, configs=(config,))
            fields: dict[str, Any] = {"resources": (resource,), "validate_only": True}
            answer = ask(wire, "incremental_alter_configs", 1, "IncrementalAlterConfigs", **fields)
            assert answer.responses[0].error_code is ErrorCode.invalid_config, name


def test_groups_that_are_configured_are_listed(bootstrap: str, group: str) -> None:
    assert versions_of(bootstrap)[74] == (0, 1)
    alter(bootstrap, group, share_isolation_level="read_committed")
    with Wire(bootstrap) as wire:

        def listed(*types: int) -> Any:
            return ask(wire, "list_config_resources", 1, "ListConfigResources", resource_types=types)

        def names() -> list[str]:
            found = listed(GROUP_RESOURCE).config_resources
            return [each.resource_name for each in found if each.resource_name == group]

        eventually(names, [group])
        assert listed(99).error_code is ErrorCode.unsupported_version


def test_members_are_told_what_their_group_has_chosen(
    bootstrap: str, make_topic: Callable[..., str], group: str
) -> None:
    topic, shares = make_topic(), f"{group}-s"
    alter(bootstrap, group, consumer_heartbeat_interval_ms=6_000)
    alter(bootstrap, shares, share_heartbeat_interval_ms=7_000)
    with Wire(bootstrap) as wire:
        find_coordinators(wire, group, shares)

        def consumer_interval() -> timedelta:
            answer = ask(
                wire,
                "consumer_group_heartbeat",
                1,
                "ConsumerGroupHeartbeat",
                group_id=group,
                member_id=str(uuid.uuid4()),
                member_epoch=0,
                instance_id=None,
                rack_id=None,
                rebalance_timeout=timedelta(seconds=30),
                subscribed_topic_names=(topic,),
                subscribed_topic_regex=None,
                server_assignor=None,
                topic_partitions=(),
            )
            return timedelta(seconds=answer.heartbeat_interval.total_seconds())

        eventually(consumer_interval, timedelta(milliseconds=6_000))

        def share_interval() -> timedelta:
            fields: dict[str, Any] = {"group_id": shares, "member_id": str(uuid.uuid4()), "member_epoch": 0}
            fields |= {"rack_id": None, "subscribed_topic_names": (topic,)}
            answer = ask(wire, "share_group_heartbeat", 1, "ShareGroupHeartbeat", **fields)
            return timedelta(seconds=answer.heartbeat_interval.total_seconds())

        eventually(share_interval, timedelta(milliseconds=7_000))


@is_ours
def test_our_own_keys(bootstrap: str, group: str) -> None:
    alter(bootstrap, group, share_order="key", share_retry_backoff_multiplier=1.5, share_priority_lanes="[high,low]")
    found = described(bootstrap, group)
    assert found["share.order"].startswith("key sensitive=false")
    assert found["share.retry.backoff.multiplier"].startswith("1.5 ")
    assert found["share.priority.lanes"].startswith("high,low ")
    said = failing_tool("ConfigCommand", bootstrap, *entity(group), "--alter", "--add-config", "share.order=random")
    assert "must be one of none, key" in said
