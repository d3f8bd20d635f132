"""ReadShareGroupState (84), version 0: what the leader of share partitions begins with (KIP-932).

Only for nodes that have shown that they are, and clients are not told of it.
"""

from coordinators.share.questions import ReadState
from coordinators.share.states import LocalShareStates
from wire.kafka.messages.read_share_group_state import ReadShareGroupStateRequest, ReadShareGroupStateResponse
from wire.kafka.nodes.share_asked import answer_about_states
from wire.kafka.nodes.trust import NodeTrust
from wire.kafka.request import Context, Later
from wire.kafka.rights import OF_NODES

KEY = 84
VERSIONS = (0, 0)
ADVERTISED = False
RIGHTS = OF_NODES


def handle(
    request: ReadShareGroupStateRequest, context: Context, states: LocalShareStates, trust: NodeTrust
) -> Later[ReadShareGroupStateResponse]:
    """Answer about each partition."""
    return answer_about_states(ReadState, request, context, states, trust)
