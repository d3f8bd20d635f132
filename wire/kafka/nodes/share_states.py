"""The state of share partitions, wherever it is kept: asked of this node, or of the one that leads its shard.

Whatever keeps a question from arriving is a refusal that may pass: `OrderlyAsking` asks again, and then the leader is
looked for anew.
"""

from typing import Any

import trio
from attrs import define, field

from coordinators.background import Background
from coordinators.replication.ports import LinkBroken
from coordinators.share.questions import StateQuestion, ask
from coordinators.share.states import SHARE_STATE_TOPIC, LocalShareStates
from engine.deferred import Deferred
from engine.errors import BrokerError, ClusterAuthorizationFailed, CoordinatorNotAvailable, NotCoordinator
from wire.kafka.nodes.collected import Collected
from wire.kafka.nodes.links import ANSWER_S, SharedLinks
from wire.kafka.nodes.share_messages import EXCHANGES, read_answers, state_request

DURABLE_WITHIN_S = 30.0
"""As long as the other node waits for its disk and its followers."""


@define(eq=False)
class _Asked:
    """A question to another node."""

    question: StateQuestion
    answer: Deferred[Any] = field(factory=Deferred)


@define(eq=False)
class StateAttempts:
    """Asks once. `node_id` is this node's."""

    local: LocalShareStates
    links: SharedLinks
    background: Background
    node_id: int
    _collected: Collected[_Asked] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._collected = Collected(self.background, self._send)

    def ask(self, question: StateQuestion) -> Deferred[Any]:
        """Of whoever leads the shard now. While there is no topic, this node has it made."""
        topics = self.local.internal_topics
        try:
            is_missing = topics.is_missing(SHARE_STATE_TOPIC)
            leader = self.node_id if is_missing else topics.coordinator_of(SHARE_STATE_TOPIC, question.place.key)
        except BrokerError as error:
            return Deferred.refused(error)
        if leader == self.node_id:
            return ask(self.local, question)
        asked = _Asked(question)
        if leader < 0 or not self._collected.add(leader, asked):
            asked.answer.refuse(CoordinatorNotAvailable(f"nobody keeps the state of {question.place.key} now"))
        return asked.answer

    async def _send(self, node_id: int, asked: list[_Asked]) -> None:
        """A request for each kind of question and each group, all at once."""
        sorts: dict[tuple[type[Any], str], list[_Asked]] = {}
        for each in asked:
            sorts.setdefault((type(each.question), each.question.place.group_id), []).append(each)
        async with trio.open_nursery() as nursery:
            for (kind, group_id), some in sorts.items():
                nursery.start_soon(self._send_some, node_id, kind, group_id, some)

    async def _send_some(self, node_id: int, kind: type[Any], group_id: str, asked: list[_Asked]) -> None:
        exchange = EXCHANGES[kind]
        request = state_request(exchange, [each.question for each in asked])
        try:
            response = await self.links.ask(node_id, request, exchange.versions, DURABLE_WITHIN_S + ANSWER_S)
        except LinkBroken as error:
            for each in asked:
                each.answer.refuse(CoordinatorNotAvailable(f"node {node_id}, which keeps it: {error}"))
            return
        answers = read_answers(exchange, group_id, response)
        for each in asked:
            _settle(each.answer, answers.get(each.question.place, NotCoordinator("nothing was said of it")))


def _settle(answer: Deferred[Any], found: Any) -> None:
    if not isinstance(found, BrokerError):
        answer.resolve(found)
    elif isinstance(found, ClusterAuthorizationFailed):
        # Nodes that do not know each other yet: that passes.
        answer.refuse(CoordinatorNotAvailable(str(found)))
    else:
        answer.refuse(found)
