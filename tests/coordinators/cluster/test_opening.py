"""A full disk as a node starts: what there is no room for is opened later, and the rest is served meanwhile."""

import errno
from types import SimpleNamespace

import pytest
import trio
from trio.testing import MockClock, trio_test

from coordinators.cluster.opening import LeftForLater, retried
from coordinators.cluster.repairs import Repairs
from coordinators.topic_view import Topic
from engine.catalogue.memory import MemoryCatalogue
from engine.errors import NotLeader, StorageError
from engine.log.recovery import STAGE, read_journal_floor
from engine.log.segment import segment_name
from tests.coordinators.cluster.nodes import ClusterNode, place


async def with_an_end_to_set_aside(catalogue: MemoryCatalogue) -> tuple[ClusterNode, Topic]:
    """A node that has crashed. Of one of its two partitions the first batch is damaged: the second is to be kept."""
    node = ClusterNode(1, catalogue)
    topic = await node.create("t", 2)
    for index in (0, 1, 1):
        node.write(topic, index)
    log = node.partition(topic, 1).log
    node.files.flip_bit(log.segments[0].path, 70)
    node.files.capacity_bytes = node.files.used_bytes()
    node.restart()
    return node, topic


@trio_test
async def test_a_node_serves_what_it_could_open_and_tries_the_rest_again(
    jumping: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    node, topic = await with_an_end_to_set_aside(MemoryCatalogue())
    await node.replicas.open_all(clean=False)
    assert [each.index for each in node.partitions] == [0]
    assert "t-1 cannot be opened, tried again" in caplog.text
    assert node.partitions.storage.is_full, "the operator sees it"
    started: list[bool] = []
    node.replicas.later.when_none(lambda: started.append(True))
    node.replicas.open_later()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(node.background.run)
        await trio.sleep(30)
        assert [each.index for each in node.partitions] == [0]
        assert not started, "the journal may hold what the other lacks"
        node.files.capacity_bytes = None
    assert node.heard == [("leads", "t", 0), ("leads", "t", 1)]
    assert started
    names = node.files.list(node.partitions.directory(topic.topic_id, 1))
    assert any(name.startswith(f"{segment_name(0)}.log.at-") for name in names), "what did not fit was kept"


@trio_test
async def test_it_does_not_lead_by_a_row_of_an_earlier_life(jumping: MockClock) -> None:
    catalogue = MemoryCatalogue()
    node, topic = await with_an_end_to_set_aside(catalogue)
    await node.replicas.open_all(clean=False, leads=False)
    node.replicas.open_later()
    node.files.capacity_bytes = None
    await node.background.run()
    with pytest.raises(NotLeader):
        node.write(topic, 1)
    place(catalogue, topic, 1, leader=1)
    await node.replicas.catch_up()
    assert node.heard == [("leads", "t", 1)]


@trio_test
async def test_nor_by_one_of_a_session_that_was_lost_meanwhile(jumping: MockClock) -> None:
    catalogue = MemoryCatalogue()
    node, topic = await with_an_end_to_set_aside(catalogue)
    await node.replicas.open_all(clean=False, leads=False)
    node.replicas.open_later()
    place(catalogue, topic, 1, leader=1)
    await node.replicas.catch_up()
    assert (topic.topic_id, 1) in node.replicas.unable, "another may lead it meanwhile"
    await node.replicas.step_down()
    node.files.capacity_bytes = None
    await node.background.run()
    assert node.heard == []


@trio_test
async def test_who_is_elected_elsewhere_is_not_held_up(jumping: MockClock) -> None:
    catalogue = MemoryCatalogue()
    node, topic = await with_an_end_to_set_aside(catalogue)
    place(catalogue, topic, 1, replicas=(1, 2), isr=(1, 2))
    await node.replicas.open_all(clean=False, leads=False)
    node.replicas.open_later()
    place(catalogue, topic, 1, leader=1)
    await node.replicas.catch_up()
    place(catalogue, topic, 1, leader=2)
    await node.replicas.catch_up()
    assert node.replicas.unable == {}
    node.files.capacity_bytes = None
    await node.background.run()
    assert node.partition(topic, 1).replicas.row.leader == 2


@trio_test
async def test_a_full_disk_is_no_damage(jumping: MockClock) -> None:
    """The copy is whole, and must not be given up for another."""
    node, _ = await with_an_end_to_set_aside(MemoryCatalogue())
    node.replicas.on_damaged.append(Repairs(node.replicas).begin_anew)
    await node.replicas.open_all(clean=False)
    node.files.capacity_bytes = None
    node.replicas.open_later()
    await node.background.run()
    assert len(list(node.partitions)) == 2


@trio_test
async def test_a_repair_that_the_disk_had_no_room_for_is_made_later(jumping: MockClock) -> None:
    catalogue = MemoryCatalogue()
    node = ClusterNode(1, catalogue)
    topic = await node.create("t")
    node.write(topic)
    node.partitions.close(clean=True)
    directory = node.partitions.directory(topic.topic_id, 0)
    (name,) = [name for name in node.files.list(directory) if name.endswith(".log")]
    node.files.unlink(f"{directory}/{name}")
    place(catalogue, topic, 0, replicas=(1, 2), isr=(1, 2))
    node.files.capacity_bytes = node.files.used_bytes()
    node.restart()
    node.partitions.journal = SimpleNamespace(  # type: ignore[assignment]
        place=4711, left=lambda place: place == directory, tail=lambda _: ()
    )
    node.replicas.on_damaged.append(Repairs(node.replicas).begin_anew)
    await node.replicas.open_all(clean=False, leads=False)
    assert list(node.partitions) == []
    node.files.capacity_bytes = None
    node.replicas.open_later()
    await node.background.run()
    assert node.partition(topic).log.end_offset == 0
    assert read_journal_floor(node.files, directory) == 4711, "what the journal holds of it is not of this copy"


@trio_test
async def test_a_stage_that_there_is_no_room_to_put_aside_stays_where_it_is() -> None:
    node, topic = await with_an_end_to_set_aside(MemoryCatalogue())
    node.files.capacity_bytes = None
    await node.replicas.open_all(clean=False)
    partition = node.partition(topic)
    directory = node.partitions.directory(topic.topic_id, 0)
    node.files.make_directories(f"{directory}/{STAGE}")
    node.partitions.journal = SimpleNamespace(place=4711)  # type: ignore[assignment]
    node.files.capacity_bytes = node.files.used_bytes()
    repairs = Repairs(node.replicas)
    with pytest.raises(OSError, match="no space"):
        repairs._put_stage_aside(partition)
    assert STAGE in node.files.list_directories(directory)
    node.files.capacity_bytes = None
    repairs._put_stage_aside(partition)
    assert STAGE not in node.files.list_directories(directory)
    assert read_journal_floor(node.files, f"{directory}/{STAGE}") == 4711


@trio_test
async def test_other_errors_of_the_disk_end_the_start() -> None:
    node, _ = await with_an_end_to_set_aside(MemoryCatalogue())
    node.files.fail_at(1, errno.EIO, times=100, only=frozenset({"pread"}))
    with pytest.raises(BaseExceptionGroup) as refused:
        await node.replicas.open_all(clean=False)
    assert refused.group_contains(StorageError)


@trio_test
async def test_what_is_tried_again_waits_longer_each_time(jumping: MockClock) -> None:
    tried: list[float] = []

    async def attempt() -> None:
        tried.append(trio.current_time())
        if len(tried) < 5:
            raise StorageError("not yet")

    begun = trio.current_time()
    await retried(attempt, "it fails", longest_s=3)
    assert [round(at - begun) for at in tried] == [0, 1, 3, 6, 9]


def test_nobody_waits_where_nothing_was_left() -> None:
    later, called = LeftForLater(), []
    later.keys.add((b"t", 0))
    later.when_none(lambda: called.append(1))
    later.done((b"t", 1))
    assert not called
    later.done((b"t", 0))
    later.done((b"t", 0))
    assert called == [1]
