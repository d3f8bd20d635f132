"""IncrementalAlterConfigs (44), versions 0-1: sets, removes, extends or shortens single keys (KIP-339)."""

from collections.abc import Sequence

from coordinators.cluster.controller import ClusterController
from coordinators.configs import ConfigAlteration, ConfigResource
from engine.errors import BrokerError
from wire.kafka.config_rights import cluster_of, group_of, topic_of
from wire.kafka.errors import error_code
from wire.kafka.letter_rights import letters_of, new_letters_of
from wire.kafka.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
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

KEY = 44
VERSIONS = (0, 1)
RIGHTS = Rights(
    Each(
        ALTER_TOPIC_CONFIGS,
        "resources",
        topic_of,
        "responses",
        lambda each, error: _denied(each, error),
        IncrementalAlterConfigsResponse,
    ),
    Each(
        ALTER_GROUP_CONFIGS,
        "resources",
        group_of,
        "responses",
        lambda each, error: _denied(each, error),
        IncrementalAlterConfigsResponse,
    ),
    Each(
        ALTER_CLUSTER_CONFIGS,
        "resources",
        cluster_of,
        "responses",
        lambda each, error: _denied(each, error),
        IncrementalAlterConfigsResponse,
    ),
    Each(
        WRITE_TOPIC,
        "resources",
        letters_of,
        "responses",
        lambda each, error: _denied(each, error),
        IncrementalAlterConfigsResponse,
    ),
    Each(
        (CREATE_TOPIC, CREATE_CLUSTER),
        "resources",
        new_letters_of,
        "responses",
        lambda each, error: _denied(each, error),
        IncrementalAlterConfigsResponse,
    ),
)


async def handle(
    request: IncrementalAlterConfigsRequest, _: Context, controller: ClusterController
) -> IncrementalAlterConfigsResponse:
    """Alter the keys of each resource."""

    async def alter(resources: Sequence[AlterConfigsResource]) -> Sequence[ConfigResource | BrokerError]:
        wanted = [
            (
                ConfigResource(resource.resource_type, resource.resource_name),
                [ConfigAlteration(each.name, each.config_operation, each.value) for each in resource.configs],
            )
            for resource in resources
        ]
        return await controller.alter_configs(wanted, validate_only=request.validate_only)

    results = await change_in_slices(request.resources, lambda each: (each.resource_type, each.resource_name), alter)
    return IncrementalAlterConfigsResponse(responses=lazily(zip(request.resources, results, strict=True), _entry))


def _entry(outcome: tuple[AlterConfigsResource, ConfigResource | BrokerError]) -> AlterConfigsResourceResponse:
    resource, result = outcome
    entry = AlterConfigsResourceResponse(resource_type=resource.resource_type, resource_name=resource.resource_name)
    if isinstance(result, BrokerError):
        entry.error_code, entry.error_message = error_code(result), str(result)
    return entry


def _denied(resource: AlterConfigsResource, error: BrokerError) -> AlterConfigsResourceResponse:
    return _entry((resource, error))
