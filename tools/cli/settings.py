"""Settings of topics, nodes and groups: read and changed by Kafka's own requests."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from tools.cli.errors import UsageMistake
from tools.cli.kafka import Kafka, check
from tools.cli.output import Column
from wire.kafka.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from wire.kafka.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

SET, DELETE = 0, 1
_SOURCES = {1: "topic", 2: "node", 3: "all nodes", 4: "file", 5: "default", 6: "logger", 7: "client", 8: "group"}
DEFAULT_SOURCE = "default"

COLUMNS = (Column("name", "key"), Column("value"), Column("source", "set by"), Column("read_only", "fixed"))


class Kind(StrEnum):
    """What has settings."""

    TOPIC = "topic"
    BROKER = "broker"
    GROUP = "group"


_CODES = {Kind.TOPIC: 2, Kind.BROKER: 4, Kind.GROUP: 32}


async def read(kafka: Kafka, kind: Kind, name: str, keys: list[str] | None = None) -> list[dict[str, Any]]:
    """The settings in force, by key."""
    resource = DescribeConfigsResource(_CODES[kind], name, keys)
    request = DescribeConfigsRequest(resources=[resource], include_documentation=True)
    (result,) = (await kafka.call(request, node=_node(kafka, kind, name))).results
    check(result.error_code, name, result.error_message)
    return sorted(
        (
            {
                "name": each.name,
                "value": each.value,
                "source": _SOURCES.get(each.config_source, "unknown"),
                "read_only": each.read_only,
                "sensitive": each.is_sensitive,
                "documentation": each.documentation,
            }
            for each in result.configs
        ),
        key=lambda each: str(each["name"]),
    )


async def change(
    kafka: Kafka, kind: Kind, name: str, values: Mapping[str, str], removed: Iterable[str], *, dry_run: bool
) -> None:
    """Set keys, and take others back to what they are without."""
    configs = [AlterableConfig(key, SET, value) for key, value in values.items()]
    configs += [AlterableConfig(key, DELETE, None) for key in removed]
    resource = AlterConfigsResource(_CODES[kind], name, configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=dry_run)
    (result,) = (await kafka.call(request, node=_node(kafka, kind, name))).responses
    check(result.error_code, name, result.error_message)


def _node(kafka: Kafka, kind: Kind, name: str) -> int | None:
    """Only a node itself knows its settings; an empty name means all nodes, and any one answers."""
    if kind is not Kind.BROKER or not name:
        return None
    if not name.isdecimal() or int(name) not in kafka.nodes:
        raise UsageMistake(f"there is no node {name!r}", f"nodes are {', '.join(map(str, kafka.nodes))}")
    return int(name)


def assignments(texts: Iterable[str]) -> dict[str, str]:
    """`key=value`, as often as given."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageMistake(f"{text!r} is no setting", "write it like retention.ms=3600000")
        found[key.strip()] = value
    return found
