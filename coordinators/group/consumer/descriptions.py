"""Consumer groups as administrators see them."""

from coordinators.group.consumer.formats import AssignedPartitions, Partitions
from coordinators.group.consumer.group import ConsumerGroup, ConsumerMember
from coordinators.group.consumer.requests import DescribedConsumer, DescribedConsumerGroup, DescribedPlaces
from coordinators.topic_view import TopicView


def describe_consumer_group(group: ConsumerGroup, topics: TopicView, default_assignor: str) -> DescribedConsumerGroup:
    """One group."""
    return DescribedConsumerGroup(
        group.group_id,
        group.state.value,
        group.epoch,
        group.assignment_epoch,
        group.preferred_assignor(group.members.values()) or default_assignor,
        tuple(_member(group, member, topics) for member in group.members.values()),
    )


def _member(group: ConsumerGroup, member: ConsumerMember, topics: TopicView) -> DescribedConsumer:
    said = member.subscription
    return DescribedConsumer(
        member.member_id,
        said.instance_id,
        said.rack_id,
        member.epoch,
        said.client_id,
        said.client_host,
        said.topics,
        said.regex,
        _places(member.assigned, topics),
        _places(group.targets.get(member.member_id, {}), topics),
        said.classic is not None,
    )


def _places(partitions: AssignedPartitions | Partitions, topics: TopicView) -> tuple[DescribedPlaces, ...]:
    """Topics that were deleted meanwhile have no name and are left out."""
    found = ((topics.by_id.get(topic_id), indexes) for topic_id, indexes in partitions.items())
    return tuple(
        DescribedPlaces(topic.topic_id, topic.name, tuple(sorted(indexes)))
        for topic, indexes in found
        if topic is not None
    )
