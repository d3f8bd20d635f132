"""What requests of all members have in common: taking in, removing, timers."""

import pytest

from coordinators.group.requests import CommitRequest, OffsetToCommit
from coordinators.group.settings import GroupSettings
from coordinators.runtime import Producer
from engine.errors import GroupMaxSizeReached
from tests.coordinators.group.consumer_shard import ConsumerShard


@pytest.fixture
def shard() -> ConsumerShard:
    shard = ConsumerShard()
    shard.topic("t", 2)
    return shard


def test_a_full_group_has_room_only_for_its_members(shard: ConsumerShard) -> None:
    shard.settings = GroupSettings(consumer_max_size=1)
    shard.start()
    shard.joined("a", "t")
    shard.machine.consumers.check_room(shard.group, "a")
    with pytest.raises(GroupMaxSizeReached):
        shard.machine.consumers.check_room(shard.group, "b")


def test_only_groups_that_may_read_a_topic_look_again_when_it_changes(shard: ConsumerShard) -> None:
    shard.joined("a", "t")
    shard.beat("a", 1)
    assert not shard.group.is_stale
    shard.machine.consumers.topics_changed("u")
    assert not shard.group.is_stale
    shard.machine.consumers.topics_changed("t")
    assert shard.group.is_stale


def test_several_members_are_removed_in_one_epoch(shard: ConsumerShard) -> None:
    for name in "abc":
        shard.joined(name, "t")
    members = [shard.group.members[name] for name in "ab"]
    shard.ask(lambda machine: machine.consumers.remove(shard.group, members))
    assert (set(shard.group.members), shard.group.epoch) == ({"c"}, 4)


def test_offsets_that_nobody_reads_expire_and_with_the_last_one_an_empty_group(shard: ConsumerShard) -> None:
    shard.settings = GroupSettings(offsets_retention_ms=10_000)
    shard.start()
    shard.joined("a", "t")
    for topic in ("t", "left"):
        shard.commit(OffsetToCommit(topic, 0, 5), member_id="a", generation=1)
    shard.clock.advance_ms(shard.settings.offsets_retention_ms + 1)
    shard.ask(lambda machine: machine.commits.expire())
    assert (shard.fetch("t").offset, shard.fetch("left").offset) == (5, -1)
    shard.beat("a", -1)
    shard.ask(lambda machine: machine.commits.expire())
    assert shard.machine.consumers.groups == {}
    assert shard.fetch("t").offset == -1


def test_offsets_of_an_open_transaction_are_kept_by_a_group_of_any_protocol(shard: ConsumerShard) -> None:
    shard.joined("a", "t")
    request = CommitRequest("g", "a", 1, (OffsetToCommit("t", 0, 7),))
    shard.ask(lambda machine: machine.commits.commit_transactional(request, Producer(9, 0)))
    assert shard.fetch("t").offset == -1
    shard.machine.replay_marker(9, True)
    assert shard.fetch("t").offset == 7
