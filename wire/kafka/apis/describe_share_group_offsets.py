"""DescribeShareGroupOffsets (90), versions 0-1: where share groups are in their partitions (KIP-932).

Topics that are null stand for all that the group has a state of. A partition where it has not begun is at -1. A group
that does not exist is at nothing, which is no error. Version 1 tells the lag (KIP-1226): offsets from the start to the
end that are not finished.
"""

from coordinators.access.access import AccessControl
from coordinators.group.share.administration import ShareGroupAdministration, SharePosition
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from wire.kafka.request import Context
from wire.kafka.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC, Each, Rights, Within

KEY = 90
VERSIONS = (0, 1)
RIGHTS = Rights(
    Each(
        DESCRIBE_GROUP,
        "groups",
        lambda group, _: group.group_id,
        "groups",
        lambda group, error: _refused(group, error),
        DescribeShareGroupOffsetsResponse,
    ),
    Within(DESCRIBE_TOPIC),
)


async def handle(
    request: DescribeShareGroupOffsetsRequest, context: Context, shares: ShareGroupAdministration, access: AccessControl
) -> DescribeShareGroupOffsetsResponse:
    """Tell where each group is."""
    return DescribeShareGroupOffsetsResponse(
        groups=[await _group(group, context, shares, access) for group in request.groups]
    )


async def _group(
    group: DescribeShareGroupOffsetsRequestGroup,
    context: Context,
    shares: ShareGroupAdministration,
    access: AccessControl,
) -> DescribeShareGroupOffsetsResponseGroup:
    def is_seen(name: str) -> bool:
        return access.permits(context.caller, DESCRIBE_TOPIC, name)

    asked = None if group.topics is None else [topic for topic in group.topics if is_seen(topic.topic_name)]
    wanted = None if asked is None else [(topic.topic_name, topic.partitions) for topic in asked]
    try:
        found = await shares.positions(group.group_id, wanted)
    except BrokerError as error:
        return _refused(group, error)
    hidden = [topic for topic in group.topics or () if not is_seen(topic.topic_name)]
    return DescribeShareGroupOffsetsResponseGroup(
        group.group_id,
        [
            DescribeShareGroupOffsetsResponseTopic(
                topic.name, topic.topic_id, [_partition(position) for position in topic.partitions]
            )
            for topic in found
            if is_seen(topic.name)
        ]
        + [_denied(topic) for topic in hidden],
    )


def _refused(
    group: DescribeShareGroupOffsetsRequestGroup, error: BrokerError
) -> DescribeShareGroupOffsetsResponseGroup:
    return DescribeShareGroupOffsetsResponseGroup(
        group.group_id, error_code=error_code(error), error_message=str(error)
    )


def _denied(topic: DescribeShareGroupOffsetsRequestTopic) -> DescribeShareGroupOffsetsResponseTopic:
    error = DESCRIBE_TOPIC.refusal(topic.topic_name)
    code = error_code(error)
    entries = [
        DescribeShareGroupOffsetsResponsePartition(index, -1, -1, -1, code, str(error)) for index in topic.partitions
    ]
    return DescribeShareGroupOffsetsResponseTopic(topic_name=topic.topic_name, partitions=entries)


def _partition(position: SharePosition) -> DescribeShareGroupOffsetsResponsePartition:
    answer = DescribeShareGroupOffsetsResponsePartition(
        position.index, position.start_offset, position.leader_epoch, position.lag
    )
    if position.error is not None:
        answer.error_code, answer.error_message = error_code(position.error), str(position.error)
    return answer
