"""ConsumerGroupDescribe (69), versions 0-1: epochs, members and assignments of groups of the new protocol (KIP-848).

A group that does not exist, or is of another protocol, is answered with GROUP_ID_NOT_FOUND. Version 1 tells members of
the classic protocol from those of the new one.
"""

from coordinators.access.access import AccessControl
from coordinators.access.acls import ResourceKind
from coordinators.group.consumer.requests import DescribedConsumer, DescribedConsumerGroup, DescribedPlaces
from coordinators.group.groups import Groups
from engine.errors import BrokerError, TopicAuthorizationFailed
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
from wire.kafka.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC, Each, Rights, Within, by_text
from wire.kafka.slices import for_each

KEY = 69
VERSIONS = (0, 1)
RIGHTS = Rights(
    Each(
        DESCRIBE_GROUP,
        "group_ids",
        by_text,
        "groups",
        lambda name, error: _refused(name, error),
        ConsumerGroupDescribeResponse,
    ),
    Within(DESCRIBE_TOPIC),
)

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1

HIDDEN = "The group has described topic(s) that the client is not authorized to describe."
"""As Kafka puts it."""


def handle(
    request: ConsumerGroupDescribeRequest, context: Context, groups: Groups, access: AccessControl
) -> Later[ConsumerGroupDescribeResponse]:
    """Describe each group; one named twice is described once."""
    return for_each(
        list(dict.fromkeys(request.group_ids)),
        lambda group_id: _describe(group_id, request, context, groups, access),
        lambda described: ConsumerGroupDescribeResponse(groups=described),
    )


def _describe(
    group_id: str, request: ConsumerGroupDescribeRequest, context: Context, groups: Groups, access: AccessControl
) -> Deferred[DescribedGroup]:
    caller = context.caller

    def response(found: DescribedConsumerGroup) -> DescribedGroup:
        if not all(access.permits(caller, DESCRIBE_TOPIC, topic) for topic in _topics(found)):
            return _refused(group_id, TopicAuthorizationFailed(HIDDEN))
        group = _group(found)
        if request.include_authorized_operations:
            group.authorized_operations = access.operations(caller, ResourceKind.GROUP, group_id)
        return group

    return groups.describe_consumers(group_id).map(response, lambda error: _refused(group_id, error))


def _topics(found: DescribedConsumerGroup) -> set[str]:
    """Whatever the answer tells of."""
    members = found.members
    return {place.topic for member in members for place in (*member.assignment, *member.target)}


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


def _refused(group_id: str, error: BrokerError) -> DescribedGroup:
    return DescribedGroup(error_code=error_code(error), error_message=str(error), group_id=group_id)
