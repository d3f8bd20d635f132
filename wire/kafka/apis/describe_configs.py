"""DescribeConfigs (32), versions 1-4: the configuration of topics and nodes, and where each value comes from.

Synonyms are what stands behind a value, strongest first (KIP-226). Types and documentation from version 3
(KIP-569). Sensitive values are never shown.
"""

from coordinators.configs import ConfigResource
from engine.config.keys import ConfigType
from engine.config.resolve import ConfigEntry
from engine.errors import BrokerError
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

KEY = 32
VERSIONS = (1, 4)

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


def handle(request: DescribeConfigsRequest, context: Context) -> DescribeConfigsResponse:
    """Describe each resource."""
    return DescribeConfigsResponse(results=[_resource(wanted, request, context) for wanted in request.resources])


def _resource(
    wanted: DescribeConfigsResource, request: DescribeConfigsRequest, context: Context
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(resource_type=wanted.resource_type, resource_name=wanted.resource_name)
    resource = ConfigResource(wanted.resource_type, wanted.resource_name)
    try:
        entries = context.node.topics.describe_configs(resource, wanted.configuration_keys)
    except BrokerError as error:
        result.error_code, result.error_message = error_code(error), str(error)
        return result
    result.configs = [_entry(entry, request) for entry in entries]
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
