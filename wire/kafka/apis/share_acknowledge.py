"""ShareAcknowledge (79), versions 1-2: what a member says of records that it was given (KIP-932).

All batches of one partition count or none; the answer comes when what was said is durable. From version 2 a member may
renew what it holds (KIP-1222) and is told for how long. Epoch 0 opens no session here; -1 ends one, and what the member
still holds is for others. Version 0 was never released for use, and is not served.
"""

from coordinators.access.access import AccessControl
from coordinators.share.acks import AckBatch
from coordinators.share.sessions import PartitionKey
from coordinators.share.sharing import ShareAnswer, ShareClient, Sharing
from engine.errors import BrokerError, StaleLeader
from wire.kafka.errors import error_code
from wire.kafka.messages.share_acknowledge import (
    AcknowledgementBatch,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from wire.kafka.request import Context, Deferred
from wire.kafka.rights import READ_GROUP, READ_TOPIC, Need, Rights, Within
from wire.kafka.steps import Steps
from wire.kafka.told_nodes import ToldNodes, add_endpoint

KEY = 79
VERSIONS = (1, 2)
RIGHTS = Rights(
    Need(READ_GROUP, lambda request: request.group_id or None),
    Within(READ_TOPIC),
    refuse=lambda _request, _version, error: _refusal(error),
)


Taken = ShareAnswer | Deferred[ShareAnswer]
Answer = ShareAcknowledgeResponse | Deferred[ShareAcknowledgeResponse]


def handle(
    request: ShareAcknowledgeRequest, context: Context, sharing: Sharing, nodes: ToldNodes, access: AccessControl
) -> Answer | Steps[Answer]:
    """Answer when it is durable."""
    peer = context.peer
    refusal = access.topic_judge(context.caller, READ_TOPIC, "share_acknowledge")
    sharer = ShareClient(
        request.group_id or "", request.member_id or "", peer, context.client_id, peer.address, refusal
    )
    acks: dict[PartitionKey, list[AckBatch]] = {}
    for topic in request.topics:
        for each in topic.partitions:
            acks.setdefault((topic.topic_id, each.partition_index), []).extend(
                _ack_batch(batch) for batch in each.acknowledgement_batches
            )
    epoch, renewing = request.share_session_epoch, request.is_renew_ack
    if sharing.is_large(sharer, len(acks)):
        steps = sharing.acknowledge_in_steps(sharer, epoch, acks, renewing=renewing)
        return _acknowledge_many(steps, context, nodes)
    try:
        return _told(sharing.acknowledge(sharer, epoch, acks, renewing=renewing), context, nodes)
    except BrokerError as error:
        return _refusal(error)


def _ack_batch(batch: AcknowledgementBatch) -> AckBatch:
    """With what clients of this broker may say besides: how long what they release is to wait, and which delivery they
    mean."""
    return AckBatch(
        batch.first_offset,
        batch.last_offset,
        batch.acknowledge_types,
        batch.tidegate_backoff_ms if batch.tidegate_backoff_ms >= 0 else None,
        batch.tidegate_delivery_count if batch.tidegate_delivery_count >= 0 else None,
    )


def _acknowledge_many(steps: Steps[Taken], context: Context, nodes: ToldNodes) -> Steps[Answer]:
    try:
        answer = yield from steps
    except BrokerError as error:
        return _refusal(error)
    return _told(answer, context, nodes)


def _told(answer: Taken, context: Context, nodes: ToldNodes) -> Answer:
    def respond(found: ShareAnswer) -> ShareAcknowledgeResponse:
        return _response(found, context, nodes)

    return answer.map(respond, _refusal) if isinstance(answer, Deferred) else respond(answer)


def _refusal(error: BrokerError) -> ShareAcknowledgeResponse:
    return ShareAcknowledgeResponse(error_code=error_code(error), error_message=str(error))


def _response(answer: ShareAnswer, context: Context, nodes: ToldNodes) -> ShareAcknowledgeResponse:
    response = ShareAcknowledgeResponse(acquisition_lock_timeout_ms=answer.lock_duration_ms)
    by_topic: dict[bytes, ShareAcknowledgeTopicResponse] = {}
    for portion in answer.portions:
        topic = by_topic.get(portion.topic_id)
        if topic is None:
            topic = by_topic[portion.topic_id] = ShareAcknowledgeTopicResponse(topic_id=portion.topic_id)
            response.responses.append(topic)
        data = PartitionData(portion.index)
        error = portion.ack_error
        if error is not None:
            data.error_code, data.error_message = error_code(error), str(error)
            if isinstance(error, StaleLeader) and error.leader >= 0:
                data.current_leader = LeaderIdAndEpoch(error.leader, error.leader_epoch)
                add_endpoint(response.node_endpoints, NodeEndpoint, nodes.one(error.leader, context.peer))
        topic.partitions.append(data)
    return response
