"""Groups as others see them: administrators, who ask for members and lag, and tracing, which asks whose a client is."""

from collections.abc import Callable, Iterable, Iterator

from attrs import frozen

from coordinators.cluster.controller import ClusterController
from coordinators.group.classic.group import ClassicGroup, GroupState
from coordinators.group.consumer.group import ConsumerGroup, ConsumerMember
from coordinators.group.consumer.record_formats import AssignedPartitions, Assignment
from coordinators.group.consumer.requests import DescribedConsumer, DescribedConsumerGroup, DescribedPlaces
from coordinators.group.machine import GroupMachine
from coordinators.group.offsets import Offsets
from coordinators.group.requests import DescribedGroup, DescribedMember, ListedGroup
from coordinators.group.share.group import ShareGroup
from coordinators.group.share.requests import DescribedShareGroup, DescribedShareMember
from coordinators.group.streams.configuring import configure
from coordinators.group.streams.endpoints import read_partitions
from coordinators.group.streams.group import StreamsGroup, StreamsMember
from coordinators.group.streams.requests import DescribedStreamsGroup, DescribedStreamsMember
from coordinators.group.streams.tasks import Tasks
from coordinators.group.streams.topology import Topology
from coordinators.share.broker_keys import ASSIGNOR
from coordinators.topic_view import TopicView
from engine.errors import GroupIdNotFound

CLASSIC = "classic"
CONSUMER = "consumer"
SHARE = "share"
STREAMS = "streams"


def kind_of(shard: GroupMachine, group_id: str) -> str | None:
    """Which protocol a group is of, if it exists."""
    if group_id in shard.groups:
        return CLASSIC
    if group_id in shard.consumers.groups:
        return CONSUMER
    if group_id in shard.shares.groups:
        return SHARE
    return STREAMS if group_id in shard.streams.groups else None


def describe(shard: GroupMachine, group_id: str) -> DescribedGroup:
    """One group; what its members said and got is shown only while that is settled."""
    group = shard.groups.get(group_id)
    if group is None:
        is_other = kind_of(shard, group_id) is not None
        raise GroupIdNotFound(f"Group {group_id} {'is not a classic group' if is_other else 'not found'}.")
    protocol = group.protocol if group.state is GroupState.STABLE else None
    return DescribedGroup(
        group_id, group.state.value, group.protocol_type or "", protocol or "", _members(group, protocol)
    )


def _members(group: ClassicGroup, protocol: str | None) -> tuple[DescribedMember, ...]:
    return tuple(
        DescribedMember(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            b"" if protocol is None else member.subscription(protocol),
            b"" if protocol is None else member.assignment,
        )
        for member in group.members.values()
    )


def listed(shard: GroupMachine) -> list[ListedGroup]:
    """Every group of a shard."""
    return [
        *(
            ListedGroup(group_id, group.protocol_type or "", group.state.value, CLASSIC)
            for group_id, group in shard.groups.items()
        ),
        *(
            ListedGroup(group_id, CONSUMER, group.state.value, CONSUMER)
            for group_id, group in shard.consumers.groups.items()
        ),
        *(ListedGroup(group_id, SHARE, group.state.value, SHARE) for group_id, group in shard.shares.groups.items()),
        *(
            ListedGroup(group_id, STREAMS, group.state.value, STREAMS)
            for group_id, group in shard.streams.groups.items()
        ),
    ]


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


def describe_share_group(group: ShareGroup, topics: TopicView) -> DescribedShareGroup:
    """One group."""
    members = tuple(
        DescribedShareMember(
            member.member_id,
            member.subscription.rack_id,
            member.epoch,
            member.subscription.client_id,
            member.subscription.client_host,
            member.subscription.topics,
            _places(member.assigned, topics),
        )
        for member in group.members.values()
    )
    return DescribedShareGroup(
        group.group_id, group.state.value, group.epoch, group.assignment_epoch, ASSIGNOR, members
    )


def describe_streams_group(shard: GroupMachine, group_id: str) -> DescribedStreamsGroup:
    """One group."""
    group = shard.streams.groups.get(group_id)
    if group is None:
        is_other = kind_of(shard, group_id) is not None
        raise GroupIdNotFound(f"Group {group_id} {'is not a streams group' if is_other else 'not found'}.")
    topology, configured = group.topology, group.configured
    if topology is not None and (configured is None or group.is_stale):
        configured = configure(topology, shard.topics)
    topology = topology if configured is None else configured.topology
    return DescribedStreamsGroup(
        group_id,
        group.state.value,
        group.epoch,
        group.assignment_epoch,
        topology,
        tuple(_streams_member(group, member, topology, shard.topics) for member in group.members.values()),
    )


def _streams_member(
    group: StreamsGroup, member: StreamsMember, topology: Topology | None, topics: TopicView
) -> DescribedStreamsMember:
    said, tasks = member.said, member.assigned.tasks
    read = () if topology is None else read_partitions(topology, tasks.active, topics)
    return DescribedStreamsMember(
        member.member_id,
        member.epoch,
        said.instance_id,
        said.rack_id,
        said.client_id,
        said.client_host,
        said.topology_epoch,
        said.process_id,
        said.endpoint,
        said.tags,
        tasks,
        group.targets.get(member.member_id, Tasks()),
        tuple(DescribedPlaces(topics.by_name[name].topic_id, name, indexes) for name, indexes in read if indexes),
    )


def _places(partitions: AssignedPartitions | Assignment, topics: TopicView) -> tuple[DescribedPlaces, ...]:
    """Topics that were deleted meanwhile have no name and are left out."""
    found = ((topics.by_id.get(topic_id), indexes) for topic_id, indexes in partitions.items())
    return tuple(
        DescribedPlaces(topic.topic_id, topic.name, tuple(sorted(indexes)))
        for topic, indexes in found
        if topic is not None
    )


@frozen
class PartitionLag:
    """A group's place in a partition, and the partition's end. `lag` counts offsets, not records."""

    topic: str
    partition: int
    committed_offset: int
    end_offset: int

    @property
    def lag(self) -> int:
        return max(self.end_offset - self.committed_offset, 0)


def lag_of(offsets: Offsets, group_id: str, controller: ClusterController) -> list[PartitionLag]:
    """Per partition for which the group has committed an offset and which exists."""
    found = []
    for (name, index), committed in sorted(offsets.of_group(group_id).items()):
        topic = controller.topics.by_name.get(name)
        partition = None if topic is None else controller.partitions.get(topic.topic_id, index)
        if partition is not None:
            found.append(PartitionLag(name, index, committed.value.offset, partition.reported_end))
    return found


Client = tuple[str, str]


def group_clients(
    machines: Iterable[GroupMachine],
) -> Iterator[tuple[str, Callable[[str], bool], list[Client]]]:
    """Each group with members: its name, whether it reads a topic, and the client ids and addresses of its members."""
    for machine in machines:
        for classic in machine.groups.values():
            if classic.members:
                said = [(member.client_id, _address(member.client_host)) for member in classic.members.values()]
                yield classic.group_id, classic.is_subscribed_to, said
        for group in machine.consumers.groups.values():
            subscriptions = [member.subscription for member in group.members.values()]
            if subscriptions:
                said = [(each.client_id, _address(each.client_host)) for each in subscriptions]
                yield group.group_id, group.is_subscribed_to, said
        for share in machine.shares.groups.values():
            said = [
                (each.subscription.client_id, _address(each.subscription.client_host))
                for each in share.members.values()
            ]
            if said:
                yield share.group_id, share.is_subscribed_to, said
        for streams in machine.streams.groups.values():
            said = [(each.said.client_id, _address(each.said.client_host)) for each in streams.members.values()]
            if said:
                yield streams.group_id, streams.is_subscribed_to, said


def _address(host: str) -> str:
    # As in Java's InetAddress.toString, which clients' tools show.
    return host.removeprefix("/")
