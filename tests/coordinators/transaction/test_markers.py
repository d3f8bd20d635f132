"""Carrying a decision out, whatever stands in the way."""

import errno

import pytest

from coordinators.group.groups import OFFSETS_TOPIC
from coordinators.transaction.transaction import ProducerIdentity, TransactionState
from engine.errors import StorageError, TransactionCoordinatorFenced
from engine.log.transactions import EndMarker, build_marker
from engine.log.types import Origin
from tests.coordinators.committing import commit_and_apply
from tests.coordinators.transaction.world import World
from tests.engine.partition.making import remove

PLACES = (("t", 0), ("t", 1))


def begun(world: World) -> ProducerIdentity:
    world.create("t", 2)
    producer = world.init("a")
    assert isinstance(producer, ProducerIdentity)
    world.add("a", producer, *PLACES)
    for place in PLACES:
        world.write("a", producer, place, "v", 0)
    return producer


def state(world: World) -> TransactionState:
    (found,) = [shard["a"].state for shard in world.hard_state() if "a" in shard]
    assert isinstance(found, TransactionState)
    return found


def test_a_partition_that_cannot_be_written_gets_its_marker_later_and_the_client_does_not_wait() -> None:
    world = World()
    producer = begun(world)
    offline = world.partition(PLACES[1])
    offline.offline = StorageError("broken")
    assert world.end("a", producer, commit=True) == producer
    assert state(world) is TransactionState.PREPARE_COMMIT
    assert world.read(PLACES[0], committed=True) == ["v"]
    assert world.read(PLACES[1], committed=True) == []
    offline.offline = None
    world.advance(101)
    assert state(world) is TransactionState.COMPLETE_COMMIT
    assert world.read(PLACES[1], committed=True) == ["v"]


def test_a_partition_that_is_gone_keeps_nobody_waiting() -> None:
    world = World()
    producer = begun(world)
    plan = world.topics.plan_delete(["t"])
    for update in commit_and_apply(world.catalogue, world.topics, plan.commit):
        assert update.before is not None
        remove(world.partitions, update.before.topic_id)
    assert world.end("a", producer, commit=True) == producer
    assert state(world) is TransactionState.COMPLETE_COMMIT


def test_a_decision_that_no_longer_stands_is_not_carried_out() -> None:
    world = World()
    producer = begun(world)
    offline = world.partition(PLACES[1])
    offline.offline = StorageError("broken")
    world.end("a", producer, commit=False)
    (machine,) = [each for each in world.transactions.runtime.machines() if "a" in each.transactions]
    decided = machine.transactions["a"]
    machine.transactions["a"] = decided.to(TransactionState.COMPLETE_ABORT, 1)
    offline.offline = None
    world.advance(1000)
    assert world.read(PLACES[1]) == ["v"]


@pytest.mark.parametrize("is_loaded", [True, False])
def test_a_groups_shard_learns_of_a_marker_from_its_log_whoever_wrote_it(is_loaded: bool) -> None:
    world = World()
    producer = begun(world)
    world.heard(world.transactions.add_offsets("a", producer, "g"))
    world.commit_offset("g", producer, ("t", 0), 5)
    place = world.groups.offsets_place("g")
    runtime, partition = world.groups.runtime, world.partition(place)
    if not is_loaded:
        runtime.unload(place[1])
    partition.write(
        build_marker(producer.producer_id, producer.epoch, EndMarker(True, 0), 1), origin=Origin.COORDINATOR
    )
    world.settle()
    if not is_loaded:
        runtime.load(place[1], partition, partition.leader_epoch)
        world.settle()
    assert world.fetch_offset("g", ("t", 0)).offset == 5


def test_a_partition_with_a_newer_epoch_of_the_producer_needs_no_marker() -> None:
    world = World()
    producer = begun(world)
    newer = ProducerIdentity(producer.producer_id, producer.epoch + 5)
    world.heard(world.markers.write(PLACES[0], newer, EndMarker(False, 0)))
    assert world.end("a", producer, commit=True) == producer
    assert state(world) is TransactionState.COMPLETE_COMMIT
    assert world.read(PLACES[0], committed=True) == []


def test_a_completion_that_cannot_be_written_is_tried_again() -> None:
    world = World()
    producer = begun(world)
    (index,) = [i for i, shard in enumerate(world.hard_state()) if "a" in shard]
    coordinators = world.partition(("__transaction_state", index))
    real, refused = coordinators.write, []

    def write(records: bytes, **options: object) -> object:
        if len(refused) < 2 and world.read(PLACES[0], committed=True):
            refused.append(1)
            raise StorageError(f"no space: {errno.ENOSPC}")
        return real(records, **options)  # type: ignore[arg-type]

    coordinators.write = write  # type: ignore[method-assign,assignment]
    assert world.end("a", producer, commit=True) == producer
    assert state(world) is TransactionState.PREPARE_COMMIT
    world.advance(101)
    world.advance(101)
    assert len(refused) == 2
    assert state(world) is TransactionState.COMPLETE_COMMIT


def test_markers_of_groups_offsets_are_told_to_the_group() -> None:
    world = World()
    producer = begun(world)
    world.heard(world.transactions.add_offsets("a", producer, "g"))
    world.commit_offset("g", producer, ("t", 0), 5)
    place = world.groups.offsets_place("g")
    assert place[0] == OFFSETS_TOPIC
    world.heard(world.markers.write(place, producer, EndMarker(True, 0)))
    assert world.fetch_offset("g", ("t", 0)).offset == 5


def test_the_longer_a_partition_cannot_be_written_the_seldomer_it_is_tried(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    producer = begun(world)
    full = world.partition(PLACES[1])
    tries: list[float] = []

    def write(*_: object, **__: object) -> object:
        tries.append(world.clock.monotonic())
        raise StorageError("no space")

    real, full.write = full.write, write  # type: ignore[method-assign,assignment]
    world.end("a", producer, commit=True)
    for _ in range(300):
        world.advance(100)
    assert len(tries) < 15
    assert caplog.text.count("has no marker of") == 1
    full.write = real  # type: ignore[method-assign]
    for _ in range(60):
        world.advance(100)
    assert state(world) is TransactionState.COMPLETE_COMMIT


ELSEWHERE = 2


def test_a_partition_whose_leader_has_moved_gets_its_marker_from_the_next_try() -> None:
    world = World()
    producer = begun(world)
    world.lead(PLACES[1], ELSEWHERE)
    assert world.end("a", producer, commit=True) == producer
    assert state(world) is TransactionState.PREPARE_COMMIT
    world.lead(PLACES[1])
    world.advance(101)
    assert state(world) is TransactionState.COMPLETE_COMMIT
    assert world.read(PLACES[1], committed=True) == ["v"]


def test_a_coordinator_that_has_resigned_writes_no_more_and_the_next_one_goes_on() -> None:
    world = World()
    producer = begun(world)
    broken = world.partition(PLACES[1])
    broken.offline = StorageError("broken")
    world.end("a", producer, commit=True)
    shards = [("__transaction_state", index) for index in range(2)]
    for shard in shards:
        world.lead(shard, ELSEWHERE)
    broken.offline = None
    world.advance(10_000)
    assert world.read(PLACES[1]) == ["v"]
    for shard in shards:
        world.lead(shard)
    assert state(world) is TransactionState.COMPLETE_COMMIT
    assert world.read(PLACES[1], committed=True) == ["v"]
    assert [each.coordinator_epoch for each in broken.log.producers()] == [2]


def test_a_partition_refuses_a_coordinator_that_is_older_than_the_one_it_has_heard_of() -> None:
    world = World()
    producer = begun(world)
    for index in range(2):
        world.lead(("__transaction_state", index))
    world.end("a", producer, commit=True)
    world.add("a", producer, PLACES[0])
    world.write("a", producer, PLACES[0], "next", 1)
    late = world.heard(world.markers.write(PLACES[0], producer, EndMarker(True, 0)))
    assert isinstance(late, TransactionCoordinatorFenced)
    assert world.read(PLACES[0], committed=True) == ["v"]
    world.end("a", producer, commit=False)
    assert world.read(PLACES[0]) == ["v", "<commit>", "next", "<abort>"]
