"""DeleteShareGroupOffsets (92), version 0: let a share group without members forget where it is in topics (KIP-932)."""

from operator import attrgetter

from coordinators.group.share.administration import ShareGroupAdministration, ShareOutcome
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from wire.kafka.request import Context
from wire.kafka.rights import DELETE_GROUP, READ_TOPIC, Each, Need, Rights

KEY = 92
VERSIONS = (0, 0)
RIGHTS = Rights(
    Need(DELETE_GROUP, attrgetter("group_id")),
    Each(
        READ_TOPIC,
        "topics",
        lambda topic, _: topic.topic_name,
        "responses",
        lambda topic, error: _denied(topic, error),
        DeleteShareGroupOffsetsResponse,
    ),
    refuse=lambda _request, _version, error: DeleteShareGroupOffsetsResponse(
        error_code=error_code(error), error_message=str(error)
    ),
)


async def handle(
    request: DeleteShareGroupOffsetsRequest, _: Context, shares: ShareGroupAdministration
) -> DeleteShareGroupOffsetsResponse:
    """Forget each topic; one named twice is forgotten once."""
    try:
        outcomes = await shares.forget_topics(request.group_id, [topic.topic_name for topic in request.topics])
    except BrokerError as error:
        return DeleteShareGroupOffsetsResponse(error_code=error_code(error), error_message=str(error))
    return DeleteShareGroupOffsetsResponse(responses=[_topic(outcome) for outcome in outcomes])


def _topic(outcome: ShareOutcome) -> DeleteShareGroupOffsetsResponseTopic:
    answer = DeleteShareGroupOffsetsResponseTopic(outcome.name, outcome.topic_id)
    if outcome.error is not None:
        answer.error_code, answer.error_message = error_code(outcome.error), str(outcome.error)
    return answer


def _denied(topic: DeleteShareGroupOffsetsRequestTopic, error: BrokerError) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(
        topic_name=topic.topic_name, error_code=error_code(error), error_message=str(error)
    )
