"""Who is in sync: followers join when they have caught up and leave when they lag, and nothing is acknowledged that a
member may lack, whatever is not known yet."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock, trio_test

from coordinators.replication.in_sync import Follower
from coordinators.replication.isr_commits import IsrCommits
from engine.catalogue.catalogue import CatalogueConflict, Commit
from engine.errors import StorageError
from tests.coordinators.replication.world import LAG_S, LOG, ReplicaNode, ReplicationWorld, replication


def test_a_follower_is_behind_since_it_last_had_what_there_was() -> None:
    follower = Follower()
    follower.has_come_to(5, 5, now=1.0)
    assert follower.behind_since is None
    follower.has_come_to(5, 9, now=2.0)
    assert follower.behind_since == 1.0
    follower.has_come_to(8, 20, now=3.0)
    assert follower.behind_since == 1.0, "it had 9 to come to"
    follower.has_come_to(20, 30, now=4.0)
    assert follower.behind_since == 3.0


@trio_test
async def test_a_silent_follower_leaves_and_comes_back(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        await world.until(lambda: leader.replication.followers.statistics()["logs"] == 2)
        world.cuts.append({1, 2})
        waits = leader.append()
        began = trio.current_time()
        await world.until(lambda: world.row.isr == (1,))
        assert LAG_S <= trio.current_time() - began <= 1.5 * LAG_S
        assert waits == [None]
        world.cuts.clear()
        await world.until(lambda: world.row.isr == (1, 2))
        await world.until_alike(leader, follower)
        assert leader.partition.replicas.row == world.row


@trio_test
async def test_a_follower_that_stays_silent_stays_out_though_nothing_is_written(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader = world.nodes[1]
        await world.until(lambda: leader.replication.followers.statistics()["logs"] == 2)
        world.cuts.append({1, 2})
        await trio.sleep(10 * LAG_S)
        assert (world.row.isr, leader.replication.in_sync.shrinks) == ((1,), 1)


@trio_test
async def test_a_follower_that_never_asks_for_a_log_again_leaves_though_it_fetches_others(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        await world.until(lambda: leader.replication.followers.statistics()["logs"] == 2)
        for fetcher in follower.replication.fetching._fetchers.values():
            fetcher.leave(LOG)
        await trio.sleep(1)
        waits = leader.append()
        await world.until(lambda: waits == [None])
        assert world.row.isr == (1,)


@trio_test
async def test_a_follower_stays_in_sync_when_its_leader_leads_in_a_new_epoch(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader = world.nodes[1]
        await world.until(lambda: leader.append() == [None] or leader.high_watermark > 0)
        await world.elect(1)
        for _ in range(10):
            await trio.sleep(LAG_S)
            leader.append()
        await trio.sleep(1)
        assert leader.replication.in_sync.shrinks == 0


@trio_test
async def test_a_follower_that_was_quicker_than_its_leader_is_in_sync_though_nobody_writes(jumping: MockClock) -> None:
    """A partition is there, and can be followed, a moment before those are told who act when it is led."""
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader = world.nodes[1]
        await trio.sleep(1)
        leader.replication.in_sync.began(leader.partition)
        await trio.sleep(5 * LAG_S)
        assert (world.row.isr, leader.replication.in_sync.shrinks) == ((1, 2), 0)


async def deafen(world: ReplicationWorld, node: ReplicaNode) -> None:
    """The node does not hear of what is committed any more."""
    await trio.sleep(1)

    async def hold(task_status: trio.TaskStatus[None]) -> None:
        async with node.replicas.steady():
            task_status.started()
            await trio.sleep_forever()

    await world.nursery.start(hold)


class LossyCatalogue:
    """Commits of in-sync replicas go to `on_commit`."""

    def __init__(self, node: ReplicaNode, on_commit: Callable[[Commit], int]) -> None:
        self.get, self.commit = node.door.get, on_commit
        node.replication.in_sync.commits.catalogue = self


@trio_test
async def test_who_has_joined_counts_before_the_row_has_come_back(jumping: MockClock) -> None:
    """The follower fetches on meanwhile, and is proposed again; the catalogue has nothing to change then."""
    async with replication(1, 2, isr=(1,), replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        world.cuts.append({1, 2})
        world.change_row(isr=(1,))
        await deafen(world, leader)
        world.cuts.clear()
        await world.until(lambda: world.row.isr == (1, 2))
        for _ in range(3):
            await trio.sleep(0.5)
            leader.replication.in_sync.let_join(leader.partition, 2)
        await trio.sleep(0.5)
        world.cuts.append({1, 2})
        await trio.sleep(0.1)
        assert leader.append() == [], "a member has not got it"
        await trio.sleep(0.5)
        assert (leader.high_watermark, follower.end) == (0, 0)


@trio_test
async def test_who_has_joined_counts_while_another_joins(jumping: MockClock) -> None:
    async with replication(1, 2, 3, isr=(1,)) as world:
        leader = world.nodes[1]
        world.cuts += [{1, 2}, {1, 3}]
        world.change_row(isr=(1,))
        await deafen(world, leader)
        world.cuts[:] = [{1, 3}]
        await world.until(lambda: world.row.isr == (1, 2))
        world.cuts[:] = [{1, 2}]
        await world.until(lambda: 3 in world.row.isr)
        assert leader.append() == []
        await trio.sleep(0.5)
        assert leader.high_watermark == 0


@trio_test
async def test_a_change_with_an_unknown_outcome_is_waited_for(jumping: MockClock) -> None:
    """It was taken, and the answer was lost."""
    async with replication(1, isr=(1,), replicas=(1, 2)) as world:
        leader = world.nodes[1]
        await deafen(world, leader)
        commit, lost = leader.door.commit, []

        def take_and_say_nothing(one: Commit) -> int:
            commit(one)
            lost.append(one)
            raise StorageError("the answer was lost")

        LossyCatalogue(leader, take_and_say_nothing)
        (follower,) = await world.start(2)
        leader.replicas.nodes.by_id.update(follower.replicas.nodes.by_id)
        await world.until(lambda: lost)
        world.cuts.append({1, 2})
        assert leader.append() == []
        await trio.sleep(0.1)
        assert leader.high_watermark == 0
        leader.replication.in_sync.commits.catalogue = leader.door
        await world.until(lambda: leader.partition.replicas.row.isr == (1, 2))
        assert leader.high_watermark == 0


@trio_test
async def test_a_change_that_is_taken_late_does_not_count_once_another_was_tried(jumping: MockClock) -> None:
    async with replication(1, isr=(1,), replicas=(1, 2)) as world:
        leader = world.nodes[1]
        late: list[Commit] = []
        commit = leader.door.commit

        def keep(one: Commit) -> int:
            late.append(one)
            raise StorageError("no answer")

        LossyCatalogue(leader, keep)
        (follower,) = await world.start(2)
        await world.until(lambda: late)
        # The follower is not to join any more: nothing would have to be changed.
        world.cuts.append({1, 2})
        world.put_node(follower, incarnation="1", stopping=True)
        leader.replication.in_sync.commits.catalogue = leader.door
        await trio.sleep(1)
        assert leader.append() == []
        await trio.sleep(0.5)
        assert leader.high_watermark == 1
        with pytest.raises(CatalogueConflict):
            commit(late[0])
        assert world.row.isr == (1,)


@trio_test
async def test_who_was_left_behind_since_it_was_proposed_does_not_join(jumping: MockClock) -> None:
    async with replication(1, 2, isr=(1,), replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        world.cuts.append({1, 2})
        world.change_row(isr=(1,))
        await trio.sleep(2 * LAG_S)
        assert world.row.isr == (1,)
        leader.partition.replica_durable(2, leader.end)
        leader.replication.in_sync.let_join(leader.partition, 2)
        assert leader.append() == []
        await trio.sleep(0.5)
        assert (leader.high_watermark, follower.end) == (1, 0)
        assert world.row.isr == (1,)


@trio_test
async def test_who_may_be_elected_is_forgotten_before_more_is_acknowledged(jumping: MockClock) -> None:
    async with replication(1, isr=(1, 2), replicas=(1, 2), min_insync_replicas="2") as world:
        leader = world.nodes[1]
        await world.until(lambda: world.row.elr == (2,))
        leader.partition.ask_for(1)
        assert leader.append() == []
        await world.until(lambda: leader.high_watermark == 1)
        assert world.row.elr == ()


@trio_test
async def test_who_catches_up_while_another_joins_joins_too_though_nobody_writes(
    jumping: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replication(1, 2, 3, isr=(1, 2, 3)) as world:
        leader = world.nodes[1]
        world.cuts += [{1, 2}, {1, 3}]
        await world.until(lambda: world.row.isr == (1,))
        commit = IsrCommits.commit

        async def slowly(commits: IsrCommits, *arguments: Any) -> Any:
            """Meanwhile the other comes back, and has all there is."""
            world.cuts.clear()
            await world.until(lambda: leader.partition.has_caught_up(2) and leader.partition.has_caught_up(3))
            return await commit(commits, *arguments)

        monkeypatch.setattr(IsrCommits, "commit", slowly)
        world.cuts[:] = [{1, 3}]
        await world.until(lambda: world.row.isr == (1, 2, 3))


@trio_test
async def test_who_caught_up_before_it_had_entered_joins_then(jumping: MockClock) -> None:
    async with replication(1, 2, isr=(1, 2), replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        world.cuts.append({1, 2})
        await world.until(lambda: world.row.isr == (1,))
        world.put_node(follower, stopping=True)
        world.cuts.clear()
        await world.until(lambda: leader.partition.has_caught_up(2))
        await trio.sleep(LAG_S)
        assert world.row.isr == (1,)
        world.put_node(follower, stopping=False)
        await world.until(lambda: world.row.isr == (1, 2))
