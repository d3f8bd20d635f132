"""DescribeClientQuotas (48), versions 0-1: the quotas of the entities that a filter fits (KIP-546).

An entity is named by a user, a client id, both, or an address; a null name is the default of its type. A filter without
components fits every entity.
"""

from coordinators.access.quotas.entities import Component, Entity, Filter
from coordinators.access.quotas.quotas import Quotas, Values
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from wire.kafka.request import Context
from wire.kafka.rights import DESCRIBE_CLUSTER_CONFIGS, Need, Rights
from wire.kafka.steps import lazily

KEY = 48
VERSIONS = (0, 1)
RIGHTS = Rights(
    Need(DESCRIBE_CLUSTER_CONFIGS),
    refuse=lambda _request, _version, error: DescribeClientQuotasResponse(
        error_code=error_code(error), error_message=str(error), entries=None
    ),
)


def handle(request: DescribeClientQuotasRequest, _: Context, quotas: Quotas) -> DescribeClientQuotasResponse:
    """Tell of those asked for."""
    components = [Component(each.entity_type, each.match_type, each.match) for each in request.components]
    try:
        wanted = Filter.of(components, strict=request.strict)
    except BrokerError as error:
        return DescribeClientQuotasResponse(error_code=error_code(error), error_message=str(error), entries=None)
    return DescribeClientQuotasResponse(entries=lazily(list(quotas.describe(wanted)), _entry))


def _entry(found: tuple[Entity, Values]) -> EntryData:
    entity, values = found
    return EntryData(
        [EntityData(kind, name) for kind, name in entity.parts],
        [ValueData(key, value) for key, value in sorted(values.items())],
    )
