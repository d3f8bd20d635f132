"""What administrators do with share groups, where states are kept elsewhere and may refuse."""

import pytest
from trio.testing import trio_test

from coordinators.group.requests import CommitRequest, OffsetToCommit
from coordinators.group.share.administration import ShareOutcome, SharePositions
from coordinators.share.ports import SharePlace, ShareState
from engine.errors import (
    BrokerError,
    CoordinatorNotAvailable,
    InvalidRequest,
    NonEmptyGroup,
    UnknownTopicOrPartition,
)
from tests.coordinators.group.consumer_shard import topic_id
from tests.coordinators.group.share_office import Office

T, U = topic_id("t"), topic_id("u")


@pytest.fixture
def office() -> Office:
    office = Office()
    office.shard.topic("t", 2)
    office.shard.topic("u", 1)
    return office


def starts(found: list[SharePositions]) -> list[tuple[str, int, int, int]]:
    return [(topic.name, each.index, each.start_offset, each.lag) for topic in found for each in topic.partitions]


def errors(outcomes: list[ShareOutcome]) -> list[tuple[str, int, type[BrokerError] | None]]:
    return [(each.name, each.index, None if each.error is None else type(each.error)) for each in outcomes]


@trio_test
async def test_a_group_is_told_where_it_is_and_how_far_behind(office: Office) -> None:
    office.left("t", "u")
    office.states.kept[SharePlace("g", T, 0)] = ShareState(1, 3, 10, complete_count=4)
    office.states.kept[SharePlace("g", T, 1)] = ShareState(1, 0, 50)
    office.ends.ends[0] = 20
    found = await office.desk.positions("g", None)
    assert starts(found) == [("t", 0, 10, 6), ("t", 1, 50, -1), ("u", 0, -1, -1)], "-1: not begun, end unknown"
    assert found[0].partitions[0].leader_epoch == 3


@trio_test
async def test_what_does_not_exist_is_nowhere(office: Office) -> None:
    assert await office.desk.positions("missing", None) == []
    found = await office.desk.positions("g", [("t", [0, 9]), ("nothing", [0])])
    told = [None if each.error is None else type(each.error) for topic in found for each in topic.partitions]
    assert told == [None, UnknownTopicOrPartition, UnknownTopicOrPartition]


@trio_test
async def test_a_state_that_cannot_be_asked_for_now_is_told_so(office: Office) -> None:
    office.states.refusing.add(1)
    (found,) = await office.desk.positions("g", [("t", [0, 1])])
    assert [type(each.error) for each in found.partitions] == [type(None), CoordinatorNotAvailable]


@trio_test
async def test_a_group_begins_elsewhere_and_is_made_for_it(office: Office) -> None:
    wanted = [("t", [(0, 7), (9, 0), (1, -2)]), ("nothing", [(0, 0)])]
    outcomes = await office.desk.begin_elsewhere("g", wanted)
    assert errors(outcomes) == [
        ("t", 0, None),
        ("t", 9, UnknownTopicOrPartition),
        ("t", 1, InvalidRequest),
        ("nothing", 0, UnknownTopicOrPartition),
    ]
    assert office.states.kept == {SharePlace("g", T, 0): ShareState(1, 0, 7)}
    assert starts(await office.desk.positions("g", None)) == [("t", 0, 7, -1)]


@trio_test
async def test_the_last_offset_of_a_partition_counts_and_each_time_has_its_epoch(office: Office) -> None:
    await office.desk.begin_elsewhere("g", [("t", [(0, 1), (0, 2)])])
    await office.desk.begin_elsewhere("g", [("t", [(0, 3)]), ("t", [(0, 4)])])
    assert office.states.kept[SharePlace("g", T, 0)] == ShareState(2, 0, 4)


@trio_test
async def test_a_refusal_is_of_its_partition(office: Office) -> None:
    office.states.refusing.add(1)
    outcomes = await office.desk.begin_elsewhere("g", [("t", [(0, 1), (1, 1)])])
    assert errors(outcomes) == [("t", 0, None), ("t", 1, CoordinatorNotAvailable)]


@trio_test
async def test_a_group_with_members_neither_begins_elsewhere_nor_forgets(office: Office) -> None:
    office.shard.share_joined("a")
    with pytest.raises(NonEmptyGroup):
        await office.desk.begin_elsewhere("g", [("t", [(0, 1)])])
    with pytest.raises(NonEmptyGroup):
        await office.desk.forget_topics("g", ["t"])
    (refusal,) = await office.desk.delete_groups(["g"])
    assert isinstance(refusal, NonEmptyGroup)


@trio_test
async def test_topics_are_forgotten_and_what_is_not_there_is_told(office: Office) -> None:
    office.left("t")
    await office.desk.begin_elsewhere("g", [("t", [(0, 1)]), ("u", [(0, 1)])])
    outcomes = await office.desk.forget_topics("g", ["t", "nothing", "t"])
    assert errors(outcomes) == [("t", -1, None), ("nothing", -1, UnknownTopicOrPartition)]
    assert list(office.states.kept) == [SharePlace("g", U, 0)]
    assert starts(await office.desk.positions("g", None)) == [("u", 0, 1, -1)]
    assert errors(await office.desk.forget_topics("g", ["t"])) == [("t", -1, UnknownTopicOrPartition)]


@trio_test
async def test_what_could_not_be_forgotten_is_tried_again(office: Office) -> None:
    office.left("t")
    office.states.refusing.add(1)
    assert errors(await office.desk.forget_topics("g", ["t"])) == [("t", -1, CoordinatorNotAvailable)]
    assert office.shard.shared.states.deleting == {T: "t"}
    office.states.refusing.clear()
    assert errors(await office.desk.forget_topics("g", ["t"])) == [("t", -1, None)]
    assert office.shard.shared.states.deleting == {}


@trio_test
async def test_groups_of_all_kinds_are_deleted_and_share_groups_with_their_states(office: Office) -> None:
    await office.desk.begin_elsewhere("g", [("t", [(0, 1), (1, 1)])])
    offsets = CommitRequest("c", "", -1, (OffsetToCommit("t", 0, 1),))
    office.shard.ask(lambda machine: machine.commits.commit(offsets))
    refusals = await office.desk.delete_groups(["c", "g", "missing"])
    assert [None if each is None else type(each).__name__ for each in refusals] == [None, None, "GroupIdNotFound"]
    assert (office.states.kept, office.shard.machine.shares.groups, office.shard.machine.groups) == ({}, {}, {})


@trio_test
async def test_a_group_whose_states_stay_stays(office: Office) -> None:
    await office.desk.begin_elsewhere("g", [("t", [(0, 1), (1, 1)])])
    office.states.refusing.add(1)
    (refusal,) = await office.desk.delete_groups(["g"])
    assert isinstance(refusal, CoordinatorNotAvailable)
    assert "g" in office.shard.machine.shares.groups
