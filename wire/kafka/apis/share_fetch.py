"""ShareFetch (78), versions 1-2: records of the partitions of a share session, handed out one by one (KIP-932).

Acknowledgements may come with it; the answer then waits until they are durable, and not for records. From version 2 a
member may ask for at most so many records (KIP-1206), and renew what it holds (KIP-1222). Batches are given whole, by
regions of segment files; which of their records the member was given stands beside them. A partition that is named only
to acknowledge is fetched from then on, as in Kafka. Version 0 was never released for use, and is not served.
"""

from collections.abc import Iterable

from attrs import evolve

from coordinators.access.access import AccessControl
from coordinators.access.quotas.charges import FetchCharge
from coordinators.access.quotas.quotas import Quotas
from coordinators.share.acks import AckBatch
from coordinators.share.sessions import INITIAL_EPOCH, PartitionKey
from coordinators.share.share_reads import SharePortion
from coordinators.share.sharing import ShareAnswer, ShareAsked, ShareBudget, ShareClient, Sharing
from engine.errors import BrokerError, StaleLeader
from wire.kafka.errors import error_code
from wire.kafka.messages.base import ResponseRecords
from wire.kafka.messages.share_fetch import (
    AcquiredRecords,
    FetchTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from wire.kafka.request import Context, Deferred
from wire.kafka.rights import READ_GROUP, READ_TOPIC, Need, Rights, Within
from wire.kafka.steps import Steps, then
from wire.kafka.told_nodes import ToldNodes, add_endpoint

KEY = 78
VERSIONS = (1, 2)
RIGHTS = Rights(
    Need(READ_GROUP, lambda request: request.group_id or None),
    Within(READ_TOPIC),
    refuse=lambda _request, _version, error: _refusal(error),
)

RECORD_LIMIT = 1

Answer = ShareFetchResponse | Deferred[ShareFetchResponse]


def handle(
    request: ShareFetchRequest,
    context: Context,
    sharing: Sharing,
    nodes: ToldNodes,
    access: AccessControl,
    quotas: Quotas,
) -> Answer | Steps[Answer]:
    """Answer at once if there is something, or no wish to wait; else when there is or it is time."""
    peer = context.peer
    refusal = access.topic_judge(context.caller, READ_TOPIC, "share_fetch")
    sharer = ShareClient(
        request.group_id or "", request.member_id or "", peer, context.client_id, peer.address, refusal
    )
    if request.share_session_epoch == INITIAL_EPOCH:
        peer.when_gone(sharing.connection_lost)
    asked = _asked(request)
    if quotas.consumed.is_on and context.peer.node_id is None:
        charge = FetchCharge.of(quotas.consumed, context.caller, context.client_id)
        if charge is not None:
            return _fetch_charged(charge, sharer, asked, context, sharing, nodes)
    return _fetch(sharer, asked, context, sharing, nodes)


def _fetch_charged(
    charge: FetchCharge, sharer: ShareClient, asked: ShareAsked, context: Context, sharing: Sharing, nodes: ToldNodes
) -> Answer | Steps[Answer]:
    """For a client with a quota: who has used it up acquires nothing, for what is handed out and not sent would be lost
    until its lock runs out. Acknowledgements are taken all the same."""
    budget = asked.budget
    if charge.begins():
        budget = evolve(budget, max_bytes=min(budget.max_bytes, charge.most_bytes))
    elif not asked.is_renewal:
        budget = evolve(budget, max_records=0)

    def tell(response: ShareFetchResponse) -> ShareFetchResponse:
        if not charge.is_refused:
            charge.gave(_given_bytes(response))
        response.throttle_time_ms = charge.wait_ms
        return response

    answer: Answer | Steps[Answer]
    answer = then(_fetch(sharer, evolve(asked, budget=budget), context, sharing, nodes), tell)
    return answer


def _given_bytes(response: ShareFetchResponse) -> int:
    return sum(_size(partition.records) for topic in response.responses for partition in topic.partitions)


def _size(records: ResponseRecords) -> int:
    if isinstance(records, list | tuple):
        return sum(region.size for region in records)
    return len(records) if isinstance(records, bytes | memoryview) else 0


def _fetch(
    sharer: ShareClient, asked: ShareAsked, context: Context, sharing: Sharing, nodes: ToldNodes
) -> Answer | Steps[Answer]:
    if sharing.is_large(sharer, len(asked.partitions) + len(asked.forgotten)):
        return _fetch_many(sharer, asked, context, sharing, nodes)
    try:
        return _told(sharing.fetch(sharer, asked), context, nodes)
    except BrokerError as error:
        return _refusal(error)


def _fetch_many(
    sharer: ShareClient, asked: ShareAsked, context: Context, sharing: Sharing, nodes: ToldNodes
) -> Steps[Answer]:
    try:
        answer = yield from sharing.fetch_in_steps(sharer, asked)
    except BrokerError as error:
        return _refusal(error)
    return _told(answer, context, nodes)


def _told(answer: ShareAnswer | Deferred[ShareAnswer], context: Context, nodes: ToldNodes) -> Answer:
    def respond(found: ShareAnswer) -> ShareFetchResponse:
        return _response(found, context, nodes)

    return answer.map(respond, _refusal) if isinstance(answer, Deferred) else respond(answer)


def _asked(request: ShareFetchRequest) -> ShareAsked:
    return ShareAsked(
        request.share_session_epoch,
        [(topic.topic_id, each.partition_index) for topic in request.topics for each in topic.partitions],
        [(topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions],
        _acks(request.topics),
        ShareBudget(
            request.max_records,
            request.batch_size,
            request.share_acquire_mode == RECORD_LIMIT,
            request.max_bytes,
            request.min_bytes,
            request.max_wait_ms,
        ),
        request.is_renew_ack,
    )


def _acks(topics: Iterable[FetchTopic]) -> dict[PartitionKey, list[AckBatch]]:
    acks: dict[PartitionKey, list[AckBatch]] = {}
    for topic in topics:
        for each in topic.partitions:
            if each.acknowledgement_batches:
                acks.setdefault((topic.topic_id, each.partition_index), []).extend(
                    AckBatch(batch.first_offset, batch.last_offset, batch.acknowledge_types)
                    for batch in each.acknowledgement_batches
                )
    return acks


def _refusal(error: BrokerError) -> ShareFetchResponse:
    return ShareFetchResponse(error_code=error_code(error), error_message=str(error))


def _response(answer: ShareAnswer, context: Context, nodes: ToldNodes) -> ShareFetchResponse:
    response = ShareFetchResponse(acquisition_lock_timeout_ms=answer.lock_duration_ms)
    by_topic: dict[bytes, ShareFetchableTopicResponse] = {}
    for portion in answer.portions:
        topic = by_topic.get(portion.topic_id)
        if topic is None:
            topic = by_topic[portion.topic_id] = ShareFetchableTopicResponse(topic_id=portion.topic_id)
            response.responses.append(topic)
        data = _data(portion)
        topic.partitions.append(data)
        for error in (portion.error, portion.ack_error):
            if isinstance(error, StaleLeader) and error.leader >= 0:
                data.current_leader = LeaderIdAndEpoch(error.leader, error.leader_epoch)
                add_endpoint(response.node_endpoints, NodeEndpoint, nodes.one(error.leader, context.peer))
    return response


def _data(portion: SharePortion) -> PartitionData:
    data = PartitionData(
        portion.index,
        records=b"" if portion.records is None else portion.records.regions,
        acquired_records=[AcquiredRecords(*each) for each in portion.acquired],
    )
    if portion.error is not None:
        data.error_code, data.error_message = error_code(portion.error), str(portion.error)
    if portion.ack_error is not None:
        data.acknowledge_error_code = error_code(portion.ack_error)
        data.acknowledge_error_message = str(portion.ack_error)
    return data
