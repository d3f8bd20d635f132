"""Tasks of a Streams application: a subtopology and a partition, done actively, kept as a standby, or warmed up."""

from collections.abc import Iterator, Mapping

from attrs import Factory, frozen

Task = tuple[str, int]
"""A subtopology's id, and a partition."""
TaskIds = Mapping[str, frozenset[int]]
"""Partitions by subtopology."""
TaskEpochs = Mapping[str, Mapping[int, int]]
"""The same, each with the epoch in which its owner was given it."""


@frozen
class Tasks:
    """What a member is meant to have, or says that it has."""

    active: TaskIds = Factory(dict)
    standby: TaskIds = Factory(dict)
    warmup: TaskIds = Factory(dict)

    @property
    def is_empty(self) -> bool:
        return not (self.active or self.standby or self.warmup)

    def is_part_of(self, other: "Tasks") -> bool:
        """Whether the other has all of it, in the same roles."""
        return all(
            partitions <= there.get(subtopology_id, frozenset())
            for here, there in self._beside(other)
            for subtopology_id, partitions in here.items()
        )

    def overlaps(self, other: "Tasks") -> bool:
        """Whether both have a task in the same role."""
        return any(
            not partitions.isdisjoint(there.get(subtopology_id, frozenset()))
            for here, there in self._beside(other)
            for subtopology_id, partitions in here.items()
        )

    def _beside(self, other: "Tasks") -> tuple[tuple[TaskIds, TaskIds], ...]:
        return (self.active, other.active), (self.standby, other.standby), (self.warmup, other.warmup)


@frozen
class HeldTasks:
    """What a member has, or still has to give back. Since when it has an active task tells late commits from stale."""

    active: TaskEpochs = Factory(dict)
    standby: TaskIds = Factory(dict)
    warmup: TaskIds = Factory(dict)

    @property
    def tasks(self) -> Tasks:
        active = {subtopology_id: frozenset(partitions) for subtopology_id, partitions in self.active.items()}
        return Tasks(active, self.standby, self.warmup)

    @property
    def is_empty(self) -> bool:
        return not (self.active or self.standby or self.warmup)


def each_task(tasks: TaskIds | TaskEpochs) -> Iterator[Task]:
    """One by one."""
    for subtopology_id, partitions in tasks.items():
        for partition in partitions:
            yield subtopology_id, partition


def by_subtopology(tasks: Iterator[Task]) -> TaskIds:
    """Gathered again."""
    found: dict[str, set[int]] = {}
    for subtopology_id, partition in tasks:
        found.setdefault(subtopology_id, set()).add(partition)
    return {subtopology_id: frozenset(partitions) for subtopology_id, partitions in found.items()}
