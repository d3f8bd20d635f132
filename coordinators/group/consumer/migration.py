"""A group with members passes from the classic protocol to the new one, and back (KIP-848), and nobody loses a place.

Up: the first member of the new protocol takes the group over. Members of the classic protocol stay in it and are served
there (`classic_members.py`). Down: when the last member of the new protocol has gone, or has come back as a static
member of the classic one, those who are left form a classic group.

What a member had that is gone belongs to nobody until the classic group has rebalanced. Until then the group's record
names no leader: by that a coordinator that is loaded in between knows that a rebalance is due. (A Kafka broker would
not know.)
"""

from collections.abc import Sequence

from coordinators.group.classic.group import CONSUMER_PROTOCOL, ClassicGroup
from coordinators.group.classic.members import Member
from coordinators.group.config import GroupSettings
from coordinators.group.consumer.group import ConsumerGroup, ConsumerMember, MemberState
from coordinators.group.consumer.protocol import (
    Malformed,
    Places,
    Subscription,
    read_assignment,
    read_subscription,
    write_assignment,
)
from coordinators.group.consumer.record_formats import (
    AssignedPartitions,
    Assignment,
    ClassicMetadata,
    CurrentValue,
    EpochValue,
    SubscriptionValue,
    current_record,
    epoch_record,
    subscription_record,
    target_epoch_record,
    target_record,
)
from coordinators.group.record_formats import GroupValue, MemberValue, group_record
from coordinators.state_machine import Record
from coordinators.topic_view import TopicView
from engine.errors import GroupIdNotFound

UPGRADING = ("upgrade", "bidirectional")
DOWNGRADING = ("downgrade", "bidirectional")
# What these add to an assignment is only their memory of it: librdkafka's sticky one does, and Kafka then refuses.
STANDARD_ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")


# -- up


def check_upgrade(group: ClassicGroup, settings: GroupSettings) -> None:
    """Raises if a classic group with members cannot become a consumer group."""
    reason = None
    if settings.consumer_migration_policy not in UPGRADING:
        reason = "online upgrade is disabled"
    elif not group.is_consumers:
        reason = "the group does not use the consumer embedded protocol"
    elif len(group.members) > settings.consumer_max_size:
        reason = "the group size exceeds the consumer group maximum size"
    if reason is not None:
        raise GroupIdNotFound(f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}.")


def upgrade_records(group: ClassicGroup, topics: TopicView) -> list[Record]:
    """The same group in records of the new protocol; everybody has what it had."""
    group_id, generation = group.group_id, group.generation
    records = [group_record(group_id, None)]
    try:
        for member in group.members.values():
            records += _upgraded(group_id, member, generation, group.protocol, topics)
    except Malformed:
        raise GroupIdNotFound(
            f"Cannot upgrade classic group {group_id} to consumer group because the embedded consumer protocol is "
            "malformed."
        ) from None
    records.append(epoch_record(group_id, EpochValue(generation)))
    records.append(target_epoch_record(group_id, generation))
    return records


def _upgraded(
    group_id: str, member: Member, generation: int, protocol: str | None, topics: TopicView
) -> tuple[Record, ...]:
    name = protocol if protocol is not None and member.subscription(protocol) else member.protocols[0][0]
    said = read_subscription(member.subscription(name))
    places, user_data = read_assignment(member.assignment)
    if user_data and name not in STANDARD_ASSIGNORS:
        raise GroupIdNotFound(
            f"Cannot upgrade classic group {group_id} to consumer group because an unsupported custom assignor is in "
            "use. Please refer to the documentation or switch to a default assignor before re-attempting the upgrade."
        )
    partitions = by_id(places, topics)
    assigned = {topic_id: dict.fromkeys(indexes, generation) for topic_id, indexes in partitions.items()}
    current = CurrentValue(generation, generation, int(MemberState.STABLE), assigned, {})
    subscription = SubscriptionValue(
        member.instance_id,
        said.rack_id,
        member.client_id,
        member.client_host,
        tuple(sorted(set(said.topics))),
        None,
        member.rebalance_timeout_ms,
        None,
        ClassicMetadata(member.session_timeout_ms, member.protocols),
    )
    return (
        subscription_record(group_id, member.member_id, subscription),
        target_record(group_id, member.member_id, partitions),
        current_record(group_id, member.member_id, current),
    )


# -- down


def can_downgrade(left: Sequence[ConsumerMember], settings: GroupSettings) -> bool:
    """Whether these members can form a classic group: all of them are of that protocol."""
    are_classic = all(member.subscription.classic is not None for member in left) and bool(common_protocols(left))
    return are_classic and settings.consumer_migration_policy in DOWNGRADING and len(left) <= settings.max_size


def downgrade_records(
    group: ConsumerGroup,
    left: Sequence[ConsumerMember],
    topics: TopicView,
    now_ms: int,
    *,
    is_settled: bool,
) -> list[Record]:
    """What is left of a consumer group in a record of the classic protocol; nobody leads it if it has to rebalance."""
    protocol = common_protocols(left)[0]
    members = tuple(_downgraded(member, protocol, topics) for member in left)
    leader = left[0].member_id if is_settled else None
    value = GroupValue(CONSUMER_PROTOCOL, group.epoch, protocol, leader, now_ms, members)
    return [*group.tombstones(), group_record(group.group_id, value)]


def _downgraded(member: ConsumerMember, protocol: str, topics: TopicView) -> MemberValue:
    said = member.subscription
    assert said.classic is not None
    return MemberValue(
        member.member_id,
        said.instance_id,
        said.client_id,
        said.client_host,
        said.rebalance_timeout_ms,
        said.classic.session_timeout_ms,
        dict(said.classic.protocols)[protocol],
        classic_assignment(member, topics),
    )


# -- both


def common_protocols(members: Sequence[ConsumerMember]) -> list[str]:
    """The protocols that all classic members know, those that the first one prefers first."""
    spoken = [member.subscription.classic for member in members if member.subscription.classic is not None]
    known = [[name for name, _ in classic.protocols] for classic in spoken]
    return [name for name in known[0] if all(name in each for each in known[1:])] if known else []


def classic_subscription(member: ConsumerMember) -> Subscription:
    """What a classic member said, about the protocol that it prefers."""
    assert member.subscription.classic is not None
    return read_subscription(member.subscription.classic.protocols[0][1])


def classic_assignment(member: ConsumerMember, topics: TopicView) -> bytes:
    """What a member has, as members of the classic protocol are told."""
    return write_assignment(by_name(member.assigned, topics), classic_subscription(member).version)


def by_id(places: Places, topics: TopicView) -> Assignment:
    """Topics that do not exist any more are left out."""
    return {
        topics.by_name[name].topic_id: indexes for name, indexes in places.items() if indexes and name in topics.by_name
    }


def by_name(partitions: AssignedPartitions, topics: TopicView) -> Places:
    return {
        topics.by_id[topic_id].name: frozenset(indexes)
        for topic_id, indexes in partitions.items()
        if topic_id in topics.by_id
    }
