"""WriteShareGroupState (85), versions 0-1: what the leader of share partitions has found out (KIP-932).

Only for nodes that have shown that they are, and clients are not told of it.
"""

from coordinators.share.questions import WriteState
from coordinators.share.states import LocalShareStates
from wire.kafka.messages.write_share_group_state import WriteShareGroupStateRequest, WriteShareGroupStateResponse
from wire.kafka.nodes.share_asked import answer_about_states
from wire.kafka.nodes.trust import NodeTrust
from wire.kafka.request import Context, Later
from wire.kafka.rights import OF_NODES

KEY = 85
VERSIONS = (0, 1)
ADVERTISED = False
RIGHTS = OF_NODES


def handle(
    request: WriteShareGroupStateRequest, context: Context, states: LocalShareStates, trust: NodeTrust
) -> Later[WriteShareGroupStateResponse]:
    """Answer about each partition."""
    return answer_about_states(WriteState, request, context, states, trust)
