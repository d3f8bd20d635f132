"""`/config`: every broker key, what is in force and who set it."""

import msgspec

from coordinators.access.rights import DESCRIBE_CLUSTER_CONFIGS
from coordinators.cluster.nodes import NodeIdentity
from coordinators.configs import ConfigResource, ResourceType
from coordinators.topics import Topics
from wire.http.messages import MAX_LIMIT, Call, Limit, Page, PageQuery
from wire.http.rights import on
from wire.http.routing import Route


class ConfigQuery(PageQuery, kw_only=True):
    """Which keys; all of them by default."""

    limit: Limit = MAX_LIMIT


class BrokerKey(msgspec.Struct):
    """A key. `value` is null where it is unset or sensitive; `source` says who set it."""

    name: str
    value: str | None
    source: str
    read_only: bool
    sensitive: bool
    documentation: str


class BrokerKeyPage(Page):
    """Keys by name."""

    items: list[BrokerKey]


async def describe_config(call: Call, node: NodeIdentity, topics: Topics) -> BrokerKeyPage:
    """Broker keys by name; secrets are not shown."""
    query: ConfigQuery = call.query
    entries = topics.describe_configs(ConfigResource(ResourceType.BROKER, str(node.node_id)))
    entries.sort(key=lambda entry: entry.key.name)
    items = [
        BrokerKey(
            entry.key.name,
            entry.text,
            entry.source.name.lower(),
            entry.read_only,
            entry.key.sensitive,
            entry.key.full_documentation,
        )
        for entry in query.of(entries)
    ]
    return BrokerKeyPage(items=items, total=len(entries), limit=query.limit, skip=query.skip)


ROUTES = (
    Route(
        "GET",
        "/config",
        describe_config,
        "Broker keys in force",
        answer=BrokerKeyPage,
        query=ConfigQuery,
        rights=on(DESCRIBE_CLUSTER_CONFIGS),
    ),
)
