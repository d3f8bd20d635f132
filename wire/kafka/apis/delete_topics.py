"""DeleteTopics (20), versions 1-6: deletes topics by name, from version 6 also by id (KIP-516).

The name is free as soon as the answer is there; files are removed afterwards.
"""

import trio

from coordinators.access.access import AccessControl
from coordinators.access.quotas.charges import MutationCharge
from coordinators.access.quotas.quotas import Quotas
from coordinators.cluster.controller import ClusterController
from coordinators.topic_view import Topic
from coordinators.topics import TopicDeletionDisabled, Topics
from engine.errors import BrokerError, InvalidRequest, UnknownTopicOrPartition, kept
from wire.kafka.errors import ErrorCode, error_code
from wire.kafka.messages.base import ZERO_UUID
from wire.kafka.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from wire.kafka.mutations import mutation_charge
from wire.kafka.request import Context
from wire.kafka.rights import DELETE_TOPIC, DESCRIBE_TOPIC, Rights, Within
from wire.kafka.slices import slices_of
from wire.kafka.steps import lazily

KEY = 20
VERSIONS = (1, 6)
RIGHTS = Rights(Within(DELETE_TOPIC), Within(DESCRIBE_TOPIC))

FIRST_ID_VERSION = 6
FIRST_STRICT_VERSION = 5
"""From here on clients know that a quota may be exceeded (KIP-599)."""
NAME_AND_ID = InvalidRequest("You may not specify both topic name and topic id.")
NEITHER = InvalidRequest("Neither topic name nor id were specified.")


async def handle(
    request: DeleteTopicsRequest,
    context: Context,
    controller: ClusterController,
    access: AccessControl,
    quotas: Quotas,
) -> DeleteTopicsResponse:
    """Delete what can be deleted."""
    states = request.topics
    if context.version < FIRST_ID_VERSION:
        states = [DeleteTopicState(name=name) for name in request.topic_names]
    wanted: list[str | bytes | BrokerError] = []
    for some in slices_of(states):
        wanted += [_wanted(state, context, access) for state in some]
        await trio.lowlevel.checkpoint()
    charge = mutation_charge(quotas, context, FIRST_STRICT_VERSION)
    if charge is not None:
        wanted = [_charged(each, charge, controller.topics) for each in wanted]
    legal = [each for each in wanted if not isinstance(each, BrokerError)]
    results = iter(await controller.delete_topics(legal))
    outcomes = [each if isinstance(each, BrokerError) else next(results) for each in wanted]
    # The answer says of each what is known by now; topics that are deleted or made meanwhile change nothing of it.
    places = range(len(states))
    responses = lazily(places, lambda place: _entry(states[place], outcomes[place]))
    return DeleteTopicsResponse(throttle_time_ms=0 if charge is None else charge.wait_ms, responses=responses)


def _charged(wanted: str | bytes | BrokerError, charge: MutationCharge, topics: Topics) -> str | bytes | BrokerError:
    """The same, or why it has to wait; what there is not costs nothing."""
    if isinstance(wanted, BrokerError):
        return wanted
    topic = topics.by_name.get(wanted) if isinstance(wanted, str) else topics.by_id.get(wanted)
    return wanted if topic is None else charge.refusal(topic.partition_count) or wanted


def _wanted(state: DeleteTopicState, context: Context, access: AccessControl) -> str | bytes | BrokerError:
    by_id = state.topic_id != ZERO_UUID
    if by_id and state.name is not None:
        return NAME_AND_ID
    if not by_id and state.name is None:
        return NEITHER
    name = access.name_of(state.topic_id) if state.name is None else state.name
    if name is not None and not access.allows(context.caller, DELETE_TOPIC, name, "delete_topics"):
        return _denied(state, name, context, access)
    return state.topic_id if state.name is None else state.name


def _denied(state: DeleteTopicState, name: str, context: Context, access: AccessControl) -> BrokerError:
    """Whoever may see a topic that it named by its id is told its name, and whoever may see one, that there is none."""
    if access.permits(context.caller, DESCRIBE_TOPIC, name):
        if state.name is None:
            state.name = name
        elif name not in access.topics.by_name:
            return kept(UnknownTopicOrPartition(f"no topic is called {name!r}"))
    return kept(DELETE_TOPIC.refusal(state.name or state.topic_id.hex()))


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
