"""FindCoordinator (10), versions 0-6: which node coordinates a group or a transaction.

On one node that is this node, for groups (key type 0) and transactions (1). Share groups (2, from version 6)
are not served yet. Batched keys from version 4 (KIP-699).
"""

from engine.errors import InvalidRequest
from wire.kafka.errors import error_code
from wire.kafka.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from wire.kafka.request import Context

KEY = 10
VERSIONS = (0, 6)

GROUP = 0
TRANSACTION = 1
FIRST_BATCHED_VERSION = 4


def handle(request: FindCoordinatorRequest, context: Context) -> FindCoordinatorResponse:
    """Name the coordinator of each key."""
    if context.version >= FIRST_BATCHED_VERSION:
        found = [_find(key, request.key_type, context) for key in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=found)
    one = _find(request.key, request.key_type, context)
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message,
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


def _find(key: str, key_type: int, context: Context) -> Coordinator:
    node = context.node
    if key_type not in (GROUP, TRANSACTION):
        error = InvalidRequest(f"coordinators of key type {key_type} are not served; 0 is a group, 1 a transaction")
        return Coordinator(
            key=key, node_id=-1, host="", port=-1, error_code=error_code(error), error_message=str(error)
        )
    return Coordinator(key=key, node_id=node.node_id, host=context.peer.endpoint.host, port=context.peer.endpoint.port)
