"""DeleteTopics (20), versions 1-6: deletes topics by name, from version 6 also by id (KIP-516).

The name is free as soon as the answer is there; files are removed afterwards.
"""

from coordinators.topic_view import Topic
from coordinators.topics import TopicDeletionDisabled
from engine.errors import BrokerError
from wire.kafka.errors import ErrorCode, error_code
from wire.kafka.messages.base import ZERO_UUID
from wire.kafka.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from wire.kafka.request import Context

KEY = 20
VERSIONS = (1, 6)

FIRST_ID_VERSION = 6


async def handle(request: DeleteTopicsRequest, context: Context) -> DeleteTopicsResponse:
    """Delete what can be deleted."""
    wanted: list[str | bytes]
    if context.version >= FIRST_ID_VERSION:
        wanted = [topic.topic_id if topic.name is None else topic.name for topic in request.topics]
    else:
        wanted = list(request.topic_names)
    results = await context.node.controller.delete_topics(wanted)
    return DeleteTopicsResponse(responses=[_entry(each, result) for each, result in zip(wanted, results, strict=True)])


def _entry(wanted: str | bytes, result: Topic | BrokerError) -> DeletableTopicResult:
    if isinstance(result, Topic):
        return DeletableTopicResult(name=result.name, topic_id=result.topic_id)
    disabled = isinstance(result, TopicDeletionDisabled)
    return DeletableTopicResult(
        name=wanted if isinstance(wanted, str) else None,
        topic_id=wanted if isinstance(wanted, bytes) else ZERO_UUID,
        error_code=ErrorCode.TOPIC_DELETION_DISABLED if disabled else error_code(result),
        error_message=str(result),
    )
