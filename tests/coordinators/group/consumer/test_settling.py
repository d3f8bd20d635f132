"""Twenty members over a hundred partitions, in simulated time: how long until everybody has its share."""

import heapq
import random

from coordinators.group.consumer.group import ConsumerGroupState
from tests.coordinators.group.consumer_shard import Consumer, ConsumerShard, places

MEMBERS, PARTITIONS = 20, 100


def run_until_stable(shard: ConsumerShard, consumers: list[Consumer], limit_ms: int = 30_000) -> int:
    """Heartbeats at the intervals that members are told, at once after a change; how long it took."""
    began = shard.clock.monotonic()
    chance = random.Random(1)
    due = [(chance.random() * each.interval_ms / 1000, number) for number, each in enumerate(consumers)]
    due = [(began + delay, number) for delay, number in due]
    heapq.heapify(due)
    while shard.group.state is not ConsumerGroupState.STABLE or any(
        each.epoch != shard.group.epoch for each in consumers
    ):
        at, number = heapq.heappop(due)
        shard.advance(max(0, round((at - shard.clock.monotonic()) * 1000)))
        assert shard.clock.monotonic() - began < limit_ms / 1000
        consumer = consumers[number]
        consumer.beat()
        assert all(len(owners) == 1 for owners in shard.owners().values()), "a partition has two owners"
        wait_ms = 5 if consumer._is_news else consumer.interval_ms
        heapq.heappush(due, (shard.clock.monotonic() + wait_ms / 1000, number))
    return round((shard.clock.monotonic() - began) * 1000)


def crowd(shard: ConsumerShard, count: int) -> list[Consumer]:
    consumers = [Consumer(shard, f"m{number:02}") for number in range(count)]
    for each in consumers:
        each.join()
    return consumers


def test_a_member_more_settles_in_under_a_second_and_nothing_else_stops() -> None:
    shard = ConsumerShard()
    shard.topic("t", PARTITIONS)
    consumers = crowd(shard, MEMBERS - 1)
    run_until_stable(shard, consumers)
    before = [places(each.owned) for each in consumers]
    for each in consumers:
        each.stopped.clear()
    newcomer = Consumer(shard, "newcomer")
    newcomer.join()
    assert run_until_stable(shard, [*consumers, newcomer]) < 1000
    assert [len(places(each.owned)) for each in [*consumers, newcomer]] == [5] * MEMBERS
    moved = set().union(*(each.stopped for each in consumers))
    assert moved == places(newcomer.owned), "only what the newcomer got was ever stopped"
    assert all(places(each.owned) <= had for each, had in zip(consumers, before, strict=True))


def test_a_member_less_settles_in_under_a_second_and_nothing_stops() -> None:
    shard = ConsumerShard()
    shard.topic("t", PARTITIONS)
    consumers = crowd(shard, MEMBERS)
    run_until_stable(shard, consumers)
    gone = consumers.pop()
    for each in consumers:
        each.stopped.clear()
    gone.leave()
    assert run_until_stable(shard, consumers) < 1000
    assert sum(len(places(each.owned)) for each in consumers) == PARTITIONS
    assert not any(each.stopped for each in consumers)


def test_twenty_members_that_come_at_once_settle_in_under_a_second() -> None:
    shard = ConsumerShard()
    shard.topic("t", PARTITIONS)
    assert run_until_stable(shard, crowd(shard, MEMBERS)) < 1000
