"""DescribeConfigs (32), versions 1-4: the configuration of topics and nodes, and where each value comes from.

Synonyms are what stands behind a value, strongest first (KIP-226). Types and documentation from version 3
(KIP-569). Sensitive values are never shown.
"""

from attrs import define

from coordinators.configs import ConfigResource
from coordinators.topics import Topics
from engine.config.keys import ConfigType
from engine.config.resolve import ConfigEntry
from engine.errors import BrokerError, InvalidRequest
from wire.kafka.config import Limits
from wire.kafka.config_rights import cluster_of, group_of, topic_of
from wire.kafka.errors import error_code
from wire.kafka.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from wire.kafka.request import Context
from wire.kafka.rights import DESCRIBE_CLUSTER_CONFIGS, DESCRIBE_GROUP_CONFIGS, DESCRIBE_TOPIC_CONFIGS, Each, Rights
from wire.kafka.steps import Steps, lazily

KEY = 32
VERSIONS = (1, 4)
RIGHTS = Rights(
    Each(
        DESCRIBE_TOPIC_CONFIGS,
        "resources",
        topic_of,
        "results",
        lambda each, error: _denied(each, error),
        DescribeConfigsResponse,
    ),
    Each(
        DESCRIBE_GROUP_CONFIGS,
        "resources",
        group_of,
        "results",
        lambda each, error: _denied(each, error),
        DescribeConfigsResponse,
    ),
    Each(
        DESCRIBE_CLUSTER_CONFIGS,
        "resources",
        cluster_of,
        "results",
        lambda each, error: _denied(each, error),
        DescribeConfigsResponse,
    ),
)

ENTRY_BYTES = 24
"""What an entry or a synonym takes besides its texts, at most."""
LEAST_ROOM_SHARE = 0.9
"""The rest is for the names of resources and for errors."""

_TYPES = {
    ConfigType.BOOLEAN: 1,
    ConfigType.STRING: 2,
    ConfigType.INT: 3,
    ConfigType.SHORT: 4,
    ConfigType.LONG: 5,
    ConfigType.DOUBLE: 6,
    ConfigType.LIST: 7,
    ConfigType.CLASS: 8,
    ConfigType.PASSWORD: 9,
}


def handle(
    request: DescribeConfigsRequest, _: Context, topics: Topics, limits: Limits
) -> Steps[DescribeConfigsResponse]:
    """Describe each resource; one that is named twice is described once."""
    merged: dict[tuple[int, str], set[str] | None] = {}
    for wanted in request.resources:
        _merge(wanted, merged)
        yield
    room = AnswerRoom(limits.max_response_bytes)
    return DescribeConfigsResponse(
        results=lazily(merged.items(), lambda each: _resource(ConfigResource(*each[0]), each[1], request, topics, room))
    )


@define
class AnswerRoom:
    """What the answer may still take."""

    max_bytes: int
    taken_bytes: int = 0

    def take(self, result: DescribeConfigsResult) -> None:
        """Count what has been described; `InvalidRequest` if it is too much."""
        size = sum(_weight(entry) for entry in result.configs)
        if self.taken_bytes + size > self.max_bytes * LEAST_ROOM_SHARE:
            raise InvalidRequest(
                f"the answer would be larger than socket.response.max.bytes={self.max_bytes}: ask for fewer at once"
            )
        self.taken_bytes += size


def _weight(entry: DescribeConfigsResourceResult) -> int:
    texts = len(entry.name) + len(entry.value or "") + len(entry.documentation or "")
    return ENTRY_BYTES + texts + sum(ENTRY_BYTES + len(each.name) + len(each.value or "") for each in entry.synonyms)


def _merge(wanted: DescribeConfigsResource, merged: dict[tuple[int, str], set[str] | None]) -> None:
    """Add the keys that are asked for of a resource; None is all."""
    resource = wanted.resource_type, wanted.resource_name
    if not wanted.configuration_keys:
        merged[resource] = None
        return
    names = merged.setdefault(resource, set())
    if names is not None:
        names.update(wanted.configuration_keys)


def _resource(
    resource: ConfigResource,
    names: set[str] | None,
    request: DescribeConfigsRequest,
    topics: Topics,
    room: AnswerRoom,
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(resource_type=resource.type, resource_name=resource.name)
    try:
        entries = topics.describe_configs(resource, names)
        result.configs = [_entry(entry, request) for entry in entries]
        room.take(result)
    except BrokerError as error:
        result.configs = []
        result.error_code, result.error_message = error_code(error), str(error)
    return result


def _entry(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.key.name,
        value=entry.text,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.key.sensitive,
        synonyms=[DescribeConfigsSynonym(each.name, each.text, each.source) for each in synonyms],
        config_type=_TYPES[entry.key.type],
        documentation=entry.key.documentation if request.include_documentation else None,
    )


def _denied(resource: DescribeConfigsResource, error: BrokerError) -> DescribeConfigsResult:
    result = DescribeConfigsResult(resource_type=resource.resource_type, resource_name=resource.resource_name)
    result.error_code, result.error_message = error_code(error), str(error)
    return result
