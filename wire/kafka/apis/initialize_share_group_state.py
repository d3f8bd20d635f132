"""InitializeShareGroupState (83), version 0: have share partitions begin anew (KIP-932).

Only for nodes that have shown that they are, and clients are not told of it.
"""

from coordinators.share.questions import InitializeState
from coordinators.share.states import LocalShareStates
from wire.kafka.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
)
from wire.kafka.nodes.share_asked import answer_about_states
from wire.kafka.nodes.trust import NodeTrust
from wire.kafka.request import Context, Later
from wire.kafka.rights import OF_NODES

KEY = 83
VERSIONS = (0, 0)
ADVERTISED = False
RIGHTS = OF_NODES


def handle(
    request: InitializeShareGroupStateRequest, context: Context, states: LocalShareStates, trust: NodeTrust
) -> Later[InitializeShareGroupStateResponse]:
    """Answer about each partition."""
    return answer_about_states(InitializeState, request, context, states, trust)
