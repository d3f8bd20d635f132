"""Which process answers questions about which partitions: what members that have an endpoint are told of each other."""

from collections.abc import Iterable

from coordinators.group.streams.configuring import ConfiguredTopology
from coordinators.group.streams.group import StreamsMember
from coordinators.group.streams.requests import EndpointPartitions
from coordinators.group.streams.tasks import TaskIds
from coordinators.topic_view import TopicView


def endpoint_partitions(
    members: Iterable[StreamsMember], configured: ConfiguredTopology, topics: TopicView
) -> tuple[EndpointPartitions, ...]:
    """By member with an endpoint, the partitions that its tasks read."""
    reads = {each.subtopology_id: tuple(each.read_topics()) for each in configured.topology.subtopologies}

    def places(tasks: TaskIds) -> tuple[tuple[str, tuple[int, ...]], ...]:
        found = []
        for subtopology_id, partitions in sorted(tasks.items()):
            for name in reads.get(subtopology_id, ()):
                topic = topics.by_name.get(name)
                count = 0 if topic is None else topic.partition_count
                found.append((name, tuple(each for each in sorted(partitions) if each < count)))
        return tuple(found)

    return tuple(
        EndpointPartitions(member.said.endpoint, places(member.assigned.tasks.active), places(member.assigned.standby))
        for member in members
        if member.said.endpoint is not None
    )
