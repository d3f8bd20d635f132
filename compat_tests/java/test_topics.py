"""TopicCommand and ConfigCommand."""

import re
from base64 import urlsafe_b64encode
from collections.abc import Callable
from uuid import UUID

from compat_tests.java.tool import failing_tool, tool
from compat_tests.wire.requests import topic_id
from compat_tests.wire.test_topics import this_node


def test_create_list_alter_describe_delete(bootstrap: str, topic_name: str) -> None:
    named = ("--topic", topic_name)
    options = ("--partitions", "2", "--config", "retention.ms=5000")
    assert "Created topic" in tool("TopicCommand", bootstrap, "--create", *named, *options)
    assert topic_name in tool("TopicCommand", bootstrap, "--list").splitlines()
    tool("TopicCommand", bootstrap, "--alter", *named, "--partitions", "3")
    described = tool("TopicCommand", bootstrap, "--describe", *named)
    assert "PartitionCount: 3" in described
    assert "ReplicationFactor: 1" in described
    assert "retention.ms=5000" in described
    node = this_node(bootstrap)
    found = re.findall(r"Partition: (\d+)\tLeader: (\d+)\tReplicas: (\d+)\tIsr: (\d+)", described)
    assert found == [(str(index), *[str(node)] * 3) for index in range(3)]
    tool("TopicCommand", bootstrap, "--delete", *named)
    assert topic_name not in tool("TopicCommand", bootstrap, "--list").splitlines()


def test_describe_shows_the_id(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    shown = urlsafe_b64encode(UUID(topic_id(bootstrap, topic)).bytes).decode().rstrip("=")
    described = tool("TopicCommand", bootstrap, "--describe", "--topic", topic)
    assert f"TopicId: {shown}" in described


def test_create_an_existing_topic(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    said = failing_tool("TopicCommand", bootstrap, "--create", "--topic", topic)
    assert f"Topic '{topic}' already exists" in said


def test_describe_an_unknown_topic(bootstrap: str, topic_name: str) -> None:
    said = failing_tool("TopicCommand", bootstrap, "--describe", "--topic", topic_name)
    assert "does not exist as expected" in said


def test_configs(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic(retention_ms=5000)
    entity = ("--entity-type", "topics", "--entity-name", topic)
    changes = ("--add-config", "segment.ms=777000,cleanup.policy=[compact,delete]")
    removals = ("--delete-config", "retention.ms")
    tool("ConfigCommand", bootstrap, *entity, "--alter", *changes, *removals)
    lines = tool("ConfigCommand", bootstrap, *entity, "--describe", "--all").splitlines()
    shown = dict(line.strip().split("=", 1) for line in lines if "synonyms=" in line)
    assert shown["segment.ms"].startswith("777000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:segment.ms=777000")
    assert shown["cleanup.policy"].startswith("compact,delete sensitive=false")
    default = "1048588 sensitive=false synonyms={DEFAULT_CONFIG:message.max.bytes=1048588}"
    assert shown["max.message.bytes"] == default
    assert shown["retention.ms"].startswith("604800000")


def test_broker_configs(bootstrap: str) -> None:
    entity = ("--entity-type", "brokers", "--entity-name", str(this_node(bootstrap)))
    shown = tool("ConfigCommand", bootstrap, *entity, "--describe", "--all")
    assert (
        "num.partitions=1 sensitive=false synonyms={STATIC_BROKER_CONFIG:num.partitions=1, "
        "DEFAULT_CONFIG:num.partitions=1}" in shown
    )


def test_a_config_refused(bootstrap: str, make_topic: Callable[..., str]) -> None:
    entity = ("--entity-type", "topics", "--entity-name", make_topic())
    said = failing_tool("ConfigCommand", bootstrap, *entity, "--alter", "--add-config", "segment.ms=soon")
    assert "InvalidConfigurationException" in said
