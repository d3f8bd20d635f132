"""What other nodes ask about the share partitions whose state this one keeps; `share_states.py` asks it.

Nobody else may ask: what a client could write here would be acknowledged for everybody. Nor is anything taken over a
connection that its node has replaced: it has asked again since, and perhaps written what came later.
"""

from typing import Any

from coordinators.share.questions import StateQuestion, ask
from coordinators.share.states import LocalShareStates
from engine.deferred import Deferred
from engine.errors import BrokerError
from wire.kafka.codec import WireError
from wire.kafka.nodes.share_messages import EXCHANGES, read_questions, state_response
from wire.kafka.nodes.trust import NodeTrust, only_nodes
from wire.kafka.request import Context, Later
from wire.kafka.slices import for_each


def answer_about_states(
    kind: type[Any], request: Any, context: Context, states: LocalShareStates, trust: NodeTrust
) -> Later[Any]:
    """Answered when all is durable. A refusal is a partition's own."""
    link = context.peer.link
    if link is not None and trust.is_replaced(link):
        raise WireError(f"node {link.node_id} asks over a connection that it has replaced")
    exchange = EXCHANGES[kind]
    questions = read_questions(exchange, request)
    places = [place for place, _ in questions]
    asked: list[StateQuestion | BrokerError] = [question for _, question in questions]
    if link is None:
        asked = [only_nodes() for _ in asked]

    def response(answers: list[Any]) -> Any:
        return state_response(exchange, zip(places, answers, strict=True))

    return for_each(asked, lambda question: _answer(question, states), response)


def _answer(question: StateQuestion | BrokerError, states: LocalShareStates) -> Deferred[Any]:
    if isinstance(question, BrokerError):
        refused: Deferred[Any] = Deferred()
        refused.resolve(question)
        return refused
    return ask(states, question).map(lambda value: value, lambda error: error)
