"""What requests of all members have in common: taking in, removing, timers."""

from collections.abc import Callable

import pytest

from coordinators.group.config import GroupSettings
from coordinators.group.requests import CommitRequest, OffsetToCommit
from coordinators.state_machine import Producer
from engine.errors import GroupMaxSizeReached
from tests.coordinators.group.consumer_shard import Consumer, ConsumerShard, places, settle
from tests.effort import growth


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
    shard.ask(lambda machine: machine.consumers.remove(shard.group, members, None))
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


def test_coming_and_going_cost_the_same_in_a_group_of_any_size() -> None:
    def come_and_go(count: int) -> Callable[[], object]:
        shard = ConsumerShard()
        shard.topic("t", 60)

        def work() -> None:
            for number in range(count):
                shard.clock.advance_ms(1)
                shard.joined(f"m{number}", "t")
            for number in range(count):
                shard.clock.advance_ms(1)
                shard.beat(f"m{number}", -1)

        return work

    assert growth(come_and_go, 100, 3) < 4


def test_one_target_is_for_all_who_come_at_once_to_a_large_group(shard: ConsumerShard) -> None:
    shard.topic("wide", 1_000)
    first, second, third = (Consumer(shard, name, ("wide",)) for name in "abc")
    first.join()
    assert len(places(first.owned)) == 1_000
    second.join()
    third.join()
    assert second.owned == third.owned == {}
    for _ in range(2):
        shard.advance(90)
        third.beat()
        assert shard.group.epoch == 3
        assert shard.group.assignment_epoch == 2, "the next target is not yet due"
    shard.advance(30)
    third.beat()
    assert shard.group.assignment_epoch == 3
    settle(first, second, third)
    assert sorted(len(places(each.owned)) for each in (first, second, third)) == [333, 333, 334]


def test_a_target_that_waits_is_computed_when_somebody_leaves_and_the_others_come(shard: ConsumerShard) -> None:
    shard.topic("wide", 1_000)
    first, second = (Consumer(shard, name, ("wide",)) for name in "ab")
    first.join()
    second.join()
    first.leave()
    shard.advance(1_000)
    settle(second)
    assert len(places(second.owned)) == 1_000


def test_a_group_without_an_interval_is_assigned_at_once(shard: ConsumerShard) -> None:
    shard.settings = GroupSettings(consumer_assignment_interval_ms=0)
    shard.start()
    shard.topic("wide", 1_000)
    for number, name in enumerate("abc"):
        shard.joined(name, "wide")
        assert shard.group.assignment_epoch == number + 1


def test_what_members_want_is_counted_as_they_come_change_and_go(shard: ConsumerShard) -> None:
    shard.joined("a", "t", "u")
    shard.joined("b", "u")
    assert shard.group.wanted_names == {"t": 1, "u": 2}
    shard.beat("b", shard.group.members["b"].epoch, topics=("v",))
    assert shard.group.wanted_names == {"t": 1, "u": 1, "v": 1}
    shard.beat("a", -1)
    assert shard.group.wanted_names == {"v": 1}
    assert shard.replayed().consumers.groups["g"].wanted_names == {"v": 1}
