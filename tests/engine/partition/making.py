"""Partitions that are made and given up at once."""

from collections.abc import Iterable

from engine.partition.partition import Partition
from engine.partition.partitions import Partitions, PartitionSpec


def create(partitions: Partitions, specs: Iterable[PartitionSpec]) -> None:
    """New, empty ones."""
    for spec in specs:
        partitions.add(spec, partitions.new_log(spec))


def remove(partitions: Partitions, topic_id: bytes) -> list[Partition]:
    """All of a topic."""
    taken = partitions.take_out(topic_id)
    for partition in taken:
        partitions.retire(partition)
    return taken
