"""How far groups are behind: the end of a partition less the offset that a group committed."""

from attrs import frozen

from coordinators.cluster.controller import ClusterController
from coordinators.group.offsets import Offsets


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
