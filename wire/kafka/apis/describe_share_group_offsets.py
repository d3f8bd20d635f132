"""DescribeShareGroupOffsets (90), versions 0-1: where share groups are in their partitions (KIP-932).

Topics that are null stand for all that the group has a state of. A partition where it has not begun is at -1. A group
that does not exist is at nothing, which is no error. Version 1 tells the lag (KIP-1226): offsets from the start to the
end that are not finished.
"""

from coordinators.group.share.administration import ShareGroupAdministration, SharePosition
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from wire.kafka.request import Context

KEY = 90
VERSIONS = (0, 1)


async def handle(
    request: DescribeShareGroupOffsetsRequest, _: Context, shares: ShareGroupAdministration
) -> DescribeShareGroupOffsetsResponse:
    """Tell where each group is."""
    return DescribeShareGroupOffsetsResponse(groups=[await _group(group, shares) for group in request.groups])


async def _group(
    group: DescribeShareGroupOffsetsRequestGroup, shares: ShareGroupAdministration
) -> DescribeShareGroupOffsetsResponseGroup:
    wanted = None if group.topics is None else [(topic.topic_name, topic.partitions) for topic in group.topics]
    try:
        found = await shares.positions(group.group_id, wanted)
    except BrokerError as error:
        return DescribeShareGroupOffsetsResponseGroup(
            group.group_id, error_code=error_code(error), error_message=str(error)
        )
    return DescribeShareGroupOffsetsResponseGroup(
        group.group_id,
        [
            DescribeShareGroupOffsetsResponseTopic(
                topic.name, topic.topic_id, [_partition(position) for position in topic.partitions]
            )
            for topic in found
        ],
    )


def _partition(position: SharePosition) -> DescribeShareGroupOffsetsResponsePartition:
    answer = DescribeShareGroupOffsetsResponsePartition(
        position.index, position.start_offset, position.leader_epoch, position.lag
    )
    if position.error is not None:
        answer.error_code, answer.error_message = error_code(position.error), str(position.error)
    return answer
