"""AlterConfigs (33), versions 0-2: replaces all settings of topics and nodes; what is not given falls back."""

from coordinators.configs import ConfigResource
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from wire.kafka.request import Context

KEY = 33
VERSIONS = (0, 2)


async def handle(request: AlterConfigsRequest, context: Context) -> AlterConfigsResponse:
    """Replace the settings of each resource."""
    wanted = [
        (
            ConfigResource(resource.resource_type, resource.resource_name),
            {config.name: config.value for config in resource.configs},
        )
        for resource in request.resources
    ]
    results = await context.node.controller.replace_configs(wanted, validate_only=request.validate_only)
    responses = []
    for (resource, _), result in zip(wanted, results, strict=True):
        entry = AlterConfigsResourceResponse(resource_type=resource.type, resource_name=resource.name)
        if isinstance(result, BrokerError):
            entry.error_code, entry.error_message = error_code(result), str(result)
        responses.append(entry)
    return AlterConfigsResponse(responses=responses)
