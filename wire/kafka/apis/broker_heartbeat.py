"""BrokerHeartbeat (63), versions 0-1: whether a node is still known in its present life (KIP-631).

Asked by nodes that do not hear etcd. Only for nodes that have shown that they are, each about itself, and clients are
not told of it. What else Kafka's brokers say with it (fencing, shutting down, failed directories) goes by etcd here.
"""

from coordinators.cluster.controller import ClusterController
from coordinators.cluster.hearsay import has_ended
from engine.errors import StaleNodeEpoch
from wire.kafka.errors import error_code
from wire.kafka.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from wire.kafka.nodes.trust import only_nodes
from wire.kafka.request import Context
from wire.kafka.rights import OF_NODES

KEY = 63
VERSIONS = (0, 1)
ADVERTISED = False
RIGHTS = OF_NODES


def handle(request: BrokerHeartbeatRequest, context: Context, controller: ClusterController) -> BrokerHeartbeatResponse:
    """What this node knows of the life that the asking one has."""
    node_id, epoch = request.broker_id, request.broker_epoch
    if context.peer.node_id is None or context.peer.node_id != node_id:
        return BrokerHeartbeatResponse(error_code=error_code(only_nodes()))
    nodes, revision = controller.replicas.nodes, controller.replicas.revision
    if has_ended(nodes, revision, node_id, epoch):
        stale = StaleNodeEpoch(f"the life of node {node_id} with epoch {epoch} has ended")
        return BrokerHeartbeatResponse(error_code=error_code(stale))
    known = nodes.by_id.get(node_id)
    return BrokerHeartbeatResponse(
        is_caught_up=request.current_metadata_offset >= revision, is_fenced=known is None or known.fenced
    )
