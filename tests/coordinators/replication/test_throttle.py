"""Throttles of replication: what catches up keeps to its rate, what is in sync never waits."""

from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from coordinators.replication.throttle import ReplicationThrottle, ThrottledSide
from coordinators.topic_view import Topic
from engine.catalogue.records import PartitionRecord
from engine.clock import ManualClock
from engine.config.keys import LONG_MAX
from engine.config.resolve import BrokerSettings


def topic(leader: str = "*", follower: str = "*") -> Topic:
    configs = {
        "leader.replication.throttled.replicas": leader,
        "follower.replication.throttled.replicas": follower,
    }
    return Topic("t", b"\1" * 16, (PartitionRecord.on(1),), BrokerSettings().topic_config(configs))


@define
class Bench:
    """Node 1 as a leader, with a rate that can be altered."""

    bytes_per_s: int = 1000
    side: ThrottledSide = ThrottledSide.LEADER
    clock: ManualClock = field(factory=ManualClock)
    throttle: ReplicationThrottle = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.throttle = ReplicationThrottle(1, self.side, self.clock, lambda: self.bytes_per_s)

    def room(self, of: Topic, partition: int = 0) -> int | None:
        return self.throttle.room(of, partition, in_sync=False)

    def take(self, of: Topic, count: int) -> None:
        self.throttle.took(of, 0, count, in_sync=False)


def test_what_catches_up_has_so_many_bytes_a_second_and_no_more() -> None:
    bench, moving = Bench(), topic()
    assert bench.room(moving) == 1000
    bench.take(moving, 1000)
    assert bench.room(moving) == 0
    bench.clock.seconds += 0.25
    assert bench.room(moving) == 250
    bench.clock.seconds += 60
    assert bench.room(moving) == 1000


def test_a_batch_that_is_too_large_is_paid_back() -> None:
    bench, moving = Bench(), topic()
    bench.take(moving, 4000)
    assert bench.room(moving) == 0
    assert 3 < bench.throttle.wait_s() < 3.1
    bench.clock.seconds += bench.throttle.wait_s()
    assert bench.room(moving) == 1
    assert bench.throttle.wait_s() == 0


def test_who_is_in_sync_never_waits_nor_counts() -> None:
    bench, moving = Bench(), topic()
    bench.throttle.took(moving, 0, 10**9, in_sync=True)
    bench.take(moving, 1000)
    assert bench.throttle.room(moving, 0, in_sync=True) is None
    assert bench.throttle.throttled_bytes == 1000


def test_only_the_replicas_that_are_named_are_bounded() -> None:
    bench = Bench()
    named = topic(leader="0:1,1:2,3:1", follower="2:1")
    assert [bench.room(named, partition) for partition in range(4)] == [1000, None, None, 1000]
    assert bench.room(topic(leader="")) is None
    follower = Bench(side=ThrottledSide.FOLLOWER)
    assert [follower.room(named, partition) for partition in range(3)] == [None, None, 1000]


def test_without_a_rate_nothing_is_bounded() -> None:
    bench = Bench(LONG_MAX)
    assert bench.room(topic()) is None
    assert bench.throttle.wait_s() == 0


def test_another_rate_is_in_force_at_once() -> None:
    bench, moving = Bench(), topic()
    bench.take(moving, 1000)
    bench.bytes_per_s = 10_000
    bench.clock.seconds += 0.5
    assert bench.room(moving) == 5000
    bench.bytes_per_s = 100
    assert bench.room(moving) == 100
    bench.bytes_per_s = 0
    assert bench.room(moving) == 0
    assert bench.throttle.wait_s() == 1


@given(st.lists(st.tuples(st.floats(0, 2), st.integers(1, 3000)), max_size=40), st.integers(1, 2000))
def test_over_any_time_no_more_goes_than_the_rate_a_second_before_and_one_batch(
    takes: list[tuple[float, int]], rate: int
) -> None:
    bench, moving = Bench(rate), topic()
    elapsed_s, taken, largest = 0.0, 0, 0
    for pause_s, size in takes:
        bench.clock.seconds += pause_s
        elapsed_s += pause_s
        if bench.room(moving):
            bench.take(moving, size)
            taken, largest = taken + size, max(largest, size)
        assert taken <= rate * (elapsed_s + 1) + largest + 1
