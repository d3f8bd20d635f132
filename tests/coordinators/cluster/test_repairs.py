"""A copy that fails its checks is made anew from others, if there are others."""

from types import SimpleNamespace

import pytest
from trio.testing import trio_test

from coordinators.cluster.repairs import Repairs, without
from coordinators.topic_view import Topic
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.records import PartitionRecord
from engine.errors import StorageError
from engine.log.recovery import STAGE, read_journal_floor
from tests.coordinators.cluster.nodes import ClusterNode, place


async def damaged(catalogue: MemoryCatalogue) -> tuple[ClusterNode, Topic]:
    """A node that has stopped, and whose copy begins later than it says."""
    node = ClusterNode(1, catalogue)
    topic = await node.create("t")
    node.write(topic)
    node.partitions.close(clean=True)
    directory = node.partitions.directory(topic.topic_id, 0)
    for name in node.files.list(directory):
        if name.endswith(".log"):
            node.files.unlink(f"{directory}/{name}")
    return node, topic


async def restarted(node: ClusterNode) -> None:
    node.restart()
    node.replicas.on_damaged.append(Repairs(node.replicas).begin_anew)
    await node.replicas.open_all(clean=False, leads=False)


def row_of(catalogue: MemoryCatalogue, topic: Topic) -> PartitionRecord:
    entry = catalogue.get(topic.record.partition_key(0))
    assert entry is not None
    return PartitionRecord.decode(entry.value)


@trio_test
async def test_a_copy_that_others_have_too_is_put_aside_and_its_node_is_out_of_sync() -> None:
    catalogue = MemoryCatalogue()
    node, topic = await damaged(catalogue)
    place(catalogue, topic, 0, replicas=(1, 2), isr=(1, 2))
    await restarted(node)
    assert node.partition(topic).log.end_offset == 0
    row = row_of(catalogue, topic)
    assert (row.isr, row.leader) == ((2,), -1), "nobody may take it for a copy of what was acknowledged"
    names = node.files.list_directories(node.partitions.directory(topic.topic_id))
    assert any(name.startswith("0.aside-") for name in names), "somebody may want to look at it"


@trio_test
async def test_the_only_copy_in_sync_is_never_given_up() -> None:
    catalogue = MemoryCatalogue()
    node, topic = await damaged(catalogue)
    before = place(catalogue, topic, 0, replicas=(1, 2), isr=(1,))
    with pytest.raises(BaseExceptionGroup) as refused:
        await restarted(node)
    assert refused.group_contains(StorageError)
    assert row_of(catalogue, topic) == before


def test_a_row_without_the_node() -> None:
    row = PartitionRecord((1, 2, 3), (1, 2), 2, 5, 7, elr=(3,))
    after = without(row, 1)
    assert after is not None
    assert (after.isr, after.leader, after.leader_epoch, after.partition_epoch) == ((2,), 2, 5, 8)
    led = without(row, 2)
    assert led is not None
    assert (led.isr, led.leader, led.leader_epoch) == ((1,), -1, 6)
    assert without(row, 4) is row, "it had no part in it"


def test_who_is_eligible_has_everything_too() -> None:
    waits = PartitionRecord((1, 2, 3), (1,), -1, 5, 7, elr=(3,))
    after = without(waits, 1)
    assert after is not None
    assert (after.isr, after.elr) == ((), (3,))
    assert without(waits, 2) is waits
    last = without(waits, 3)
    assert last is not None
    assert without(last, 1) is None


@trio_test
async def test_what_the_journal_holds_of_it_does_not_come_back() -> None:
    catalogue = MemoryCatalogue()
    node, topic = await damaged(catalogue)
    place(catalogue, topic, 0, replicas=(1, 2), isr=(1, 2))
    node.restart()
    node.partitions.journal = SimpleNamespace(place=4711)  # type: ignore[assignment]
    repairs, directory = Repairs(node.replicas), node.partitions.directory(topic.topic_id, 0)
    repairs._put_aside(topic.topic_id, "0")
    assert read_journal_floor(node.files, directory) == 4711
    node.partitions.journal = SimpleNamespace(place=4712)  # type: ignore[assignment]
    repairs._put_aside(topic.topic_id, f"0/{STAGE}")
    assert read_journal_floor(node.files, f"{directory}/{STAGE}") == 4712
    assert read_journal_floor(node.files, directory) == 4711
