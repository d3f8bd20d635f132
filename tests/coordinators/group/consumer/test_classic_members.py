"""Members of the classic protocol in a group of the new one."""

import pytest

from coordinators.group.requests import LeavingMember
from engine.errors import IllegalGeneration, InconsistentGroupProtocol, RebalanceInProgress, UnknownMemberId
from tests.coordinators.group.classic_consumer import ClassicConsumer, settle_both, subscription
from tests.coordinators.group.consumer_shard import Consumer, ConsumerShard, places


@pytest.fixture
def shard() -> ConsumerShard:
    shard = ConsumerShard()
    shard.topic("t", 4)
    return shard


def test_members_of_the_classic_protocol_join_and_leave_a_consumer_group(shard: ConsumerShard) -> None:
    new, old = Consumer(shard, "new"), ClassicConsumer(shard)
    new.join()
    answer = old.join().message
    assert (answer.generation, answer.leader, answer.members) == (2, "", ())
    old.sync()
    assert old.owned == frozenset(), "nothing is free yet"
    settle_both(new, old)
    assert (len(old.owned), len(places(new.owned))) == (2, 2)
    assert old.leave() == [None]
    assert len(places(new.beat().assignment)) == 4


def test_a_classic_member_that_does_not_join_again_is_taken_out(shard: ConsumerShard) -> None:
    new, old = Consumer(shard, "new"), ClassicConsumer(shard)
    old.join()
    old.sync()
    new.join()
    for _ in range(5):
        shard.advance(5_000)
        new.beat()
        if old.member_id in shard.group.members:
            with pytest.raises(RebalanceInProgress):
                old.beat()
    assert set(shard.group.members) == {"new"}
    with pytest.raises(UnknownMemberId):
        old.beat()


def test_a_silent_classic_member_is_taken_out_after_its_own_session_timeout(shard: ConsumerShard) -> None:
    old, new = ClassicConsumer(shard), Consumer(shard, "new")
    new.join()
    old.join()
    settle_both(new, old)
    shard.advance(10_001)
    assert set(shard.group.members) == {"new"}


def test_a_classic_member_in_another_generation_is_refused(shard: ConsumerShard) -> None:
    old, new = ClassicConsumer(shard), Consumer(shard, "new")
    new.join()
    old.join()
    old.generation += 1
    with pytest.raises(IllegalGeneration):
        old.beat()
    assert isinstance(old.sync().message, IllegalGeneration)


def test_a_classic_member_that_shares_no_protocol_is_refused(shard: ConsumerShard) -> None:
    Consumer(shard, "new").join()
    ClassicConsumer(shard).join()
    other = ClassicConsumer(shard)
    assert isinstance(other.join(protocols=(("sticky", subscription()),)).message, InconsistentGroupProtocol)
    assert isinstance(other.join(protocol_type="connect").message, InconsistentGroupProtocol)
    assert isinstance(other.join(protocols=(("range", b"\0"),)).message, InconsistentGroupProtocol)


def test_a_classic_member_is_told_of_new_partitions(shard: ConsumerShard) -> None:
    new, old = Consumer(shard, "new"), ClassicConsumer(shard)
    new.join()
    old.join()
    settle_both(new, old)
    old.beat()
    shard.topic("t", 6)
    with pytest.raises(RebalanceInProgress):
        old.beat()
    settle_both(new, old)
    assert (len(old.owned), len(places(new.owned))) == (3, 3)


def test_members_of_the_new_protocol_do_not_speak_the_classic_one(shard: ConsumerShard) -> None:
    new = Consumer(shard, "new", options={"instance_id": "i"})
    new.join()
    with pytest.raises(UnknownMemberId):
        shard.machine.heartbeat("g", "new", None, 1)
    (error,) = shard.ask(lambda machine: machine.leave("g", [LeavingMember("new")])).message
    assert isinstance(error, UnknownMemberId)


def test_an_administrator_removes_a_static_member_by_its_name(shard: ConsumerShard) -> None:
    Consumer(shard, "new", options={"instance_id": "i"}).join()
    leaving = [LeavingMember("", "i"), LeavingMember("", "none")]
    gone, unknown = shard.ask(lambda machine: machine.leave("g", leaving)).message
    assert (gone, type(unknown), shard.group.members) == (None, UnknownMemberId, {})
