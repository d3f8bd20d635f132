"""DescribeCluster (60), versions 0-2: the cluster's id, its nodes, its controller (KIP-700).

From version 1 the endpoints asked for may be the controllers' (type 2): those are not reachable for clients
here, which is said with MISMATCHED_ENDPOINT_TYPE as Kafka's brokers do it.
"""

from coordinators.access.access import AccessControl
from wire.kafka.authorized_operations import NOT_ASKED, cluster_operations
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from wire.kafka.request import Context
from wire.kafka.rights import DESCRIBE_CLUSTER, Rights, Within
from wire.kafka.told_nodes import ToldNodes

KEY = 60
VERSIONS = (0, 2)
RIGHTS = Rights(Within(DESCRIBE_CLUSTER), reason="only what the caller may do to the cluster depends on its rights")

BROKERS = 1
CONTROLLERS = 2


def handle(
    request: DescribeClusterRequest, context: Context, nodes: ToldNodes, access: AccessControl
) -> DescribeClusterResponse:
    """The nodes that the catalogue has rows of; those that are fenced only if that is wanted (KIP-1073)."""
    if request.endpoint_type == CONTROLLERS:
        return _refused(ErrorCode.MISMATCHED_ENDPOINT_TYPE, "this listener serves brokers, not controllers")
    if request.endpoint_type != BROKERS:
        return _refused(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            f"endpoint type {request.endpoint_type} is unknown; 1 is brokers",
        )
    told = nodes.all(context.peer, with_fenced=request.include_fenced_brokers)
    asks = request.include_cluster_authorized_operations
    operations = cluster_operations(access, context.caller) if asks else NOT_ASKED
    return DescribeClusterResponse(
        cluster_id=nodes.identity.cluster_id,
        controller_id=nodes.controller_id,
        brokers=[DescribeClusterBroker(node.node_id, node.host, node.port, node.rack, node.is_fenced) for node in told],
        cluster_authorized_operations=operations,
    )


def _refused(code: ErrorCode, reason: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=code, error_message=reason)
