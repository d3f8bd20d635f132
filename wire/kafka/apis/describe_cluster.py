"""DescribeCluster (60), versions 0-2: the cluster's id, its nodes, its controller (KIP-700).

From version 1 the endpoints asked for may be the controllers' (type 2): those are not reachable for clients
here, which is said with MISMATCHED_ENDPOINT_TYPE as Kafka's brokers do it.
"""

from coordinators.node_identity import NodeIdentity
from wire.kafka.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from wire.kafka.request import Context

KEY = 60
VERSIONS = (0, 2)

BROKERS = 1
CONTROLLERS = 2


def handle(request: DescribeClusterRequest, context: Context, node: NodeIdentity) -> DescribeClusterResponse:
    """Describe this node as the whole cluster."""
    if request.endpoint_type == CONTROLLERS:
        return _refused(ErrorCode.MISMATCHED_ENDPOINT_TYPE, "this listener serves brokers, not controllers")
    if request.endpoint_type != BROKERS:
        return _refused(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            f"endpoint type {request.endpoint_type} is unknown; 1 is brokers",
        )
    operations = CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
    broker = DescribeClusterBroker(
        broker_id=node.node_id,
        host=context.peer.endpoint.host,
        port=context.peer.endpoint.port,
        rack=node.rack,
    )
    return DescribeClusterResponse(
        cluster_id=node.cluster_id,
        controller_id=node.node_id,
        brokers=[broker],
        cluster_authorized_operations=operations,
    )


def _refused(code: ErrorCode, reason: str) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=code, error_message=reason)
