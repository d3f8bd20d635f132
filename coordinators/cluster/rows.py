"""Changes of partitions' rows: read with their revisions, changed by a pure function, committed if they are still what
was read. Who was too late reads again, a bounded number of times.

[thread] All of it.
"""

from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from engine.catalogue.catalogue import Catalogue, CatalogueConflict, Commit, Compare, Entry, Put
from engine.catalogue.records import NODES, PARTITIONS, NodeRecord, PartitionRecord, partition_of
from engine.ids import TopicId

TRIED_AT_MOST = 10
COMMITTED_TOGETHER = 100
"""So many rows: a catalogue takes a bounded number at once, and an answer within milliseconds."""


@frozen
class PartitionRow:
    """A partition's row as it was read."""

    topic_id: TopicId
    index: int
    record: PartitionRecord
    revision: int

    @property
    def key(self) -> str:
        return partition_key(self.topic_id, self.index)


@frozen
class ChangedRow:
    """A row, what was made of it, and the revision of that; the same as before if there was nothing to change."""

    before: PartitionRow
    record: PartitionRecord
    revision: int


ChangeRow = Callable[[PartitionRecord], PartitionRecord | None]
"""None leaves a row as it is."""
ChangeRows = Callable[[PartitionRow], PartitionRecord | None]


def partition_key(topic_id: TopicId, index: int) -> str:
    """Where a partition's row is."""
    return f"{PARTITIONS}{topic_id.hex()}/{index}"


def read_row(catalogue: Catalogue, topic_id: TopicId, index: int) -> PartitionRow | None:
    """None if the topic has been deleted."""
    entry = catalogue.get(partition_key(topic_id, index))
    return None if entry is None else _row(entry)


def read_rows(catalogue: Catalogue, topic_id: TopicId | None = None) -> list[PartitionRow]:
    """Those of a topic, or of all."""
    prefix = PARTITIONS if topic_id is None else f"{PARTITIONS}{topic_id.hex()}/"
    return [_row(entry) for entry in catalogue.entries(prefix)[1]]


def read_nodes(catalogue: Catalogue) -> list[NodeRecord]:
    """The nodes that are registered."""
    return [NodeRecord.decode(entry.value) for entry in catalogue.entries(NODES)[1]]


def change_partition(
    catalogue: Catalogue, topic_id: TopicId, index: int, change: ChangeRow, conditions: Sequence[Compare] = ()
) -> ChangedRow | None:
    """What became of a row; None if it has gone, or `change` refuses it. Raises `CatalogueConflict` if one of the
    `conditions` does not hold, such as that a node is still what it was."""
    for _ in range(TRIED_AT_MOST):
        row = read_row(catalogue, topic_id, index)
        record = None if row is None else change(row.record)
        if row is None or record is None:
            return None
        if record == row.record:
            return ChangedRow(row, record, row.revision)
        try:
            compares = (Compare(row.key, row.revision), *conditions)
            revision = catalogue.commit(Commit(compares, (Put(row.key, record.encode()),)))
        except CatalogueConflict as error:
            conflict = error
            catalogue.commit(Commit(tuple(conditions)))
        else:
            return ChangedRow(row, record, revision)
    raise conflict


def change_partitions(
    catalogue: Catalogue,
    read: Callable[[], Sequence[PartitionRow]],
    change: ChangeRows,
    on_changed: Callable[[ChangedRow], object] = lambda _: None,
    conditions: Callable[[], Sequence[Compare]] = tuple,
) -> int:
    """Change all rows that `read` finds, some at a time; the revision of the last change, 0 if there was none. Who
    asks is told of each as soon as it is committed: an error may come after some. Nothing is committed unless the
    `conditions` hold that there are since the last `read`, such as that a node is still what it was."""
    revision = 0
    for _ in range(TRIED_AT_MOST):
        conflict: CatalogueConflict | None = None
        changes = [(row, record) for row in read() if (record := change(row)) is not None and record != row.record]
        for some in _together(changes):
            compares = (*conditions(), *(Compare(row.key, row.revision) for row, _ in some))
            puts = tuple(Put(row.key, record.encode()) for row, record in some)
            try:
                revision = catalogue.commit(Commit(compares, puts))
            except CatalogueConflict as error:
                conflict = error
            else:
                for row, record in some:
                    on_changed(ChangedRow(row, record, revision))
        if conflict is None:
            return revision
    assert conflict is not None
    raise conflict


def _together(
    changes: Sequence[tuple[PartitionRow, PartitionRecord]],
) -> Iterator[Sequence[tuple[PartitionRow, PartitionRecord]]]:
    for start in range(0, len(changes), COMMITTED_TOGETHER):
        yield changes[start : start + COMMITTED_TOGETHER]


def _row(entry: Entry) -> PartitionRow:
    return PartitionRow(*partition_of(entry.key), PartitionRecord.decode(entry.value), entry.revision)
