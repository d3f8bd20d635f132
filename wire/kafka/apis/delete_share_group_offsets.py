"""DeleteShareGroupOffsets (92), version 0: let a share group without members forget where it is in topics (KIP-932)."""

from coordinators.group.share.administration import ShareGroupAdministration, ShareOutcome
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from wire.kafka.request import Context

KEY = 92
VERSIONS = (0, 0)


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
