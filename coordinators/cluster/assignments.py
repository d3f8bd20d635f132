"""Lists of replicas as clients give them: whether they can be, in Kafka's words, and what row a new partition gets."""

from collections.abc import Collection, Mapping, Sequence

from engine.catalogue.records import NodeRecord, PartitionRecord
from engine.errors import InvalidReplicaAssignment


def check_replicas(nodes: Mapping[int, NodeRecord], replicas: Sequence[int], factor: int | None = None) -> None:
    """Raises `InvalidReplicaAssignment` for a list that no partition can have; `factor` is what its topic has."""
    if not replicas:
        raise InvalidReplicaAssignment("The manual partition assignment includes an empty replica list.")
    before = None
    for replica in sorted(replicas):
        if replica not in nodes:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes broker {replica}, but no such broker is registered."
            )
        if replica == before:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes the broker {replica} more than once."
            )
        before = replica
    if factor is not None and len(replicas) != factor:
        raise InvalidReplicaAssignment(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not "
            f"consistent with previous partitions, which have {factor} replica(s)."
        )


def assigned(
    nodes: Mapping[int, NodeRecord], assignments: Collection[tuple[int, Sequence[int]]]
) -> list[PartitionRecord]:
    """The rows of new partitions, each with its number, that were given their replicas; all have as many."""
    rows: list[PartitionRecord] = []
    for index, replicas in assignments:
        check_replicas(nodes, replicas, len(rows[0].replicas) if rows else None)
        row = new_row(nodes, replicas)
        if row is None:
            raise InvalidReplicaAssignment(
                f"All brokers specified in the manual partition assignment for partition {index} are fenced or in "
                "controlled shutdown."
            )
        rows.append(row)
    return rows


def new_row(nodes: Mapping[int, NodeRecord], replicas: Sequence[int]) -> PartitionRecord | None:
    """A new partition: those that are eligible are in sync, for there is nothing yet; the first of them leads. None if
    there is none."""
    isr = tuple(node_id for node_id in replicas if nodes[node_id].is_eligible)
    return PartitionRecord(tuple(replicas), isr, isr[0]) if isr else None
