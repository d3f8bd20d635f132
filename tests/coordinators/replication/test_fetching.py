"""Fetchers: one for each node that leads something here, in order, in touch again whatever breaks."""

import trio
from trio.testing import MockClock, trio_test

from coordinators.replication.fetching import FETCHES_AT_ONCE, Fetcher, Fetching
from coordinators.replication.ports import Given, ReplicaAnswer
from tests.coordinators.replication.world import LOG, STAGE, ReplicaNode, replication


def fetcher_of(node: ReplicaNode, leader: int) -> Fetcher:
    return node.replication.fetching._fetchers[leader]


@trio_test
async def test_fetches_of_a_session_are_numbered_in_the_order_in_which_they_go(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        for _ in range(20):
            leader.append()
            await trio.sleep(0.03)
        await world.until_alike(leader, follower)
        session = [fetch.number for fetch in follower.fetches if fetch.session]
        assert session == list(range(1, len(session) + 1))
        assert follower.fetches[0].session == 0


@trio_test
async def test_what_is_durable_is_told_while_another_fetch_waits(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        await world.until(lambda: leader.replication.followers.statistics()["waiting"] == 1)
        follower.sync_workers.hold = True
        waits = leader.append()
        await world.until(lambda: follower.end == 1)
        await trio.sleep(0.1)
        began = trio.current_time()
        follower.sync()
        await world.until(lambda: waits == [None])
        assert trio.current_time() - began < 0.1, "it did not wait for the leader's answer"
        assert fetcher_of(follower, 1)._asking <= FETCHES_AT_ONCE


@trio_test
async def test_a_quiet_follower_asks_as_seldom_as_it_may(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        follower = world.nodes[2]
        await trio.sleep(2)
        before = len(follower.fetches)
        await trio.sleep(10)
        assert len(follower.fetches) - before <= 10 / 0.5 + 1
        assert all(not fetch.asked for fetch in follower.fetches[before:])


@trio_test
async def test_a_broken_connection_is_made_again_and_the_leader_suspected(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        await trio.sleep(1)
        world.cuts.append({1, 2})
        await trio.sleep(2)
        assert follower.suspected[-1] == 1
        attempts = len(follower.suspected)
        assert attempts < 10, "ever more seldom"
        waits = leader.append()
        world.cuts.clear()
        await world.until(lambda: waits == [None])


@trio_test
async def test_a_lost_session_is_begun_anew(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        await trio.sleep(1)
        leader.replication.followers._sessions.clear()
        waits = leader.append()
        await world.until(lambda: waits == [None])
        assert [fetch.session for fetch in follower.fetches].count(0) == 2
        assert {asked.replica for asked in follower.fetches[-1].asked} <= {LOG, STAGE}


@trio_test
async def test_a_leader_that_comes_back_is_followed_again(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        waits = leader.append()
        await world.until(lambda: waits == [None])
        leader.crash()
        await trio.sleep(5)
        await world.start(1)
        await world.elect(1)
        waits = leader.append()
        await world.until(lambda: waits == [None])
        await world.until_alike(leader, follower)


@trio_test
async def test_nobody_is_asked_for_what_this_node_leads_or_nobody_does(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        await world.elect(2)
        await trio.sleep(1)
        assert fetcher_of(follower, 1).is_idle
        assert not fetcher_of(leader, 2).is_idle
        world.change_row(leader=-1, leader_epoch=9)
        await trio.sleep(1)
        assert fetcher_of(leader, 2).is_idle
        assert leader.replication.followers.statistics()["logs"] == 0


@trio_test
async def test_what_was_said_to_an_earlier_question_is_not_carried_out(jumping: MockClock) -> None:
    """The same node leads again, and an answer from before arrives: it would cut what was acknowledged meanwhile."""
    async with replication(1, 2, replicas=(1, 2)) as world:
        leader, follower = world.nodes[1], world.nodes[2]
        waits = leader.append()
        await world.until(lambda: waits == [None])
        await world.elect(1)
        await trio.sleep(1)
        fetcher = fetcher_of(follower, 1)
        fetcher._name(LOG)
        number = fetcher._number
        await world.until(lambda: fetcher._logs[LOG].named > number)
        stale = ReplicaAnswer(session=1, given=[Given(LOG, divergence=(0, 0))])
        fetcher._take(stale, None, number)
        await trio.sleep(0.1)
        assert follower.replication.following.truncations == 0


@trio_test
async def test_a_node_that_fetches_no_more_may_still_hear_of_others_that_lead(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        follower = world.nodes[2]
        fetching = follower.replication.fetching
        again = Fetching(fetching.services)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(again.run)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        again.look_at(follower.partition)
        assert list(again._fetchers) == [1]
