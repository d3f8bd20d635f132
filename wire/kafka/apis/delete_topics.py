"""DeleteTopics (20), versions 1-6: deletes topics by name, from version 6 also by id (KIP-516).

The name is free as soon as the answer is there; files are removed afterwards.
"""

from coordinators.topic_view import Topic
from coordinators.topics import TopicDeletionDisabled
from engine.errors import BrokerError, InvalidRequest
from wire.kafka.errors import ErrorCode, error_code
from wire.kafka.messages.base import ZERO_UUID
from wire.kafka.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from wire.kafka.request import Context

KEY = 20
VERSIONS = (1, 6)

FIRST_ID_VERSION = 6


async def handle(request: DeleteTopicsRequest, context: Context) -> DeleteTopicsResponse:
    """Delete what can be deleted."""
    states = request.topics
    if context.version < FIRST_ID_VERSION:
        states = [DeleteTopicState(name=name) for name in request.topic_names]
    wanted = [_wanted(state) for state in states]
    legal = [each for each in wanted if not isinstance(each, BrokerError)]
    results = iter(await context.node.controller.delete_topics(legal))
    return DeleteTopicsResponse(
        responses=[
            _entry(state, each if isinstance(each, BrokerError) else next(results))
            for state, each in zip(states, wanted, strict=True)
        ]
    )


def _wanted(state: DeleteTopicState) -> str | bytes | BrokerError:
    by_id = state.topic_id != ZERO_UUID
    if by_id and state.name is not None:
        return InvalidRequest("You may not specify both topic name and topic id.")
    if not by_id and state.name is None:
        return InvalidRequest("Neither topic name nor id were specified.")
    return state.topic_id if state.name is None else state.name


def _entry(state: DeleteTopicState, result: Topic | BrokerError) -> DeletableTopicResult:
    if isinstance(result, Topic):
        return DeletableTopicResult(name=result.name, topic_id=result.topic_id)
    disabled = isinstance(result, TopicDeletionDisabled)
    return DeletableTopicResult(
        name=state.name,
        topic_id=state.topic_id,
        error_code=ErrorCode.TOPIC_DELETION_DISABLED if disabled else error_code(result),
        error_message=str(result),
    )
