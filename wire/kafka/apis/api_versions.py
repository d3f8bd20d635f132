"""ApiVersions (18), versions 0-4: what this broker serves.

The answer is made from the registered APIs. A version that we do not know is answered with
UNSUPPORTED_VERSION in a body of version 0 that still lists what is served (KIP-511), so that any client can
step down; the response header is version 0 in every version.
"""

import re

from attrs import frozen

from wire.kafka.apis import registered
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from wire.kafka.request import Context
from wire.kafka.rights import free

KEY = 18
VERSIONS = (0, 4)
RIGHTS = free("clients ask it before they have shown who they are")

KEPT_CHARACTERS = 100

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(request: ApiVersionsRequest | None, context: Context) -> ApiVersionsResponse:
    """List the APIs; `request` is None when its version is unknown."""
    if request is None:
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=_own_range())
    if context.version >= 3:
        names = (request.client_software_name, request.client_software_version)
        if not all(_SOFTWARE.fullmatch(name) for name in names):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        context.peer.software_name, context.peer.software_version = (name[:KEPT_CHARACTERS] for name in names)
    if context.peer.node_id is not None:
        # Nodes are told of all that is served, for some of it only they may ask.
        keys = [ApiVersion(api.key, api.first_version, api.last_version) for api in registered().values()]
    else:
        keys = [
            ApiVersion(api.key, api.first_advertised_version, api.last_advertised_version)
            for api in registered().values()
            if api.advertised
        ]
    return ApiVersionsResponse(
        api_keys=sorted(keys, key=lambda entry: entry.api_key),
        supported_features=supported(context.version),
        finalized_features_epoch=EPOCH,
        finalized_features=finalized(),
    )


def _own_range() -> list[ApiVersion]:
    return [ApiVersion(KEY, *VERSIONS)]


# -- features of the cluster that clients may rely on (KIP-584); one is listed once what it promises works

EPOCH = 1
FIRST_VERSION_WITH_LEVEL_0 = 4


@frozen
class Feature:
    """Levels that are supported, and the one in force."""

    name: str
    first_level: int
    last_level: int
    level: int


FEATURES = (
    # KIP-890: Produce 12, EndTxn 5 and TxnOffsetCommit 5 are served.
    Feature("transaction.version", 0, 2, 2),
    # KIP-848: ConsumerGroupHeartbeat and ConsumerGroupDescribe are served.
    Feature("group.version", 0, 1, 1),
    # KIP-1071: StreamsGroupHeartbeat and StreamsGroupDescribe are served.
    Feature("streams.version", 0, 1, 1),
    # KIP-932: share groups, without Kafka's own dead letters, which are level 2.
    Feature("share.version", 0, 1, 1),
)


def supported(version: int) -> list[SupportedFeatureKey]:
    """For ApiVersions; readers of its version 3 cannot take a first level of 0 (KIP-1022)."""
    least = 0 if version >= FIRST_VERSION_WITH_LEVEL_0 else 1
    return [SupportedFeatureKey(each.name, max(each.first_level, least), each.last_level) for each in FEATURES]


def finalized() -> list[FinalizedFeatureKey]:
    """The levels in force."""
    return [FinalizedFeatureKey(each.name, each.level, each.level) for each in FEATURES if each.level > 0]
