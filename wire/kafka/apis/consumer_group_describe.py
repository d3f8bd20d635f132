"""ConsumerGroupDescribe (69), versions 0-1: epochs, members and assignments of groups of the new protocol (KIP-848).

A group that does not exist, or is of another protocol, is answered with GROUP_ID_NOT_FOUND. Version 1 tells members of
the classic protocol from those of the new one.
"""

from coordinators.group.consumer.requests import DescribedConsumer, DescribedConsumerGroup, DescribedPlaces
from coordinators.group.groups import Groups
from engine.errors import BrokerError
from wire.kafka.authorized_operations import GROUP_OPERATIONS
from wire.kafka.errors import error_code
from wire.kafka.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from wire.kafka.request import Context, Deferred, Later
from wire.kafka.slices import for_each

KEY = 69
VERSIONS = (0, 1)

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


def handle(request: ConsumerGroupDescribeRequest, _: Context, groups: Groups) -> Later[ConsumerGroupDescribeResponse]:
    """Describe each group; one named twice is described once."""
    return for_each(
        list(dict.fromkeys(request.group_ids)),
        lambda group_id: _describe(group_id, request, groups),
        lambda described: ConsumerGroupDescribeResponse(groups=described),
    )


def _describe(group_id: str, request: ConsumerGroupDescribeRequest, groups: Groups) -> Deferred[DescribedGroup]:
    def refuse(error: BrokerError) -> DescribedGroup:
        return DescribedGroup(error_code=error_code(error), error_message=str(error), group_id=group_id)

    def response(found: DescribedConsumerGroup) -> DescribedGroup:
        group = _group(found)
        if request.include_authorized_operations:
            group.authorized_operations = GROUP_OPERATIONS
        return group

    return groups.describe_consumers(group_id).map(response, refuse)


def _group(found: DescribedConsumerGroup) -> DescribedGroup:
    return DescribedGroup(
        group_id=found.group_id,
        group_state=found.state,
        group_epoch=found.epoch,
        assignment_epoch=found.assignment_epoch,
        assignor_name=found.assignor,
        members=[_member(member) for member in found.members],
    )


def _member(found: DescribedConsumer) -> Member:
    return Member(
        member_id=found.member_id,
        instance_id=found.instance_id,
        rack_id=found.rack_id,
        member_epoch=found.epoch,
        client_id=found.client_id,
        client_host=found.client_host,
        subscribed_topic_names=list(found.topics),
        subscribed_topic_regex=found.regex or None,
        assignment=_assignment(found.assignment),
        target_assignment=_assignment(found.target),
        member_type=CLASSIC_MEMBER if found.is_classic else CONSUMER_MEMBER,
    )


def _assignment(places: tuple[DescribedPlaces, ...]) -> Assignment:
    return Assignment([TopicPartitions(each.topic_id, each.topic, list(each.partitions)) for each in places])
