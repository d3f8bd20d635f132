"""Open transactions that their coordinator does not know of are aborted."""

from collections.abc import Collection

import pytest
import trio
from trio.testing import trio_test

from coordinators.transaction.orphans import GRACE_S, Orphans
from coordinators.transaction.transaction import V2, ProducerIdentity
from engine.errors import InvalidProducerEpoch
from engine.records.layout import TRANSACTIONAL_FLAG, build_batch
from tests.coordinators.transaction.world import World

PLACE = ("t", 0)


def orphaned(world: World) -> ProducerIdentity:
    """A batch that is in the partition and not in the transaction."""
    world.create("t")
    producer = world.init("a")
    assert isinstance(producer, ProducerIdentity)
    write(world, producer)
    return producer


def write(world: World, producer: ProducerIdentity) -> None:
    batch = build_batch(
        [(b"k", b"v")],
        timestamp_ms=world.clock.now_ms(),
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=0,
        attributes=TRANSACTIONAL_FLAG,
    )
    world.partition(PLACE).write(batch)
    world.settle()


def test_an_orphan_is_aborted_and_its_producer_fenced() -> None:
    world = World()
    producer = orphaned(world)
    assert world.partition(PLACE).last_stable_offset == 0
    Orphans(world.transactions).sweep()
    world.settle()
    assert world.partition(PLACE).last_stable_offset == 2
    assert world.read(PLACE, committed=True) == []
    with pytest.raises(InvalidProducerEpoch):
        write(world, producer)


def test_the_producer_that_lost_it_can_only_abort_and_then_goes_on() -> None:
    world = World()
    producer = orphaned(world)
    Orphans(world.transactions).sweep()
    world.add("a", producer, PLACE, version=V2)
    following = world.end("a", producer, commit=False, version=V2)
    world.add("a", following, PLACE, version=V2)
    world.write("a", following, PLACE, "next", 0)
    world.end("a", following, commit=True, version=V2)
    assert world.read(PLACE, committed=True) == ["next"]


def test_what_the_coordinator_knows_is_left_to_it() -> None:
    world = World()
    world.create("t")
    producer = world.init("a")
    world.add("a", producer, PLACE)
    world.write("a", producer, PLACE, "v", 0)
    Orphans(world.transactions).sweep()
    world.settle()
    assert world.read(PLACE) == ["v"]
    world.hold = True
    world.transactions.end("a", producer, commit=True)
    Orphans(world.transactions).sweep()
    world.hold = False
    world.settle()
    assert world.read(PLACE, committed=True) == ["v"]


def test_nothing_is_done_while_a_part_of_the_coordinator_is_loaded() -> None:
    world = World()
    orphaned(world)
    shard = world.transactions.runtime._shards[0]
    shard.is_loaded = False
    Orphans(world.transactions).sweep()
    assert world.read(PLACE) == ["v"]


def test_a_node_that_does_not_coordinate_everything_leaves_all_alone() -> None:
    """What it does not know, another node may coordinate."""
    world = World()
    orphaned(world)
    world.transactions.runtime.unload(0, 1)
    Orphans(world.transactions).sweep()
    world.settle()
    assert world.read(PLACE) == ["v"]
    assert world.partition(PLACE).last_stable_offset == 0


class Coordinators:
    """Of other nodes, too."""

    def __init__(self) -> None:
        self.answer: dict[int, frozenset[tuple[str, int]]] | None = {}
        self.asked: list[set[int]] = []

    async def known(self, producer_ids: Collection[int]) -> dict[int, frozenset[tuple[str, int]]] | None:
        await trio.lowlevel.checkpoint()
        self.asked.append(set(producer_ids))
        return self.answer


async def look(world: World, orphans: Orphans, times: int = 1) -> list[str]:
    for _ in range(times):
        await orphans.look()
    world.settle()
    return world.read(PLACE, committed=True) if world.partition(PLACE).last_stable_offset else ["open"]


@trio_test
async def test_in_a_cluster_what_no_coordinator_knows_is_aborted_when_it_is_older_than_any_may_be() -> None:
    world, coordinators = World(), Coordinators()
    producer = orphaned(world)
    orphans = Orphans(world.transactions, coordinators)
    assert await look(world, orphans, 3) == ["open"]
    assert coordinators.asked == []
    world.clock.advance_ms(world.transactions.settings.max_timeout_ms + int(GRACE_S * 1000))
    assert await look(world, orphans) == ["open"], "who coordinates may just be moving"
    assert coordinators.asked == [{producer.producer_id}]
    assert await look(world, orphans) == []


@trio_test
async def test_in_a_cluster_what_some_coordinator_knows_or_may_know_is_left_to_it() -> None:
    world, coordinators = World(), Coordinators()
    producer = orphaned(world)
    orphans = Orphans(world.transactions, coordinators)
    await orphans.look()
    world.clock.advance_ms(world.transactions.settings.max_timeout_ms + int(GRACE_S * 1000))
    for answer in ({producer.producer_id: frozenset({PLACE})}, None):
        coordinators.answer = answer
        assert await look(world, orphans, 3) == ["open"]
    coordinators.answer = {producer.producer_id: frozenset({("t", 7)})}
    assert await look(world, orphans, 2) == []
