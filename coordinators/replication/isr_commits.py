"""Commits of in-sync replicas: partitions' rows, if they are still what was read, and new members are still alive."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from attrs import define

from coordinators.cluster.rows import ChangedRow, PartitionRow, change_partitions, read_row
from coordinators.waiting import in_worker
from engine.catalogue.catalogue import Catalogue, Compare
from engine.catalogue.records import NodeRecord, PartitionRecord
from engine.ids import TopicId
from engine.workers import Workers

PartitionPlace = tuple[TopicId, int]
ChangeMembers = Callable[[PartitionRecord, Collection[int]], PartitionRecord | None]
"""A row and the nodes that may join; None leaves it as it is."""


@define(eq=False)
class IsrCommits:
    """See the module."""

    catalogue: Catalogue
    workers: Workers
    """Those for the catalogue."""

    async def commit(
        self, changes: Mapping[PartitionPlace, ChangeMembers], joining: Sequence[NodeRecord]
    ) -> Mapping[PartitionPlace, PartitionRecord]:
        """The rows as they are then, changed or not; none of a partition that is gone. Where this raises, it is not
        known whether they were changed."""
        return await in_worker(self.workers, partial(self._commit, changes, joining))

    def _commit(
        self, changes: Mapping[PartitionPlace, ChangeMembers], joining: Sequence[NodeRecord]
    ) -> Mapping[PartitionPlace, PartitionRecord]:
        """[thread]"""
        rows: dict[PartitionPlace, PartitionRecord] = {}
        members: set[int] = set()
        compares: list[Compare] = []

        def read() -> Sequence[PartitionRow]:
            nonlocal members, compares
            members, compares = self._members(joining)
            read = [read_row(self.catalogue, *place) for place in changes]
            found = [row for row in read if row is not None]
            rows.clear()
            rows.update(((row.topic_id, row.index), row.record) for row in found)
            return found

        def change(row: PartitionRow) -> PartitionRecord | None:
            return changes[row.topic_id, row.index](row.record, members)

        def changed(row: ChangedRow) -> None:
            rows[row.before.topic_id, row.before.index] = row.record

        change_partitions(self.catalogue, read, change, changed, lambda: compares)
        return rows

    def _members(self, joining: Sequence[NodeRecord]) -> tuple[set[int], list[Compare]]:
        """Those that are registered as they were when they fetched, and what must stay so."""
        members: set[int] = set()
        compares: list[Compare] = []
        for known in joining:
            entry = self.catalogue.get(known.key)
            record = None if entry is None else NodeRecord.decode(entry.value)
            if entry is not None and record is not None and record.epoch == known.epoch and record.is_eligible:
                members.add(known.node_id)
                compares.append(Compare(entry.key, entry.revision))
        return members, compares
