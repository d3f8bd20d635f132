"""Envelope (58), version 0: a request that one node carries to another for a caller of one of its doors (KIP-590).

Kafka's brokers forward to their controller so; here the doors of a node reach what other nodes lead and coordinate. The
principal is written in the broker's own way. Only for nodes that have shown that they are, and clients are not told of
it. It is answered out of turn (`wire/kafka/nodes/carried.py`).
"""

from wire.kafka.messages.envelope import EnvelopeRequest, EnvelopeResponse
from wire.kafka.nodes.carried import CarriedRequests
from wire.kafka.request import Context
from wire.kafka.rights import OF_NODES

KEY = 58
VERSIONS = (0, 0)
ADVERTISED = False
RIGHTS = OF_NODES


def handle(request: EnvelopeRequest, context: Context, carried: CarriedRequests) -> EnvelopeResponse | None:
    """Begin to carry it out."""
    return carried.take(request, context)
