"""AlterClientQuotas (49), versions 0-1: sets and removes quotas (KIP-546).

Each entity succeeds or fails for itself; those of one request are changed in one step. The answer comes when they are
in force on this node; the others follow.
"""

from collections.abc import Sequence

from coordinators.access.quotas.entities import Entity
from coordinators.access.quotas.quotas import QuotaAlteration, Quotas
from coordinators.cluster.controller import ClusterController
from engine.errors import BrokerError
from wire.kafka.errors import ErrorCode, error_code
from wire.kafka.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    RequestEntryData,
    ResponseEntityData,
    ResponseEntryData,
)
from wire.kafka.request import Context
from wire.kafka.rights import ALTER_CLUSTER_CONFIGS, Need, Rights
from wire.kafka.slices import change_in_slices
from wire.kafka.steps import lazily

KEY = 49
VERSIONS = (0, 1)
RIGHTS = Rights(
    Need(ALTER_CLUSTER_CONFIGS),
    refuse=lambda request, _, error: AlterClientQuotasResponse(
        entries=[_entry((each, error)) for each in request.entries]
    ),
)


async def handle(
    request: AlterClientQuotasRequest, _: Context, controller: ClusterController, quotas: Quotas
) -> AlterClientQuotasResponse:
    """Alter what can be altered."""

    async def alter(entries: Sequence[RequestEntryData]) -> Sequence[Entity | BrokerError]:
        wanted = [
            (
                [(part.entity_type, part.entity_name) for part in entry.entity],
                [QuotaAlteration(op.key, None if op.remove else op.value) for op in entry.ops],
            )
            for entry in entries
        ]
        return await controller.change(lambda: quotas.plan(wanted), validate_only=request.validate_only)

    results = await change_in_slices(request.entries, _name, alter)
    return AlterClientQuotasResponse(entries=lazily(zip(request.entries, results, strict=True), _entry))


def _name(entry: RequestEntryData) -> frozenset[tuple[str, str | None]]:
    return frozenset((part.entity_type, part.entity_name) for part in entry.entity)


def _entry(outcome: tuple[RequestEntryData, Entity | BrokerError]) -> ResponseEntryData:
    asked, result = outcome
    entity = [ResponseEntityData(part.entity_type, part.entity_name) for part in asked.entity]
    if isinstance(result, BrokerError):
        return ResponseEntryData(error_code(result), str(result), entity)
    return ResponseEntryData(ErrorCode.NONE, None, entity)
