"""What has happened lately, as nodes see it."""

from trio.testing import MockClock, trio_test

from coordinators.cluster.events import KEPT_OF_LEADERS, ClusterEvents
from engine.catalogue.records import PartitionRecord
from engine.clock import ManualClock
from tests.coordinators.cluster.members import cluster


@trio_test
async def test_nodes_that_come_and_go_are_told_with_the_leaders_that_move(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2)
        events = ClusterEvents(three.members[1].replicas, ManualClock(1_000))
        await three.start(3)
        three.put_topic([PartitionRecord.on(3, 1), PartitionRecord.on(3)])
        three.crash(3)
        await three.until(lambda: three.row(1).leader == -1)
        await three.until(lambda: len(events.latest()) >= 5)
        told = [(each.what, each.node_id) for each in reversed(events.latest())]
        assert told[:3] == [("registered", 3), ("entered", 3), ("gone", 3)]
        assert set(told[3:]) == {("leader", 1), ("leaderless", -1)}
        details = {each.what: each.detail for each in events.latest()}
        assert details["gone"] == "its session ended"
        assert details["leader"] == "clean election, epoch 1; node 3 led before"
        assert all(each.at_ms == 1_000 for each in events.latest())


@trio_test
async def test_a_node_that_stops_is_told_apart_from_one_that_crashes(jumping: MockClock) -> None:
    async with cluster() as two:
        first, second = await two.start(1, 2)
        events = ClusterEvents(first.replicas, ManualClock())
        await second.stop()
        await two.until(lambda: any(each.what == "gone" for each in events.latest()))
        told = {each.what: each.detail for each in events.latest()}
        assert told["stopping"] == "others take over what it leads"
        assert told["gone"] == "it was stopping"


@trio_test
async def test_many_leaders_do_not_drive_out_what_became_of_nodes(jumping: MockClock) -> None:
    async with cluster() as two:
        await two.start(1, 2)
        events = ClusterEvents(two.members[1].replicas, ManualClock())
        two.put_topic([PartitionRecord.on(2, 1)] * (KEPT_OF_LEADERS + 100))
        two.crash(2)
        await two.until(lambda: two.row(KEPT_OF_LEADERS + 99).leader == 1)
        await two.until(lambda: len(events.latest()) > KEPT_OF_LEADERS)
        told = [each.what for each in events.latest()]
        assert told.count("leader") == KEPT_OF_LEADERS
        assert "gone" in told


@trio_test
async def test_the_controllers_are_told(jumping: MockClock) -> None:
    async with cluster() as two:
        await two.start(1, 2)
        await two.until(lambda: two.controllers == [1])
        events = ClusterEvents(two.members[2].replicas, ManualClock())
        two.crash(1)
        await two.until(lambda: two.members[2].role.is_controller)
        told = [(each.what, each.node_id) for each in reversed(events.latest())]
        assert told == [("gone", 1), ("controller", -1), ("controller", 2)]
