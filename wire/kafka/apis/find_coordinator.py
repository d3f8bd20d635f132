"""FindCoordinator (10), versions 0-6: which node coordinates a group or a transaction.

On one node that is this node, for groups (key type 0) and transactions (1). Share groups (2, from version 6)
are not served yet. Batched keys from version 4 (KIP-699). The topic in which the coordinator keeps its state is
made when it is first asked for; Kafka answers COORDINATOR_NOT_AVAILABLE meanwhile, here the answer waits.
"""

from collections.abc import Coroutine
from typing import Any

from coordinators.internal_topics import InternalTopics
from coordinators.node_identity import NodeIdentity
from engine.errors import BrokerError, InvalidRequest
from wire.kafka.errors import error_code
from wire.kafka.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from wire.kafka.request import Context
from wire.kafka.steps import lazily

KEY = 10
VERSIONS = (0, 6)

GROUP = 0
TRANSACTION = 1
FIRST_BATCHED_VERSION = 4
TOPICS = {GROUP: "__consumer_offsets", TRANSACTION: "__transaction_state"}


def handle(
    request: FindCoordinatorRequest, context: Context, node: NodeIdentity, internal_topics: InternalTopics
) -> FindCoordinatorResponse | Coroutine[Any, Any, FindCoordinatorResponse]:
    """Name the coordinator of each key; make its topic before, if need be."""
    topic = TOPICS.get(request.key_type)
    if topic is not None and internal_topics.is_missing(topic):
        return _after_making(topic, request, context, node, internal_topics)
    return _answer(request, context, node, None)


async def _after_making(
    topic: str, request: FindCoordinatorRequest, context: Context, node: NodeIdentity, internal_topics: InternalTopics
) -> FindCoordinatorResponse:
    try:
        await internal_topics.ensure(topic)
    except BrokerError as error:
        return _answer(request, context, node, error)
    return _answer(request, context, node, None)


def _answer(
    request: FindCoordinatorRequest, context: Context, node: NodeIdentity, error: BrokerError | None
) -> FindCoordinatorResponse:
    if context.version >= FIRST_BATCHED_VERSION:
        found = lazily(request.coordinator_keys, lambda key: _find(key, request.key_type, context, node, error))
        return FindCoordinatorResponse(coordinators=found)
    one = _find(request.key, request.key_type, context, node, error)
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message,
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


def _find(key: str, key_type: int, context: Context, node: NodeIdentity, error: BrokerError | None) -> Coordinator:
    if key_type not in TOPICS:
        error = InvalidRequest(f"coordinators of key type {key_type} are not served; 0 is a group, 1 a transaction")
    if error is not None:
        return Coordinator(
            key=key, node_id=-1, host="", port=-1, error_code=error_code(error), error_message=str(error)
        )
    return Coordinator(key=key, node_id=node.node_id, host=context.peer.endpoint.host, port=context.peer.endpoint.port)
