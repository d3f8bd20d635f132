"""Fetch (1), versions 4-18: record batches from an offset on, waiting for them if there are too few.

Sessions from version 7 (KIP-227), topic ids from 13 (KIP-516). The answer names regions of segment files that
are sent without being read. At least one batch is returned even if it is larger than the limits (KIP-74), and
an answer may end inside a batch. An incremental fetch with nothing new waits like any other. Under read_committed
the answer ends at the last stable offset and names the aborted transactions in it (KIP-98). Only nodes of the cluster
fetch as replicas (`wire/kafka/nodes/following.py`). The reading itself is `coordinators/records/reading.py`.
"""

from collections.abc import Sequence
from functools import partial
from types import GeneratorType
from typing import Any

from coordinators.access.access import AccessControl
from coordinators.access.quotas.charges import FetchCharge
from coordinators.access.quotas.quotas import Quotas
from coordinators.records.portions import Portion
from coordinators.records.reading import Read, Reading
from coordinators.replication.ports import FollowerReads
from engine.errors import BrokerError, NotLeader, StaleLeader, TopicAuthorizationFailed
from wire.kafka.errors import error_code
from wire.kafka.fetch_sessions import NO_SESSION, FetchedPartition, FetchSession, FetchSessions
from wire.kafka.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from wire.kafka.nodes.following import refused_replica, replica_of, serve_replica
from wire.kafka.request import Context, Deferred
from wire.kafka.rights import CLUSTER_ACTION, READ_TOPIC, Rights, Within
from wire.kafka.steps import Steps, then
from wire.kafka.told_nodes import ToldNodes, add_endpoint

KEY = 1
VERSIONS = (4, 18)
RIGHTS = Rights(Within(READ_TOPIC), Within(CLUSTER_ACTION))

FIRST_TOPIC_ID_VERSION = 13
FIRST_HINT_VERSION = 16
READ_COMMITTED = 1
FEW_PARTITIONS = 200
"""So many are read at once; more, in steps."""

Answer = FetchResponse | Deferred[FetchResponse] | Deferred[Steps[FetchResponse]]


def handle(
    request: FetchRequest,
    context: Context,
    reading: Reading,
    sessions: FetchSessions,
    nodes: ToldNodes,
    followers: FollowerReads,
    access: AccessControl,
    quotas: Quotas,
) -> Answer | Steps[Answer]:
    """Answer at once if there is enough, an error, or no wish to wait; else when there is enough or it is time."""
    if replica_of(request) >= 0:
        if access.is_enforced and context.peer.node_id is None:
            return refused_replica(request, _not_a_replica(context, access))
        return serve_replica(request, context, followers, reading.directory)
    peer, client_id = context.peer, context.client_id
    by_topic_id = context.version >= FIRST_TOPIC_ID_VERSION
    try:
        session, partitions, incremental = sessions.begin(request, by_topic_id=by_topic_id)
    except BrokerError as error:
        return FetchResponse(error_code=error_code(error), session_id=NO_SESSION)
    if peer.reader is None:
        peer.reader = reading.begins(client_id, peer.address)
    read = Read(
        reading,
        partitions,
        request.max_bytes,
        request.min_bytes,
        request.max_wait_ms / 1000,
        request.isolation_level == READ_COMMITTED,
        incremental,
        client_id,
        peer.address,
        request.rack_id,
        # Whoever says nothing of its rack was never sent to a follower: it is wrong about the leader.
        bool(request.rack_id),
        access.topic_judge(context.caller, READ_TOPIC, "fetch") if access.is_enforced else None,
    )
    if quotas.consumed.is_on:
        charge = FetchCharge.of(quotas.consumed, context.caller, client_id)
        if charge is not None:
            return _fetch_charged(charge, read, session, context, nodes, sessions)
    return _fetch(read, session, context, nodes)


def _fetch(read: Read, session: FetchSession | None, context: Context, nodes: ToldNodes) -> Answer | Steps[Answer]:
    incremental = read.only_news
    if len(read.wanted) > FEW_PARTITIONS:
        return _fetch_many(read, session, context, nodes)
    portions = read.begin()
    if isinstance(portions, Deferred):
        return portions.map(partial(_response, session, incremental, context, nodes))
    return _response(session, incremental, context, nodes, portions)


def _fetch_charged(
    charge: FetchCharge,
    read: Read,
    session: FetchSession | None,
    context: Context,
    nodes: ToldNodes,
    sessions: FetchSessions,
) -> Answer | Steps[Answer]:
    """The same for a client with a quota. One that has read too much gets an empty answer and is told to wait; where it
    would have begun a session it begins it when it comes again, as with Kafka."""
    read.max_bytes = min(read.max_bytes, charge.most_bytes)
    read.gives = charge.gives

    def tell(response: FetchResponse | Steps[FetchResponse]) -> Any:
        if isinstance(response, GeneratorType):
            return then(response, tell)
        assert isinstance(response, FetchResponse)
        response.throttle_time_ms = charge.wait_ms
        if charge.is_refused and session is not None and not read.only_news:
            sessions.end(session)
            response.session_id = NO_SESSION
        return response

    answer: Answer | Steps[Answer] = then(_fetch(read, session, context, nodes), tell)
    return answer


def _not_a_replica(context: Context, access: AccessControl) -> BrokerError:
    """As Kafka tells it: who may not act for the cluster may not read so (CVE-2018-1288); who may, is no replica."""
    if access.allows(context.caller, CLUSTER_ACTION, asked="fetch"):
        return NotLeader("no replica of this partition has shown itself")
    return TopicAuthorizationFailed("not authorized to fetch as a replica")


def _fetch_many(read: Read, session: FetchSession | None, context: Context, nodes: ToldNodes) -> Steps[Answer]:
    portions = yield from read.begin_in_steps()
    if isinstance(portions, Deferred):
        return portions.map(partial(_respond_later, session, read.only_news, context, nodes))
    return (yield from _respond_in_steps(session, read.only_news, context, nodes, portions))


def _respond_later(
    session: FetchSession | None,
    incremental: bool,
    context: Context,
    nodes: ToldNodes,
    reading: Steps[list[Portion]],
) -> Steps[FetchResponse]:
    portions = yield from reading
    return (yield from _respond_in_steps(session, incremental, context, nodes, portions))


def _respond_in_steps(
    session: FetchSession | None,
    incremental: bool,
    context: Context,
    nodes: ToldNodes,
    portions: Sequence[Portion],
) -> Steps[FetchResponse]:
    response = FetchResponse(session_id=session.session_id if session else NO_SESSION)
    for portion in portions:
        _add(response, session, incremental, portion)
        if portion.error is not None:
            _hint(response, portion, context, nodes)
        yield
    return response


def _response(
    session: FetchSession | None,
    incremental: bool,
    context: Context,
    nodes: ToldNodes,
    portions: Sequence[Portion],
) -> FetchResponse:
    """What was read; in an incremental session only what the client does not know."""
    response = FetchResponse(session_id=session.session_id if session else NO_SESSION)
    for portion in portions:
        _add(response, session, incremental, portion)
        if portion.error is not None:
            _hint(response, portion, context, nodes)
    return response


def _hint(response: FetchResponse, portion: Portion, context: Context, nodes: ToldNodes) -> None:
    """Who leads a partition that was refused for that; it is the last one answered."""
    error = portion.error
    if isinstance(error, StaleLeader) and error.leader >= 0 and context.version >= FIRST_HINT_VERSION:
        hint = LeaderIdAndEpoch(error.leader, error.leader_epoch)
        response.responses[-1].partitions[-1].current_leader = hint
        add_endpoint(response.node_endpoints, NodeEndpoint, nodes.one(error.leader, context.peer))


def _add(response: FetchResponse, session: FetchSession | None, incremental: bool, portion: Portion) -> None:
    fetched, topics = portion.wanted, response.responses
    if session is not None:
        assert isinstance(fetched, FetchedPartition)
        must_answer = fetched.must_answer(portion)
        if incremental and not must_answer:
            return
        if portion.records is not None and fetched.key in session.partitions:
            session.move_to_end(fetched)
    named = fetched.topic
    if isinstance(named, str):
        if not topics or topics[-1].topic != named:
            topics.append(FetchableTopicResponse(topic=named))
    elif not topics or topics[-1].topic_id != named:
        topics.append(FetchableTopicResponse(topic_id=named))
    topics[-1].partitions.append(_data(portion))


def _data(portion: Portion) -> PartitionData:
    data = PartitionData(
        portion.wanted.index,
        0 if portion.error is None else error_code(portion.error),
        portion.end_offset,
        portion.stable_offset,
        portion.start_offset,
        aborted_transactions=None,
        preferred_read_replica=portion.nearest,
        records=b"" if portion.records is None else portion.records.regions,
    )
    if portion.aborted is not None:
        data.aborted_transactions = [AbortedTransaction(one.producer_id, one.first_offset) for one in portion.aborted]
    if portion.divergence is not None:
        data.diverging_epoch = EpochEndOffset(*portion.divergence)
    return data
