"""Which process answers questions about which partitions: what members that have an endpoint are told of each other."""

from collections.abc import Iterable

from coordinators.group.streams.configuring import ConfiguredTopology
from coordinators.group.streams.group import StreamsMember
from coordinators.group.streams.requests import EndpointPartitions
from coordinators.group.streams.tasks import TaskIds
from coordinators.group.streams.topology import Topology
from coordinators.topic_view import TopicView

TopicPartitions = tuple[tuple[str, tuple[int, ...]], ...]


def endpoint_partitions(
    members: Iterable[StreamsMember], configured: ConfiguredTopology, topics: TopicView
) -> tuple[EndpointPartitions, ...]:
    """By member with an endpoint, the partitions that its tasks read."""
    topology = configured.topology
    return tuple(
        EndpointPartitions(
            member.said.endpoint,
            read_partitions(topology, member.assigned.tasks.active, topics),
            read_partitions(topology, member.assigned.standby, topics),
        )
        for member in members
        if member.said.endpoint is not None
    )


def read_partitions(topology: Topology, tasks: TaskIds, topics: TopicView) -> TopicPartitions:
    """What tasks read, of topics that there are."""
    found = []
    for subtopology in topology.subtopologies:
        partitions = sorted(tasks.get(subtopology.subtopology_id, ()))
        for name in subtopology.read_topics() if partitions else ():
            topic = topics.by_name.get(name)
            count = 0 if topic is None else topic.partition_count
            found.append((name, tuple(each for each in partitions if each < count)))
    return tuple(found)
