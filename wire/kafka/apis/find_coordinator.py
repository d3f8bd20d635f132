"""FindCoordinator (10), versions 0-6: which node coordinates a group, a transaction or a share partition.

It is the leader of the partition that holds the key, for groups (key type 0) and transactions (1). From version 6 on
also for the state of a share partition (2; its key is `group:topic id:partition`, KIP-932), which only nodes have a use
for: members of share groups ask for their group. Batched keys from version 4 (KIP-699). The topic in which the
coordinator keeps its state is made when it is first asked for; Kafka answers COORDINATOR_NOT_AVAILABLE meanwhile, here
the answer waits.

So it does for a moment where a coordinator has gone and nobody was elected yet: librdkafka, which has offsets of a
transaction to send, asks three times within half a second, and then never again.
"""

import re
from collections.abc import Coroutine, Sequence
from typing import Any

import trio

from coordinators.access.access import AccessControl, Right
from coordinators.access.acls import CLUSTER_NAME
from coordinators.internal_topics import InternalTopics
from engine.errors import BrokerError, CoordinatorNotAvailable, InvalidRequest, fresh
from wire.kafka.errors import error_code
from wire.kafka.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from wire.kafka.request import Context
from wire.kafka.rights import CLUSTER_ACTION, DESCRIBE_GROUP, DESCRIBE_TRANSACTION, Rights, Within
from wire.kafka.steps import lazily
from wire.kafka.told_nodes import ToldNodes

KEY = 10
VERSIONS = (0, 6)
RIGHTS = Rights(Within(DESCRIBE_GROUP), Within(DESCRIBE_TRANSACTION), Within(CLUSTER_ACTION))

GROUP = 0
TRANSACTION = 1
SHARE = 2
FIRST_BATCHED_VERSION = 4
FIRST_SHARE_VERSION = 6
TOPICS = {GROUP: "__consumer_offsets", TRANSACTION: "__transaction_state", SHARE: "__share_group_state"}
RIGHT_BY_TYPE = {GROUP: DESCRIBE_GROUP, TRANSACTION: DESCRIBE_TRANSACTION, SHARE: CLUSTER_ACTION}
KEYS_WAITED_FOR = 100
"""Who asks for more of them at once is no client that waits for its coordinator."""
ELECTION_S = 1.0
ELECTION_CHECK_S = 0.05
_SHARE_KEY = re.compile(r".+:[A-Za-z0-9_-]{22}:[0-9]{1,10}", re.DOTALL)


def handle(
    request: FindCoordinatorRequest,
    context: Context,
    nodes: ToldNodes,
    internal_topics: InternalTopics,
    access: AccessControl,
) -> FindCoordinatorResponse | Coroutine[Any, Any, FindCoordinatorResponse]:
    """Name the coordinator of each key; make its topic before, if need be."""
    topic, keys = _topic(request, context), _keys(request, context)
    right = RIGHT_BY_TYPE.get(request.key_type)
    denied = frozenset(key for key in keys if right is not None and not _may_find(right, key, context, access))
    if topic is not None and not denied.issuperset(keys) and _lacks_one(topic, keys, nodes, internal_topics):
        return _when_there_is_one(topic, request, context, nodes, internal_topics, denied)
    return _answer(request, context, nodes, internal_topics, None, denied)


def _keys(request: FindCoordinatorRequest, context: Context) -> Sequence[str]:
    return request.coordinator_keys if context.version >= FIRST_BATCHED_VERSION else [request.key]


def _may_find(right: Right, key: str, context: Context, access: AccessControl) -> bool:
    name = CLUSTER_NAME if right is CLUSTER_ACTION else key
    return access.allows(context.caller, right, name, "find_coordinator")


def _topic(request: FindCoordinatorRequest, context: Context) -> str | None:
    is_served = request.key_type != SHARE or context.version >= FIRST_SHARE_VERSION
    return TOPICS.get(request.key_type) if is_served else None


def _lacks_one(topic: str, keys: Sequence[str], nodes: ToldNodes, internal_topics: InternalTopics) -> bool:
    """Whether nobody coordinates one of these, and it is worth waiting for somebody."""
    if not internal_topics.is_there(topic):
        return internal_topics.is_missing(topic)
    if len(keys) > KEYS_WAITED_FOR:
        return False
    return not all(nodes.serves(internal_topics.coordinator_of(topic, key)) for key in keys)


async def _when_there_is_one(
    topic: str,
    request: FindCoordinatorRequest,
    context: Context,
    nodes: ToldNodes,
    internal_topics: InternalTopics,
    denied: frozenset[str],
) -> FindCoordinatorResponse:
    try:
        await internal_topics.ensure(topic)
    except BrokerError as error:
        return _answer(request, context, nodes, internal_topics, error, denied)
    keys, until = _keys(request, context), trio.current_time() + ELECTION_S
    # Elections are told to nobody who waits.
    while trio.current_time() < until and _lacks_one(topic, keys, nodes, internal_topics):  # noqa: ASYNC110
        await trio.sleep(ELECTION_CHECK_S)
    return _answer(request, context, nodes, internal_topics, None, denied)


def _answer(
    request: FindCoordinatorRequest,
    context: Context,
    nodes: ToldNodes,
    internal_topics: InternalTopics,
    refusal: BrokerError | None,
    denied: frozenset[str],
) -> FindCoordinatorResponse:
    topic = _topic(request, context)
    if topic is None:
        kind = request.key_type
        refusal = InvalidRequest(f"coordinators of key type {kind} are not served; 0 is a group, 1 a transaction")

    def find(key: str) -> Coordinator:
        try:
            if key in denied:
                raise RIGHT_BY_TYPE[request.key_type].refusal(key)
            if refusal is not None:
                raise fresh(refusal)
            assert topic is not None, "else it is refused"
            if request.key_type == SHARE and not _SHARE_KEY.fullmatch(key):
                raise InvalidRequest(f"{key!r} is no group:topic id:partition")
            return _coordinator(key, internal_topics.coordinator_of(topic, key), context, nodes)
        except BrokerError as error:
            return Coordinator(
                key=key, node_id=-1, host="", port=-1, error_code=error_code(error), error_message=str(error)
            )

    if context.version >= FIRST_BATCHED_VERSION:
        return FindCoordinatorResponse(coordinators=lazily(request.coordinator_keys, find))
    one = find(request.key)
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message,
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


def _coordinator(key: str, node_id: int, context: Context, nodes: ToldNodes) -> Coordinator:
    told = nodes.coordinator(node_id, context.peer)
    if told is None:
        raise CoordinatorNotAvailable(f"no node coordinates {key!r} at the moment")
    return Coordinator(key=key, node_id=told.node_id, host=told.host, port=told.port)
