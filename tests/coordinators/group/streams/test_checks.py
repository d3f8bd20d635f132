"""Which commits and fetches of members of streams groups are taken."""

from typing import Any

import pytest

from coordinators.group.requests import OffsetToCommit
from engine.errors import StaleMemberEpoch, UnknownMemberId, UnsupportedVersion
from tests.coordinators.group.streams_shard import COUNTING, StreamsShard, StreamThread, settle


@pytest.fixture
def shard() -> StreamsShard:
    shard = StreamsShard()
    shard.topic("in", 2)
    return shard


def committed(shard: StreamsShard, member_id: str, epoch: int, topic: str, partition: int, **changes: Any) -> Any:
    answer = shard.commit(OffsetToCommit(topic, partition, 1), member_id=member_id, generation=epoch, **changes).message
    return answer[0] if isinstance(answer, list) else answer


def test_members_commit_in_their_epoch(shard: StreamsShard) -> None:
    thread = StreamThread(shard, "a", {"topology": COUNTING})
    settle(thread)
    assert committed(shard, "a", thread.epoch, "in", 0) is None
    assert isinstance(committed(shard, "a", thread.epoch + 1, "in", 0), StaleMemberEpoch)
    assert isinstance(committed(shard, "b", thread.epoch, "in", 0), UnknownMemberId)
    assert isinstance(committed(shard, "", -1, "in", 0), UnknownMemberId)
    old = committed(shard, "a", thread.epoch, "in", 0, can_be_told_of_no_group=False)
    assert isinstance(old, UnsupportedVersion)


def test_a_member_that_is_a_step_behind_commits_what_it_had_before(shard: StreamsShard) -> None:
    first, second = StreamThread(shard, "a"), StreamThread(shard, "b")
    settle(first)
    late = first.epoch
    settle(second, first)
    (kept,) = first.tasks.active["0"]
    assert first.epoch > late
    assert committed(shard, "a", late, "in", kept) is None
    assert isinstance(committed(shard, "a", late, "in", 1 - kept), StaleMemberEpoch), "the other has it"
    assert isinstance(committed(shard, "a", late, "elsewhere", 0), StaleMemberEpoch)
    (gained,) = second.tasks.active["0"]
    assert isinstance(committed(shard, "b", 0, "in", gained), StaleMemberEpoch), "it has it only since"


def test_whoever_names_a_member_fetches_in_its_epoch(shard: StreamsShard) -> None:
    thread = StreamThread(shard, "a")
    settle(thread)
    fetch = shard.machine.commits.fetch
    assert fetch("g", [("in", 0)], require_stable=True, member_id="a", member_epoch=thread.epoch)
    with pytest.raises(StaleMemberEpoch):
        fetch("g", [("in", 0)], require_stable=True, member_id="a", member_epoch=thread.epoch + 1)
    with pytest.raises(UnknownMemberId):
        fetch("g", [("in", 0)], require_stable=True, member_id="b", member_epoch=0)
    assert fetch("g", [("in", 0)], require_stable=True)


def test_without_members_anybody_commits_and_offsets_of_what_is_read_stay(shard: StreamsShard) -> None:
    thread = StreamThread(shard, "a")
    settle(thread)

    def delete() -> Any:
        return shard.ask(lambda machine: machine.commits.delete_offsets("g", [("in", 0)])).message[0]

    assert type(delete()).__name__ == "GroupSubscribedToTopic"
    thread.leave()
    assert committed(shard, "", -1, "in", 0) is None
    assert delete() is None
