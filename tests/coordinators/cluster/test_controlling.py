"""The controller reacts to what happens to nodes: leaders move, come back, and there is always a controller."""

import errno

import pytest
import trio
from trio.testing import MockClock, trio_test

from coordinators.cluster.elections import ElectionKind
from engine.catalogue.records import PartitionRecord
from engine.config.resolve import BrokerSettings
from tests.coordinators.cluster.members import cluster
from tidegate.config_keys import BROKER_KEYS

SECOND_ID = bytes([7] * 16)


@trio_test
async def test_leaders_move_from_a_node_that_has_gone(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.put_topic([PartitionRecord.on(1, 2, 3), PartitionRecord.on(2, 3, 1)])
        three.crash(2)
        await three.until(lambda: three.row(1).leader == 3)
        assert (three.row(0).leader, three.row(0).isr) == (1, (1, 3))
        assert (three.row(1).isr, three.row(1).leader_epoch) == ((3, 1), 1)
        await three.until(lambda: three.members[1].role.failovers == 1)


@trio_test
async def test_an_election_is_a_line_of_the_log_with_its_reason(
    jumping: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with cluster() as two:
        await two.start(1, 2)
        two.put_topic([PartitionRecord.on(2, 1), PartitionRecord.on(2)])
        two.crash(2)
        await two.until(lambda: two.row(0).leader == 1)
    assert "node 1 leads partition 0 of 't0': clean election, node 2 has gone; in sync (1,)" in caplog.text
    assert "nobody leads partition 1 of 't0': node 2 has gone" in caplog.text


@trio_test
async def test_a_node_that_comes_back_leads_what_only_it_can(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.put_topic([PartitionRecord((2, 1), (2,), 2), PartitionRecord((3, 1), (1,), -1, elr=(3,))])
        three.crash(2)
        await three.until(lambda: three.row(0).leader == -1)
        assert three.row(0).isr == (2,), "it stays the last that is in sync"
        await three.start(2)
        await three.until(lambda: three.row(0).leader == 2)
        assert three.row(0).leader_epoch == 2


@trio_test
async def test_an_eligible_replica_leads_where_nobody_in_sync_is_alive(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.put_topic([PartitionRecord.on(2, 3)], min_insync_replicas="2")
        three.crash(3)
        await three.until(lambda: three.row().elr == (3,))
        three.crash(2)
        await three.until(lambda: three.row().leader == -1)
        await three.start(3)
        await three.until(lambda: three.row().leader == 3)
        assert (three.row().isr, three.row().elr) == ((3,), (2,))
        await three.until(lambda: three.members[1].elections.elections[ElectionKind.ELIGIBLE] == 1)


@pytest.mark.parametrize(("allowed", "leader"), [("true", 1), ("false", -1)])
@trio_test
async def test_records_are_given_up_only_where_the_topic_says_so(jumping: MockClock, allowed: str, leader: int) -> None:
    async with cluster() as two:
        await two.start(1, 2)
        two.put_topic([PartitionRecord((2, 1), (2,), 2)], unclean_leader_election_enable=allowed)
        two.crash(2)
        await two.until(lambda: two.row().leader_epoch == 1)
        assert two.row().leader == leader
        await trio.sleep(1)
        assert two.members[1].elections.elections[ElectionKind.UNCLEAN] == (leader == 1)


@trio_test
async def test_many_partitions_move_in_several_commits(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.put_topic([PartitionRecord.on(2, 3)] * 250)
        before = three.shared.memory.revision()
        three.crash(2)
        await three.until(lambda: three.row(249).leader == 3)
        assert {three.row(index).leader for index in range(250)} == {3}
        assert three.shared.memory.revision() == before + 1 + 3
        await three.until(lambda: three.members[1].elections.elections[ElectionKind.CLEAN] == 250)


@trio_test
async def test_another_node_takes_over_from_a_controller_that_has_gone(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        assert three.controllers == [1]
        three.put_topic([PartitionRecord.on(1, 2, 3)])
        three.crash(1)
        await three.until(lambda: three.row().leader == 2)
        (controller,) = three.controllers
        assert controller in (2, 3)
        await three.start(1)
        assert three.controllers == [controller], "it stays who it is"


@trio_test
async def test_what_a_controller_left_undone_the_next_one_does(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.members[1].kill()
        three.put_topic([PartitionRecord.on(1, 2, 3)])
        three.crash(2)
        await trio.sleep(5)
        assert three.row().leader == 1, "node 1 holds the row, and does nothing"
        three.members[1].catalogue.end_session()
        await three.until(lambda: three.row().leader == 3)


@trio_test
async def test_what_fails_is_tried_again(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.put_topic([PartitionRecord.on(2, 3)])
        door = three.members[1].catalogue
        await three.until(lambda: bool(three.members[1].replicas.topics.by_id))
        door.cut_off = True
        three.crash(2)
        await trio.sleep(3)
        assert three.row().leader == 2
        door.cut_off = False
        await three.until(lambda: three.row().leader == 3)


@trio_test
async def test_the_first_replica_leads_again_some_seconds_after_it_is_in_sync(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.put_topic([PartitionRecord((2, 3), (3,), 3)])
        await trio.sleep(20)
        assert three.row().leader == 3
        three.put_row(isr=(3, 2))
        began = trio.current_time()
        await three.until(lambda: three.row().leader == 2)
        assert 10 < trio.current_time() - began < 20, "as long as a client may wait before it looks for a node again"
        await three.until(lambda: three.members[1].elections.elections[ElectionKind.PREFERRED] == 1)


@trio_test
async def test_leaders_move_to_who_has_been_here_for_long(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        await trio.sleep(20)
        three.crash(2)
        await three.start(2)
        three.put_topic([PartitionRecord.on(3, 2, 1)])
        three.crash(3)
        await three.until(lambda: three.row().leader == 1)


@trio_test
async def test_who_came_after_others_leads_what_is_its_own_after_them(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.put_topic([PartitionRecord((2, 1), (1, 2), 1), PartitionRecord((3, 1), (1, 3), 1)])
        await trio.sleep(8)
        three.crash(3)
        await three.start(3)
        three.put_row(1, isr=(1, 3))
        await three.until(lambda: three.row(0).leader == 2, timeout_s=8)
        assert three.row(1).leader == 1
        await three.until(lambda: three.row(1).leader == 3, timeout_s=20)


@trio_test
async def test_a_new_controller_goes_on_bringing_leaders_back(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        await trio.sleep(20)
        three.put_topic([PartitionRecord((2, 3), (2, 3), 3)])
        await trio.sleep(5)
        assert three.members[1].role.is_controller
        three.crash(1)
        await three.until(lambda: three.row().leader == 2, timeout_s=20)


@trio_test
async def test_preferred_leaders_can_be_left_to_the_operator(jumping: MockClock) -> None:
    settings = BrokerSettings(keys=BROKER_KEYS, static={"auto.leader.rebalance.enable": False})
    async with cluster() as two:
        await two.start(1, 2, settings=settings)
        two.put_topic([PartitionRecord((2, 1), (1, 2), 1)])
        await trio.sleep(1000)
        assert two.row().leader == 1


@trio_test
async def test_who_was_eligible_is_so_no_longer_once_the_minimum_is_lowered(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.put_topic([PartitionRecord.on(2, 3)], min_insync_replicas="2")
        three.crash(3)
        await three.until(lambda: three.row().elr == (3,))
        three.put_config(min_insync_replicas="1")
        await three.until(lambda: three.row().elr == ())
        three.put_config(min_insync_replicas="2")
        three.crash(2)
        await three.start(3)
        await trio.sleep(5)
        assert three.row().leader == -1, "node 2 may have acknowledged records by itself meanwhile"


@trio_test
async def test_a_topic_that_is_made_with_a_node_that_has_just_gone_gets_leaders(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.crash(3)
        await trio.sleep(1)
        three.put_topic([PartitionRecord.on(3, 2)], SECOND_ID)
        three.put_topic([PartitionRecord.on(3, 2)])
        await three.until(lambda: three.row().leader == 2)


@trio_test
async def test_a_node_whose_port_refuses_is_given_up_before_its_session_ends(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.put_topic([PartitionRecord.on(2, 3, 1)])
        three.members[2].kill()
        three.members[1].unreachable[2] = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
        three.members[1].role.suspect(2)
        began = trio.current_time()
        await three.until(lambda: three.row().leader == 3)
        assert trio.current_time() - began < 0.5
        assert three.node(2) is None


@trio_test
async def test_a_controller_whose_port_refuses_is_given_up_too(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.put_topic([PartitionRecord.on(1, 2, 3)])
        three.members[1].kill()
        for other in (2, 3):
            three.members[other].unreachable[1] = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
            three.members[other].role.suspect(1)
        await three.until(lambda: three.row().leader == 2, timeout_s=0.5)


@pytest.mark.parametrize("trouble", [OSError(errno.EHOSTUNREACH, "no route"), TimeoutError()])
@trio_test
async def test_silence_is_no_crash(jumping: MockClock, trouble: OSError) -> None:
    async with cluster() as two:
        await two.start(1, 2)
        two.members[1].unreachable[2] = trouble
        two.members[1].role.suspect(2)
        await trio.sleep(10)
        assert two.node(2) is not None
        two.members[1].unreachable.clear()
        two.members[1].role.suspect(2)
        await trio.sleep(10)
        assert two.node(2) is not None
        assert two.members[2].membership.lives == 1


@trio_test
async def test_only_the_controller_looks_at_a_suspect(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.members[3].unreachable[2] = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
        three.members[3].role.suspect(2)
        await trio.sleep(5)
        assert three.members[2].membership.lives == 1
