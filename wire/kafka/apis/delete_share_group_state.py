"""DeleteShareGroupState (86), version 0: forget share partitions (KIP-932).

Only for nodes that have shown that they are, and clients are not told of it.
"""

from coordinators.share.questions import DeleteState
from coordinators.share.states import LocalShareStates
from wire.kafka.messages.delete_share_group_state import DeleteShareGroupStateRequest, DeleteShareGroupStateResponse
from wire.kafka.nodes.share_asked import answer_about_states
from wire.kafka.nodes.trust import NodeTrust
from wire.kafka.request import Context, Later
from wire.kafka.rights import OF_NODES

KEY = 86
VERSIONS = (0, 0)
ADVERTISED = False
RIGHTS = OF_NODES


def handle(
    request: DeleteShareGroupStateRequest, context: Context, states: LocalShareStates, trust: NodeTrust
) -> Later[DeleteShareGroupStateResponse]:
    """Answer about each partition."""
    return answer_about_states(DeleteState, request, context, states, trust)
