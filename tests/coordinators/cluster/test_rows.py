"""Rows change only as they were read: whoever is too late reads again."""

from collections.abc import Callable

import pytest
from attrs import define, evolve, field

from coordinators.cluster.elections import altered
from coordinators.cluster.rows import (
    COMMITTED_TOGETHER,
    TRIED_AT_MOST,
    ChangedRow,
    PartitionRow,
    change_partition,
    change_partitions,
    partition_key,
    read_row,
    read_rows,
)
from engine.catalogue.catalogue import CatalogueConflict, Commit, Compare, Delete, Put
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.records import NodeRecord, PartitionRecord

TOPIC, OTHER = bytes([1] * 16), bytes([2] * 16)
ROW = PartitionRecord.on(1, 2, 3)


@define(eq=False)
class CrossedCatalogue(MemoryCatalogue):
    """Somebody else is quicker, a number of times."""

    crossings: list[Callable[[MemoryCatalogue], object]] = field(factory=list)
    largest: int = 0

    def commit(self, commit: Commit) -> int:
        if self.crossings and commit.compares:
            self.crossings.pop(0)(self)
        self.largest = max(self.largest, len(commit.changes))
        return super().commit(commit)


def put(catalogue: MemoryCatalogue, row: PartitionRecord, index: int = 0, topic: bytes = TOPIC) -> int:
    return catalogue.commit(Commit((), (Put(partition_key(topic, index), row.encode()),)))


def shrunk(row: PartitionRecord) -> PartitionRecord | None:
    return altered(row, 1, 0, 1, leaving={3})


def test_a_row_is_changed_and_its_new_revision_told() -> None:
    catalogue = MemoryCatalogue()
    put(catalogue, ROW)
    changed = change_partition(catalogue, TOPIC, 0, shrunk)
    row = read_row(catalogue, TOPIC, 0)
    assert changed is not None
    assert row is not None
    assert (changed.record, changed.revision) == (row.record, row.revision)
    assert row.record.isr == (1, 2)
    assert change_partition(catalogue, TOPIC, 0, shrunk) == ChangedRow(row, row.record, row.revision), "nothing to do"
    assert catalogue.revision() == changed.revision


def test_a_change_that_was_overtaken_is_made_on_the_newer_row() -> None:
    newer = altered(ROW, 1, 0, 1, leaving={2})
    assert newer is not None
    catalogue = CrossedCatalogue(crossings=[lambda it: put(it, newer)])
    put(catalogue, ROW)
    changed = change_partition(catalogue, TOPIC, 0, shrunk)
    assert changed is not None
    assert (changed.record.isr, changed.record.partition_epoch) == ((1,), 2)


def test_a_leader_that_was_followed_by_another_changes_nothing() -> None:
    catalogue = CrossedCatalogue(crossings=[lambda it: put(it, evolve(ROW, leader=2, leader_epoch=1))])
    put(catalogue, ROW)
    assert change_partition(catalogue, TOPIC, 0, shrunk) is None


def test_a_topic_that_is_deleted_meanwhile_is_left_alone() -> None:
    key = partition_key(TOPIC, 0)
    catalogue = CrossedCatalogue(crossings=[lambda it: it.commit(Commit((), (Delete(key),)))])
    put(catalogue, ROW)
    assert change_partition(catalogue, TOPIC, 0, shrunk) is None
    assert catalogue.get(key) is None


def test_a_member_joins_only_if_its_node_is_what_it_was() -> None:
    catalogue, node = MemoryCatalogue(), NodeRecord(3, ())
    put(catalogue, evolve(ROW, isr=(1, 2)))
    seen = Compare(node.key, catalogue.commit(Commit((), (Put(node.key, node.encode()),))))
    catalogue.commit(Commit((), (Put(node.key, evolve(node, fenced=True).encode()),)))
    with pytest.raises(CatalogueConflict, match="nodes/3"):
        change_partition(catalogue, TOPIC, 0, lambda row: altered(row, 1, 0, 1, joining={3}), [seen])
    now = Compare(node.key, catalogue.revision())
    changed = change_partition(catalogue, TOPIC, 0, lambda row: altered(row, 1, 0, 1, joining={3}), [now])
    assert changed is not None
    assert changed.record.isr == (1, 2, 3)


def test_who_is_always_too_late_is_told() -> None:
    count = iter(range(100))
    crossings = [lambda it: put(it, evolve(ROW, partition_epoch=next(count)))] * 100
    catalogue = CrossedCatalogue(crossings=list(crossings))
    put(catalogue, ROW)
    with pytest.raises(CatalogueConflict):
        change_partition(catalogue, TOPIC, 0, shrunk)
    with pytest.raises(CatalogueConflict):
        change_partitions(catalogue, lambda: read_rows(catalogue), lambda row: shrunk(row.record))
    assert len(catalogue.crossings) < 100 - TRIED_AT_MOST


def test_many_rows_are_changed_some_at_a_time() -> None:
    catalogue = CrossedCatalogue(crossings=[lambda it: put(it, ROW, 0, OTHER)] * 2)
    for index in range(250):
        put(catalogue, ROW, index)
    put(catalogue, evolve(ROW, isr=(1, 2)), 0, OTHER)
    told: list[ChangedRow] = []

    def change(row: PartitionRow) -> PartitionRecord | None:
        return None if row.index == 7 else shrunk(row.record)

    revision = change_partitions(catalogue, lambda: read_rows(catalogue), change, told.append)
    assert len(told) == 249, "the other topic's row needed none when it was read"
    assert catalogue.largest == COMMITTED_TOGETHER
    assert revision == catalogue.revision() == told[-1].revision
    assert {row.record.isr for row in read_rows(catalogue, TOPIC) if row.index != 7} == {(1, 2)}
    assert change_partitions(catalogue, lambda: read_rows(catalogue, TOPIC), change) == 0


def test_rows_that_others_change_meanwhile_are_read_again() -> None:
    key = partition_key(TOPIC, 3)
    crossings = [
        lambda it: put(it, evolve(ROW, leader=2, leader_epoch=1)),
        lambda it: it.commit(Commit((), (Delete(key),))),
    ]
    catalogue = CrossedCatalogue(crossings=crossings)
    for index in range(5):
        put(catalogue, ROW, index)
    told: list[ChangedRow] = []
    change_partitions(catalogue, lambda: read_rows(catalogue), lambda row: shrunk(row.record), told.append)
    assert [changed.before.index for changed in told] == [1, 2, 4]
