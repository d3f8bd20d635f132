"""A node comes, stays and goes: fenced until it has caught up, never leading by a row of an earlier life."""

import os

import pytest
import trio
from attrs import evolve
from trio.testing import MockClock, trio_test

from coordinators.cluster.controller import ClusterController
from coordinators.cluster.leader_elections import LeaderElections
from coordinators.cluster.membership import ClusterMembership
from engine.catalogue.catalogue import Catalogue, Commit, Delete, Put
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.records import NODES, NodeRecord, PartitionRecord
from engine.catalogue.sqlite import IN_MEMORY, SqliteCatalogue
from engine.config.resolve import BrokerSettings
from engine.errors import DuplicateNodeRegistration, StorageError
from engine.workers import InlineWorkers
from tests.coordinators.cluster.members import TOPIC_ID, Member, cluster, replica_manager
from tidegate.config_keys import BROKER_KEYS


def membership_on(catalogue: Catalogue) -> ClusterMembership:
    workers = InlineWorkers()
    replicas = replica_manager(catalogue, 1, BrokerSettings(keys=BROKER_KEYS))
    return ClusterMembership(ClusterController(replicas), LeaderElections(replicas, workers), workers, os.urandom)


@trio_test
async def test_a_node_enters_with_the_epoch_of_its_registration(jumping: MockClock) -> None:
    async with cluster() as one:
        (member,) = await one.start(1)
        node = one.node(1)
        assert node is not None
        assert (node.fenced, node.stopping, len(node.incarnation)) == (False, False, 32)
        assert 0 < node.epoch < member.catalogue.revision()
        assert member.membership.epoch == node.epoch
        assert member.events == ["unfenced"]


@trio_test
async def test_a_node_is_fenced_until_it_has_caught_up(jumping: MockClock) -> None:
    async with cluster() as one:
        member = one.members[1] = Member(1, one.shared)
        member.compose()
        await member.membership.register(member.record)
        node = one.node(1)
        assert node is not None
        assert node.fenced
        assert member.membership.epoch == 0


@trio_test
async def test_a_node_does_not_lead_by_a_row_of_an_earlier_life(jumping: MockClock) -> None:
    async with cluster() as two:
        await two.start(1, 2)
        rows = [PartitionRecord.on(2, 1), PartitionRecord.on(1, 2), PartitionRecord((2, 3), (2, 3), 2)]
        two.put_topic([*rows, PartitionRecord.on(2)])
        # It is back before anybody has noticed.
        two.members[1].kill()
        two.crash(2)
        seen: list[PartitionRecord] = []
        member = two.members[2] = Member(2, two.shared)
        member.compose()
        await member.replicas.open_all(clean=False, leads=False)
        await member.membership.register(member.record)
        assert not [each for each in member.replicas.partitions if each.replicas.leads]
        two.nursery.start_soon(member.membership.run)
        while (node := two.node(2)) is not None and node.fenced:
            seen = [two.row(index) for index in range(4)]
            await trio.lowlevel.checkpoint()
        assert [(row.leader, row.isr, row.leader_epoch) for row in seen] == [
            (1, (1,), 1),
            (1, (1,), 0),
            (-1, (2, 3), 1),
            (-1, (2,), 1),
        ]


@trio_test
async def test_a_node_leads_again_what_only_it_has_after_a_restart(jumping: MockClock) -> None:
    async with cluster() as one:
        await one.start(1)
        one.put_topic([PartitionRecord.on(1)])
        one.crash(1)
        (member,) = await one.start(1)
        await one.until(lambda: one.row().leader == 1)
        assert one.row().leader_epoch == 2
        await one.until(lambda: any(each.replicas.leads for each in member.replicas.partitions))


@trio_test
async def test_a_node_waits_for_the_end_of_its_earlier_life(jumping: MockClock) -> None:
    async with cluster() as one:
        (member,) = await one.start(1)
        member.kill()
        earlier = member.catalogue

        async def end() -> None:
            await trio.sleep(5)
            earlier.end_session()

        one.nursery.start_soon(end)
        began = trio.current_time()
        await one.start(1)
        assert 5 <= trio.current_time() - began < 6


@trio_test
async def test_a_number_that_another_node_has_is_refused(jumping: MockClock) -> None:
    async with cluster() as one:
        await one.start(1)
        second = Member(1, one.shared)
        second.compose()
        began = trio.current_time()
        with pytest.raises(DuplicateNodeRegistration, match=r"number 1 is alive, at PLAINTEXT://node1:9092"):
            await second.membership.register(second.record)
        assert 30 <= trio.current_time() - began < 31


@trio_test
async def test_a_node_whose_session_was_lost_begins_a_new_life(jumping: MockClock) -> None:
    async with cluster() as two:
        _, member = await two.start(1, 2)
        two.put_topic([PartitionRecord.on(2, 1)])
        first = member.membership.epoch
        member.catalogue.end_session()
        await two.until(lambda: member.membership.lives == 2 and member.membership.epoch > first)
        assert member.events == ["unfenced", "fenced", "unfenced"]
        assert two.row().leader == 1
        assert member.catalogue.session.opened == 2


@trio_test
async def test_a_node_that_was_given_up_wrongly_begins_a_new_life(jumping: MockClock) -> None:
    async with cluster() as two:
        _, member = await two.start(1, 2)
        two.shared.memory.commit(Commit((), (Delete(f"{NODES}2"),)))
        await two.until(lambda: member.membership.lives == 2 and member.membership.epoch > 0)
        assert member.catalogue.session.opened == 1, "the session was in order"


@trio_test
async def test_it_gives_up_what_it_leads_before_it_registers_anew(jumping: MockClock) -> None:
    async with cluster() as one:
        (member,) = await one.start(1)
        rows: list[NodeRecord | None] = []

        async def give_up() -> None:
            rows.append(one.node(1))

        member.membership.on_fenced.append(give_up)
        member.catalogue.end_session()
        await one.until(lambda: member.membership.lives == 2)
        assert rows == [None]


@trio_test
async def test_a_catalogue_that_does_not_answer_is_asked_again(jumping: MockClock) -> None:
    async with cluster() as one:
        (member,) = await one.start(1)
        member.catalogue.cut_off = True
        member.catalogue.end_session()
        await trio.sleep(10)
        assert (one.node(1), member.membership.epoch) == (None, 0)
        member.catalogue.cut_off = False
        await one.until(lambda: member.membership.epoch > 0)


@trio_test
async def test_a_node_that_stops_hands_over_first(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.put_topic([PartitionRecord.on(1, 2, 3), PartitionRecord.on(2, 1), PartitionRecord.on(1)])
        await three.until(lambda: all(member.replicas.topics.by_id for member in three.members.values()))
        led: list[tuple[int, int]] = []
        three.members[1].catalogue.session.before_end.append(
            lambda: led.extend((three.row(index).leader, three.row(index).leader_epoch) for index in range(3))
        )
        await three.members[1].stop()
        assert led == [(2, 1), (2, 0), (1, 0)], "what nobody else has stays with it to the end"


@trio_test
async def test_a_node_that_stops_has_gone_at_once(jumping: MockClock) -> None:
    async with cluster() as two:
        await two.start(1, 2)
        two.put_topic([PartitionRecord.on(1, 2)])
        await two.members[1].stop()
        assert (two.node(1), two.row().leader) == (None, 2)
        await two.until(lambda: two.controllers == [2])


@trio_test
async def test_a_node_stops_although_the_catalogue_does_not_answer(jumping: MockClock) -> None:
    async with cluster() as two:
        await two.start(1, 2)
        two.put_topic([PartitionRecord.on(1, 2)])
        two.members[1].catalogue.cut_off = True
        began = trio.current_time()
        await two.members[1].stop()
        assert 10 <= trio.current_time() - began < 15


@pytest.mark.parametrize("make", [MemoryCatalogue, lambda: SqliteCatalogue.open(IN_MEMORY)])
@trio_test
async def test_one_node_alone_writes_where_it_is_and_nothing_else(make: object, jumping: MockClock) -> None:
    catalogue = make()  # type: ignore[operator]
    membership = membership_on(catalogue)
    record = NodeRecord(1, ("PLAINTEXT://here:9092",))
    rows = PartitionRecord.on(1)
    catalogue.commit(Commit((), (Put(f"partitions/{TOPIC_ID.hex()}/0", rows.encode()),)))
    await membership.register(record)
    await membership.run()
    revision, entries = catalogue.entries("")
    assert [(entry.key, entry.value) for entry in entries] == [
        ("nodes/1", record.encode()),
        (f"partitions/{TOPIC_ID.hex()}/0", rows.encode()),
    ]
    await membership.register(record)
    await membership.resign()
    await membership.leave()
    assert catalogue.revision() == revision, "what is told already is not told again"
    assert membership.epoch == 0
    await membership.register(evolve(record, rack="r"))
    assert membership.replicas.nodes.by_id == {1: evolve(record, rack="r")}


@trio_test
async def test_one_node_alone_serves_although_it_cannot_tell(
    jumping: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StorageError("the disk is full")

    membership = membership_on(MemoryCatalogue())
    monkeypatch.setattr(MemoryCatalogue, "commit", full)
    record = NodeRecord(1, ())
    await membership.register(record)
    assert membership.replicas.nodes.by_id == {1: record}
