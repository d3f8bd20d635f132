"""ListConfigResources (74), versions 0-1: whose configs there are to describe (KIP-1142).

Version 0 was about client metrics alone (KIP-714), of which there are none here. A type that is not known is answered
with UNSUPPORTED_VERSION, as Kafka does; groups are those that are configured, whether or not they have members.
"""

from collections.abc import Callable, Iterable

from coordinators.cluster.nodes import Nodes
from coordinators.configs import ResourceType
from coordinators.topics import Topics
from wire.kafka.errors import ErrorCode, error_code
from wire.kafka.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from wire.kafka.request import Context
from wire.kafka.rights import DESCRIBE_CLUSTER_CONFIGS, Need, Rights
from wire.kafka.steps import lazily

KEY = 74
VERSIONS = (0, 1)
RIGHTS = Rights(
    Need(DESCRIBE_CLUSTER_CONFIGS),
    refuse=lambda _request, _version, error: ListConfigResourcesResponse(error_code=error_code(error)),
)

BROKER_LOGGER, CLIENT_METRICS = 8, 16
"""Types that there are none of here."""
EVERY_TYPE = (ResourceType.TOPIC, ResourceType.BROKER, BROKER_LOGGER, CLIENT_METRICS, ResourceType.GROUP)


def handle(
    request: ListConfigResourcesRequest, context: Context, topics: Topics, nodes: Nodes
) -> ListConfigResourcesResponse:
    """List them, type after type."""
    if context.version == 0:
        return ListConfigResourcesResponse()
    wanted = dict.fromkeys(request.resource_types or EVERY_TYPE)
    if not set(wanted) <= set(EVERY_TYPE):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    names: dict[int, Callable[[], Iterable[str]]] = {
        ResourceType.TOPIC: lambda: topics.by_name,
        ResourceType.BROKER: lambda: map(str, sorted(nodes.by_id)),
        ResourceType.GROUP: topics.groups.group_ids,
    }
    found = [(name, type_) for type_ in wanted if type_ in names for name in names[type_]()]
    return ListConfigResourcesResponse(config_resources=lazily(found, lambda each: ConfigResource(*each)))
