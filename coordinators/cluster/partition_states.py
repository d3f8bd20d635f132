"""How partitions are, as their rows tell it: who leads how many, and how many lack replicas.

Every node knows the rows of all partitions. So each can tell how the whole cluster is, and what it leads itself.
"""

from collections.abc import Iterator

from attrs import define

from coordinators.cluster.reassignments import is_moving
from coordinators.topic_view import Topic
from engine.partition.replicas import needed_in_sync


@define
class PartitionCounts:
    """Of some partitions. One may count in several."""

    partitions: int = 0
    leaderless: int = 0
    """Nobody leads them: they can be neither written nor read."""
    under_min_isr: int = 0
    """Fewer replicas are in sync than `min.insync.replicas` asks for: `acks=all` is refused."""
    at_min_isr: int = 0
    """One more replica that goes, and they are below."""
    under_replicated: int = 0
    """Some replicas are not in sync, those apart that are only being added."""
    reassigning: int = 0
    not_preferred: int = 0
    """Another than the first replica leads."""

    def add(self, other: "PartitionCounts") -> None:
        """Those too."""
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))


COUNTED = tuple(PartitionCounts.__annotations__)


def counts_of(topic: Topic, led_by: int | None = None) -> PartitionCounts:
    """Of one topic's partitions; `led_by` leaves out those that another node leads, or nobody."""
    counts = PartitionCounts()
    min_insync = topic.config.integer("min.insync.replicas")
    for row in topic.partitions:
        if led_by is not None and row.leader != led_by:
            continue
        needed, staying = needed_in_sync(row, min_insync), set(row.replicas).difference(row.adding)
        counts.partitions += 1
        counts.leaderless += row.leader < 0
        counts.under_min_isr += len(row.isr) < needed
        counts.at_min_isr += len(row.isr) == needed < len(row.replicas)
        counts.under_replicated += not staying.issubset(row.isr)
        counts.reassigning += is_moving(row)
        counts.not_preferred += row.leader >= 0 and row.leader != row.replicas[0]
    return counts


def counted(topics: list[Topic], led_by: int | None = None) -> Iterator[PartitionCounts | None]:
    """Of all of these: the sum comes last; None before is a moment for others."""
    total = PartitionCounts()
    for topic in topics:
        total.add(counts_of(topic, led_by))
        yield None
    yield total
