"""Topics of the broker's own get the replicas that they should have when nodes come."""

import pytest
import trio
from trio.testing import MockClock, trio_test

from coordinators.cluster.placement import extend
from coordinators.cluster.raising import FactorRaising
from engine.catalogue.records import NodeRecord, PartitionRecord
from engine.errors import StorageError
from tests.coordinators.cluster.members import Cluster, cluster

ALONE = [PartitionRecord.on(1), PartitionRecord.on(1)]


async def starting(three: Cluster, *node_ids: int, wanted: int = 3, name: str = "t0") -> None:
    for node_id in node_ids:
        await three.start(node_id)
        member = three.members[node_id]
        member.role.chores.append(FactorRaising(member.replicas, lambda: {name: wanted}).look)


@trio_test
async def test_what_was_made_on_one_node_is_spread_when_others_come(jumping: MockClock) -> None:
    async with cluster() as three:
        await starting(three, 1)
        three.put_topic(ALONE)
        await trio.sleep(10)
        assert three.row(0).replicas == (1,)
        await starting(three, 2)
        await three.until(lambda: all(three.row(index).adding == (2,) for index in (0, 1)))
        for index in (0, 1):
            three.put_row(index, isr=(1, 2), adding=())
        await starting(three, 3)
        await three.until(lambda: all(three.row(index).adding == (3,) for index in (0, 1)))
        assert (three.row(0).replicas, three.row(0).leader) == ((1, 2, 3), 1)


@trio_test
async def test_what_a_node_has_made_that_does_not_know_the_others_yet_is_spread_at_once(jumping: MockClock) -> None:
    async with cluster() as three:
        name = "__transaction_state"
        await starting(three, 1, 2, 3, name=name)
        await trio.sleep(10)
        three.put_topic(ALONE, name=name)
        await three.until(lambda: all(set(three.row(index).adding) == {2, 3} for index in (0, 1)))


@trio_test
async def test_no_more_than_wanted_and_nothing_that_moves_or_has_no_leader(jumping: MockClock) -> None:
    async with cluster() as three:
        rows = [
            PartitionRecord.on(1, 2),
            PartitionRecord((1, 2), (1,), 1, adding=(2,)),
            PartitionRecord((9,), (9,), -1),
        ]
        three.put_topic(rows)
        await starting(three, 1, 2, 3, wanted=2)
        await trio.sleep(10)
        assert [three.row(index).replicas for index in range(3)] == [(1, 2), (1, 2), (9,)]


@trio_test
async def test_what_fails_is_tried_again(jumping: MockClock, caplog: pytest.LogCaptureFixture) -> None:
    async with cluster() as two:
        await two.start(1)
        done: list[int] = []

        async def chore() -> None:
            await trio.lowlevel.checkpoint()
            done.append(len(done))
            if len(done) == 1:
                raise StorageError("nobody answers")

        two.members[1].role.chores.append(chore)
        await two.start(2)
        await two.until(lambda: len(done) >= 2)
        assert "nobody answers" in caplog.text


def test_further_replicas_lie_in_other_racks_on_nodes_with_fewest() -> None:
    nodes = [NodeRecord(node, (), rack) for node, rack in ((1, "a"), (2, "a"), (3, "b"), (4, "c"), (5, "c"))]
    held = [PartitionRecord.on(1, 4), PartitionRecord.on(1, 4)]
    assert extend((1,), nodes, 3, held) == (1, 3, 5)
    assert extend((1, 3, 5), nodes, 3, held) == (1, 3, 5)
    assert extend((1, 9), nodes, 9, held) == (1, 9, 3, 5, 2, 4)
