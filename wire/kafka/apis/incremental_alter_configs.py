"""IncrementalAlterConfigs (44), versions 0-1: sets, removes, extends or shortens single keys (KIP-339)."""

from coordinators.configs import ConfigAlteration, ConfigResource
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from wire.kafka.request import Context

KEY = 44
VERSIONS = (0, 1)


async def handle(request: IncrementalAlterConfigsRequest, context: Context) -> IncrementalAlterConfigsResponse:
    """Alter the keys of each resource."""
    wanted = [
        (
            ConfigResource(resource.resource_type, resource.resource_name),
            [ConfigAlteration(each.name, each.config_operation, each.value) for each in resource.configs],
        )
        for resource in request.resources
    ]
    results = await context.node.controller.alter_configs(wanted, validate_only=request.validate_only)
    responses = []
    for (resource, _), result in zip(wanted, results, strict=True):
        entry = AlterConfigsResourceResponse(resource_type=resource.type, resource_name=resource.name)
        if isinstance(result, BrokerError):
            entry.error_code, entry.error_message = error_code(result), str(result)
        responses.append(entry)
    return IncrementalAlterConfigsResponse(responses=responses)
