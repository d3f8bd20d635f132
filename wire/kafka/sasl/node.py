"""The nodes' own mechanism as one among the others; see `wire/kafka/nodes/trust.py`."""

from attrs import frozen

from coordinators.access.callers import NODE
from wire.kafka.nodes.trust import Answering
from wire.kafka.sasl.exchange import Shown, Turn


@frozen(eq=False)
class NodeExchange:
    """With what may be another node of the cluster."""

    answering: Answering

    async def take(self, message: bytes) -> Turn:
        answer, link = self.answering.take(message)
        return Turn(answer, None if link is None else Shown(NODE.principal, node=link))
