"""Groups with members pass from the classic protocol to the new one and back."""

import struct

import pytest

from coordinators.group.classic.group import GroupState
from coordinators.group.config import GroupSettings
from coordinators.group.consumer.group import ConsumerGroupState
from coordinators.group.consumer.protocol import write_assignment
from coordinators.group.requests import OffsetToCommit
from engine.errors import (
    GroupIdNotFound,
    RebalanceInProgress,
)
from tests.coordinators.group.classic_consumer import ClassicConsumer, settle_both, subscription
from tests.coordinators.group.consumer_shard import Consumer, ConsumerShard, places, topic_id

T = topic_id("t")


@pytest.fixture
def shard() -> ConsumerShard:
    shard = ConsumerShard()
    shard.topic("t", 4)
    return shard


def classic_group(shard: ConsumerShard, user_data: bytes | None = None, assignor: str = "range") -> ClassicConsumer:
    """A classic group of one, which has everything."""
    old = ClassicConsumer(shard)
    old.join(protocols=((assignor, subscription()),))
    assignment = write_assignment({"t": frozenset(range(4))}, 1)
    if user_data is not None:
        assignment = assignment[:-4] + struct.pack(">i", len(user_data)) + user_data
    old.sync({old.member_id: assignment})
    assert shard.machine.groups["g"].state is GroupState.STABLE
    return old


def test_a_member_of_the_new_protocol_takes_a_classic_group_over_and_the_others_stay(shard: ConsumerShard) -> None:
    old = classic_group(shard)
    new = Consumer(shard, "new")
    assert new.join().epoch == 2
    assert shard.machine.groups == {}
    with pytest.raises(RebalanceInProgress):
        old.beat()
    assert old.owned == {0, 1, 2, 3}, "it reads on meanwhile"
    settle_both(old, new)
    assert (len(old.owned), len(places(new.owned))) == (2, 2)
    assert shard.group.state is ConsumerGroupState.STABLE
    assert old.generation == new.epoch


def test_an_upgraded_group_is_the_same_after_a_crash(shard: ConsumerShard) -> None:
    old = classic_group(shard)
    new = Consumer(shard, "new")
    new.join()
    settle_both(old, new)
    before = shard.machine.hard_state()
    shard.crash()
    assert shard.machine.hard_state() == before
    old.beat()


def test_who_waits_in_a_classic_group_joins_the_new_one(shard: ConsumerShard) -> None:
    old = classic_group(shard)
    waiting = ClassicConsumer(shard).join()
    Consumer(shard, "new").join()
    assert isinstance(waiting.message, RebalanceInProgress)
    assert old.member_id in shard.group.members


def test_when_the_last_member_of_the_new_protocol_is_gone_the_group_is_classic_again(shard: ConsumerShard) -> None:
    old = classic_group(shard)
    new = Consumer(shard, "new")
    new.join()
    settle_both(old, new)
    new.leave()
    shard.advance(1)
    assert shard.machine.consumers.groups == {}
    group = shard.machine.groups["g"]
    assert (group.state, group.generation, set(group.members)) == (GroupState.PREPARING_REBALANCE, 2, {old.member_id})
    with pytest.raises(RebalanceInProgress):
        old.beat()
    answer = old.join().message
    assert (answer.generation, answer.leader) == (3, old.member_id)
    assert shard.replayed().hard_state() == shard.machine.hard_state()


def test_offsets_stay_through_both_ways(shard: ConsumerShard) -> None:
    old = classic_group(shard)
    shard.commit(OffsetToCommit("t", 0, 5), member_id=old.member_id, generation=old.generation)
    new = Consumer(shard, "new")
    new.join()
    assert shard.fetch("t").offset == 5
    new.leave()
    shard.advance(1)
    assert shard.fetch("t").offset == 5


def test_a_static_classic_member_comes_back_in_the_new_protocol(shard: ConsumerShard) -> None:
    """The way that a rolling upgrade of static members goes."""
    old = ClassicConsumer(shard, "i")
    other = Consumer(shard, "other")
    other.join()
    old.join()
    settle_both(other, old)
    back = Consumer(shard, "back", options={"instance_id": "i"})
    back.join()
    assert {index for _, index in places(back.owned)} == old.owned
    assert set(shard.group.members) == {"other", "back"}


def mixed_group(shard: ConsumerShard) -> tuple[ClassicConsumer, Consumer]:
    """One dynamic member of the classic protocol, one static of the new."""
    old, new = classic_group(shard), Consumer(shard, "new", options={"instance_id": "i"})
    new.join()
    settle_both(old, new)
    return old, new


def test_the_last_member_of_the_new_protocol_comes_back_in_the_classic_one_and_nobody_moves(
    shard: ConsumerShard,
) -> None:
    old, new = mixed_group(shard)
    held = {index for _, index in places(new.owned)}
    back = ClassicConsumer(shard, "i")
    back.join()
    back.sync()
    shard.advance(1)
    assert shard.machine.groups["g"].state is GroupState.STABLE
    assert back.owned == held
    old.beat()
    back.beat()


def test_one_that_comes_back_with_other_wishes_makes_the_classic_group_rebalance(shard: ConsumerShard) -> None:
    old, _ = mixed_group(shard)
    shard.topic("u", 1)
    back = ClassicConsumer(shard, "i")
    back.join(protocols=(("range", subscription("u")),))
    shard.advance(1)
    assert shard.machine.groups["g"].state is GroupState.PREPARING_REBALANCE
    for member in (old, back):
        with pytest.raises(RebalanceInProgress):
            member.beat()


def test_one_that_comes_back_joins_the_consumer_group_where_the_policy_forbids_to_go_down() -> None:
    shard = ConsumerShard(settings=GroupSettings(initial_rebalance_delay_ms=0, consumer_migration_policy="upgrade"))
    shard.topic("t", 4)
    old, new = mixed_group(shard)
    back = ClassicConsumer(shard, "i")
    back.join()
    back.sync()
    settle_both(old, back)
    assert shard.group.state is ConsumerGroupState.STABLE
    assert len(back.owned) == len(places(new.owned)) == 2


@pytest.mark.parametrize("down_twice", [False, True])
def test_a_crash_does_not_lose_the_rebalance_of_a_group_that_is_classic_again(
    shard: ConsumerShard, down_twice: bool
) -> None:
    old = classic_group(shard)
    new = Consumer(shard, "new")
    new.join()
    settle_both(old, new)
    new.leave()
    for _ in range(1 + down_twice):
        shard.crash()
    with pytest.raises(RebalanceInProgress):
        old.beat()
    answer = old.join().message
    assert (answer.leader, answer.generation) == (old.member_id, 3)
    old.sync({old.member_id: write_assignment({"t": frozenset(range(4))}, 1)})
    shard.crash()
    old.beat()


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_a_group_with_members_stays_classic_where_the_policy_says_so(policy: str) -> None:
    shard = ConsumerShard(settings=GroupSettings(initial_rebalance_delay_ms=0, consumer_migration_policy=policy))
    shard.topic("t", 4)
    classic_group(shard)
    assert isinstance(Consumer(shard, "new").join(), GroupIdNotFound)
    assert shard.machine.groups["g"].state is GroupState.STABLE


def test_groups_that_cannot_be_understood_stay_classic(shard: ConsumerShard) -> None:
    shard.settled_member()
    assert isinstance(Consumer(shard, "new").join(), GroupIdNotFound), "its subscription is of another kind"
    assert shard.machine.groups["g"].state is GroupState.STABLE


def test_a_group_whose_assignor_keeps_data_of_its_own_stays_classic(shard: ConsumerShard) -> None:
    classic_group(shard, user_data=b"mine", assignor="mine")
    assert isinstance(Consumer(shard, "new").join(), GroupIdNotFound)


def test_what_a_standard_assignor_remembers_does_not_matter(shard: ConsumerShard) -> None:
    classic_group(shard, user_data=b"what I had", assignor="cooperative-sticky")
    assert Consumer(shard, "new").join().epoch == 2
