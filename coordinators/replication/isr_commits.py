"""Commits of in-sync replicas: partitions' rows, if they are still what was read, and new members are still alive."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from attrs import define

from coordinators.waiting import in_worker
from engine.catalogue.catalogue import Catalogue, CatalogueConflict, Commit, Compare, Put
from engine.catalogue.records import PARTITIONS, NodeRecord, PartitionRecord
from engine.ids import TopicId
from engine.workers import Workers

TRIED_AT_MOST = 5

PartitionPlace = tuple[TopicId, int]
ChangeRow = Callable[[PartitionRecord, Collection[int]], PartitionRecord | None]
"""A row and the nodes that may join; None leaves it as it is."""


@define(eq=False)
class IsrCommits:
    """See the module."""

    catalogue: Catalogue
    workers: Workers
    """Those for the catalogue."""

    async def commit(
        self, changes: Mapping[PartitionPlace, ChangeRow], joining: Sequence[NodeRecord]
    ) -> Mapping[PartitionPlace, PartitionRecord]:
        """The rows as they are then, changed or not; none of a partition that is gone. Where this raises, it is not
        known whether they were changed."""
        return await in_worker(self.workers, partial(self._commit, changes, joining))

    def _commit(
        self, changes: Mapping[PartitionPlace, ChangeRow], joining: Sequence[NodeRecord]
    ) -> Mapping[PartitionPlace, PartitionRecord]:
        """[thread]"""
        for _ in range(TRIED_AT_MOST):
            commit, rows = self._plan(changes, joining)
            if not commit.changes:
                return rows
            try:
                self.catalogue.commit(commit)
            except CatalogueConflict as error:
                conflict = error
            else:
                return rows
        raise conflict

    def _plan(
        self, changes: Mapping[PartitionPlace, ChangeRow], joining: Sequence[NodeRecord]
    ) -> tuple[Commit, Mapping[PartitionPlace, PartitionRecord]]:
        members, compares = self._members(joining)
        rows: dict[PartitionPlace, PartitionRecord] = {}
        puts: list[Put] = []
        for (topic_id, index), change in changes.items():
            entry = self.catalogue.get(f"{PARTITIONS}{topic_id.hex()}/{index}")
            if entry is None:
                continue
            rows[topic_id, index] = found = PartitionRecord.decode(entry.value)
            row = change(found, members)
            if row is not None:
                compares.append(Compare(entry.key, entry.revision))
                puts.append(Put(entry.key, row.encode()))
                rows[topic_id, index] = row
        return Commit(tuple(compares), tuple(puts)), rows

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
