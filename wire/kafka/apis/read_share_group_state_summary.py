"""ReadShareGroupStateSummary (87), versions 0-1: where share partitions stand (KIP-932).

Only for nodes that have shown that they are, and clients are not told of it.
"""

from coordinators.share.letter_search import LetterSearch
from coordinators.share.questions import SummarizeState
from coordinators.share.states import LocalShareStates
from wire.kafka.messages.read_share_group_state_summary import (
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
)
from wire.kafka.nodes.letter_calls import take_calls
from wire.kafka.nodes.share_asked import answer_about_states
from wire.kafka.nodes.trust import NodeTrust
from wire.kafka.request import Context, Later
from wire.kafka.rights import OF_NODES

KEY = 87
VERSIONS = (0, 1)
ADVERTISED = False
RIGHTS = OF_NODES


def handle(
    request: ReadShareGroupStateSummaryRequest,
    context: Context,
    states: LocalShareStates,
    trust: NodeTrust,
    search: LetterSearch,
) -> ReadShareGroupStateSummaryResponse | Later[ReadShareGroupStateSummaryResponse]:
    """Answer about each partition; or hear of dead letters that this node has to send."""
    if context.peer.link is not None and take_calls(request, search):
        return ReadShareGroupStateSummaryResponse()
    return answer_about_states(SummarizeState, request, context, states, trust)
