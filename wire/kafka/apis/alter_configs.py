"""AlterConfigs (33), versions 0-2: replaces all settings of topics and nodes; what is not given falls back."""

from collections.abc import Sequence

from coordinators.cluster.controller import ClusterController
from coordinators.configs import ConfigResource
from engine.errors import BrokerError
from wire.kafka.config_rights import cluster_of, group_of, topic_of
from wire.kafka.errors import error_code
from wire.kafka.letter_rights import letters_of, new_letters_of
from wire.kafka.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from wire.kafka.request import Context
from wire.kafka.rights import (
    ALTER_CLUSTER_CONFIGS,
    ALTER_GROUP_CONFIGS,
    ALTER_TOPIC_CONFIGS,
    CREATE_CLUSTER,
    CREATE_TOPIC,
    WRITE_TOPIC,
    Each,
    Rights,
)
from wire.kafka.slices import change_in_slices
from wire.kafka.steps import lazily

KEY = 33
VERSIONS = (0, 2)
RIGHTS = Rights(
    Each(
        ALTER_TOPIC_CONFIGS,
        "resources",
        topic_of,
        "responses",
        lambda each, error: _denied(each, error),
        AlterConfigsResponse,
    ),
    Each(
        ALTER_GROUP_CONFIGS,
        "resources",
        group_of,
        "responses",
        lambda each, error: _denied(each, error),
        AlterConfigsResponse,
    ),
    Each(
        ALTER_CLUSTER_CONFIGS,
        "resources",
        cluster_of,
        "responses",
        lambda each, error: _denied(each, error),
        AlterConfigsResponse,
    ),
    Each(
        WRITE_TOPIC,
        "resources",
        letters_of,
        "responses",
        lambda each, error: _denied(each, error),
        AlterConfigsResponse,
    ),
    Each(
        (CREATE_TOPIC, CREATE_CLUSTER),
        "resources",
        new_letters_of,
        "responses",
        lambda each, error: _denied(each, error),
        AlterConfigsResponse,
    ),
)


async def handle(request: AlterConfigsRequest, _: Context, controller: ClusterController) -> AlterConfigsResponse:
    """Replace the settings of each resource."""

    async def replace(resources: Sequence[AlterConfigsResource]) -> Sequence[ConfigResource | BrokerError]:
        wanted = [
            (
                ConfigResource(resource.resource_type, resource.resource_name),
                {config.name: config.value for config in resource.configs},
            )
            for resource in resources
        ]
        return await controller.replace_configs(wanted, validate_only=request.validate_only)

    results = await change_in_slices(request.resources, lambda each: (each.resource_type, each.resource_name), replace)
    return AlterConfigsResponse(responses=lazily(zip(request.resources, results, strict=True), _entry))


def _entry(outcome: tuple[AlterConfigsResource, ConfigResource | BrokerError]) -> AlterConfigsResourceResponse:
    resource, result = outcome
    entry = AlterConfigsResourceResponse(resource_type=resource.resource_type, resource_name=resource.resource_name)
    if isinstance(result, BrokerError):
        entry.error_code, entry.error_message = error_code(result), str(result)
    return entry


def _denied(resource: AlterConfigsResource, error: BrokerError) -> AlterConfigsResourceResponse:
    return _entry((resource, error))
