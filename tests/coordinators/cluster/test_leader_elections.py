"""Elections that clients ask for, on whichever node."""

import pytest
from attrs import evolve
from trio.testing import MockClock, trio_test

from coordinators.cluster.elections import ElectionKind, Electorate
from engine.catalogue.records import PartitionRecord
from engine.errors import (
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    PreferredLeaderNotAvailable,
    UnknownTopicOrPartition,
)
from tests.coordinators.cluster.members import Cluster, Member, cluster

NAME = "t0"


async def two_members(made: Cluster, rows: list[PartitionRecord]) -> Member:
    """Nodes 1 and 2 of three; node 2 is not the controller."""
    _, member = await made.start(1, 2)
    made.put_topic(rows)
    await made.until(lambda: NAME in member.replicas.topics.by_name)
    return member


@trio_test
async def test_a_preferred_leader_is_elected_where_it_can_be(jumping: MockClock) -> None:
    async with cluster() as made:
        rows = [PartitionRecord((1, 2), (1, 2), 2), PartitionRecord.on(1, 2), PartitionRecord((1, 2), (2,), 2)]
        member = await two_members(made, rows)
        wanted = [(NAME, 0), (NAME, 1), (NAME, 2), (NAME, 9), ("none", 0)]
        told = await member.elections.elect(wanted, unclean=False)
        assert [type(told[each]) for each in wanted] == [
            type(None),
            ElectionNotNeeded,
            PreferredLeaderNotAvailable,
            UnknownTopicOrPartition,
            UnknownTopicOrPartition,
        ]
        assert made.row(0) == PartitionRecord((1, 2), (1, 2), 1, 1, 1)
        assert member.replicas.topics.by_name[NAME].partitions[0].leader == 1, "it is in force here"
        assert member.elections.elections == {ElectionKind.PREFERRED: 1}


@trio_test
async def test_of_all_partitions_those_are_told_that_needed_it(jumping: MockClock) -> None:
    async with cluster() as made:
        rows = [PartitionRecord((1, 2), (1, 2), 2), PartitionRecord.on(1, 2), PartitionRecord((1, 2), (2,), 2)]
        member = await two_members(made, rows)
        told = await member.elections.elect(None, unclean=False)
        assert {key: type(error) for key, error in told.items()} == {
            (NAME, 0): type(None),
            (NAME, 2): PreferredLeaderNotAvailable,
        }


@trio_test
async def test_who_asks_for_an_unclean_leader_gets_one(jumping: MockClock) -> None:
    async with cluster() as made:
        rows = [PartitionRecord((3, 2), (3,), -1), PartitionRecord.on(1, 2), PartitionRecord((3,), (3,), -1)]
        member = await two_members(made, rows)
        told = await member.elections.elect([(NAME, 0), (NAME, 1), (NAME, 2)], unclean=True)
        assert [type(error) for error in told.values()] == [
            type(None),
            ElectionNotNeeded,
            EligibleLeadersNotAvailable,
        ]
        assert (made.row(0).leader, made.row(0).isr) == (2, (2,))


@trio_test
async def test_the_next_step_of_a_row_follows_its_members(jumping: MockClock) -> None:
    """Such as of a reassignment: it is taken by the controller as soon as the row's members allow it."""

    def step(row: PartitionRecord, electorate: Electorate) -> PartitionRecord:
        if not row.adding or not set(row.adding) <= set(row.isr) & electorate.eligible:
            return row
        return evolve(row, adding=(), partition_epoch=row.partition_epoch + 1)

    async with cluster() as made:
        first, _ = await made.start(1, 2)
        first.elections.steps.append(step)
        made.put_topic([PartitionRecord((1, 2), (1,), 1, adding=(2,))])
        await made.until(lambda: NAME in first.replicas.topics.by_name)
        assert made.row().adding == (2,)
        made.put_row(isr=(1, 2))
        await made.until(lambda: made.row().adding == ())


@trio_test
async def test_a_topic_that_is_not_known_yet_is_treated_with_care(
    jumping: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster() as made:
        (member,) = await made.start(1)
        row = PartitionRecord((3, 1), (3,), 3)
        assert member.elections.ballot(row, Electorate(frozenset({1})), None).row.leader == -1
