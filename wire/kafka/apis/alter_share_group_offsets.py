"""AlterShareGroupOffsets (91), version 0: let a share group without members begin elsewhere (KIP-932).

A group that does not exist is made. What was acknowledged past the new beginning is delivered again. An offset of -1
leaves it to the group's configuration; one below that is refused, which Kafka takes.
"""

from operator import attrgetter

from coordinators.group.share.administration import ShareGroupAdministration, ShareOutcome
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from wire.kafka.request import Context
from wire.kafka.rights import READ_GROUP, READ_TOPIC, Each, Need, Rights

KEY = 91
VERSIONS = (0, 0)
RIGHTS = Rights(
    Need(READ_GROUP, attrgetter("group_id")),
    Each(
        READ_TOPIC,
        "topics",
        lambda topic, _: topic.topic_name,
        "responses",
        lambda topic, error: _denied(topic, error),
        AlterShareGroupOffsetsResponse,
    ),
    refuse=lambda _request, _version, error: AlterShareGroupOffsetsResponse(
        error_code=error_code(error), error_message=str(error)
    ),
)


async def handle(
    request: AlterShareGroupOffsetsRequest, _: Context, shares: ShareGroupAdministration
) -> AlterShareGroupOffsetsResponse:
    """Have the group begin at each offset; a topic named twice is answered once."""
    wanted = [
        (topic.topic_name, [(each.partition_index, each.start_offset) for each in topic.partitions])
        for topic in request.topics
    ]
    try:
        outcomes = await shares.begin_elsewhere(request.group_id, wanted)
    except BrokerError as error:
        return AlterShareGroupOffsetsResponse(error_code=error_code(error), error_message=str(error))
    topics: dict[str, AlterShareGroupOffsetsResponseTopic] = {}
    for outcome in outcomes:
        topic = topics.get(outcome.name)
        if topic is None:
            topic = topics[outcome.name] = AlterShareGroupOffsetsResponseTopic(outcome.name, outcome.topic_id, [])
        topic.partitions.append(_partition(outcome))
    return AlterShareGroupOffsetsResponse(responses=list(topics.values()))


def _partition(outcome: ShareOutcome) -> AlterShareGroupOffsetsResponsePartition:
    answer = AlterShareGroupOffsetsResponsePartition(outcome.index)
    if outcome.error is not None:
        answer.error_code, answer.error_message = error_code(outcome.error), str(outcome.error)
    return answer


def _denied(topic: AlterShareGroupOffsetsRequestTopic, error: BrokerError) -> AlterShareGroupOffsetsResponseTopic:
    code = error_code(error)
    entries = [
        AlterShareGroupOffsetsResponsePartition(each.partition_index, code, str(error)) for each in topic.partitions
    ]
    return AlterShareGroupOffsetsResponseTopic(topic_name=topic.topic_name, partitions=entries)
