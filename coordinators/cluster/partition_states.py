"""How partitions are, as their rows tell it: who leads how many, and how many lack replicas.

Every node knows the rows of all partitions. So each can tell how the whole cluster is, and what it leads itself. A node
that has gone leads nothing and is in sync with nobody, even while etcd takes no changes and rows name it still.
"""

from collections.abc import Collection, Iterator

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


def counts_of(topic: Topic, serving: Collection[int], led_by: int | None = None) -> PartitionCounts:
    """Of one topic's partitions, with the nodes that serve; `led_by` leaves out those that another node leads, or
    nobody."""
    counts = PartitionCounts()
    min_insync = topic.config.integer("min.insync.replicas")
    for row in topic.partitions:
        if led_by is not None and row.leader != led_by:
            continue
        needed, staying = needed_in_sync(row, min_insync), set(row.replicas).difference(row.adding)
        in_sync = [node for node in row.isr if node in serving]
        counts.partitions += 1
        counts.leaderless += row.leader not in serving
        counts.under_min_isr += len(in_sync) < needed
        counts.at_min_isr += len(in_sync) == needed < len(row.replicas)
        counts.under_replicated += not staying.issubset(in_sync)
        counts.reassigning += is_moving(row)
        counts.not_preferred += row.leader in serving and row.leader != row.replicas[0]
    return counts


def counted(
    topics: list[Topic], serving: Collection[int], led_by: int | None = None
) -> Iterator[PartitionCounts | None]:
    """Of all of these: the sum comes last; None before is a moment for others."""
    total = PartitionCounts()
    for topic in topics:
        total.add(counts_of(topic, serving, led_by))
        yield None
    yield total
