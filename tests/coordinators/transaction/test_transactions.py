"""The coordinator as the rest of the program sees it."""

import re
from typing import Any

import pytest

from coordinators.transaction.transaction import ProducerIdentity, TransactionState
from engine.errors import (
    InvalidRequest,
    InvalidTransactionTimeout,
    PolicyViolation,
    TransactionAbortable,
    TransactionalIdNotFound,
    UnknownTopicOrPartition,
)
from engine.log.transactions import EndMarker
from tests.coordinators.transaction.world import World

PLACE = ("t", 0)


@pytest.fixture
def world() -> World:
    made = World()
    made.create("t")
    return made


def test_an_empty_transactional_id_is_none(world: World) -> None:
    assert isinstance(world.init(""), InvalidRequest)


@pytest.mark.parametrize("timeout_ms", [-1, 0, 900_001])
def test_a_timeout_out_of_bounds_is_refused(world: World, timeout_ms: int) -> None:
    assert isinstance(world.init("a", timeout_ms), InvalidTransactionTimeout)


def test_only_partitions_of_the_transaction_are_verified(world: World) -> None:
    producer = world.init("a")
    assert isinstance(world.heard(world.transactions.verify("a", producer, PLACE)), TransactionAbortable)
    world.add("a", producer, PLACE)
    assert world.heard(world.transactions.verify("a", producer, PLACE)) is None
    world.end("a", producer, commit=True)
    assert isinstance(world.heard(world.transactions.verify("a", producer, PLACE)), TransactionAbortable)


def test_the_verification_can_be_switched_off() -> None:
    world = World(settings={"transaction.partition.verification.enable": "false"})
    assert world.heard(world.transactions.verify("nobody", ProducerIdentity(1, 1), PLACE)) is None


def listed(world: World, *arguments: Any) -> list[str]:
    return sorted(each.transactional_id for each in world.transactions.list(*arguments))


def test_transactions_are_listed_by_state_producer_age_and_name(world: World) -> None:
    producers = {name: world.init(name) for name in ("a", "b", "other")}
    world.add("b", producers["b"], PLACE)
    world.advance(500)
    assert listed(world, set(), set()) == ["a", "b", "other"]
    assert listed(world, {"Ongoing"}, set()) == ["b"]
    assert listed(world, {"Empty", "Nonsense"}, set()) == ["a", "other"]
    assert listed(world, {"Nonsense"}, set()) == []
    assert listed(world, set(), {producers["a"].producer_id}) == ["a"]
    assert listed(world, {"Ongoing"}, set(), 499) == ["b"]
    assert listed(world, {"Ongoing"}, set(), 500) == []
    assert listed(world, set(), set(), -1, re.compile("[ab]")) == ["a", "b"]


def test_a_transaction_is_described(world: World) -> None:
    producer = world.init("a", 5000)
    world.add("a", producer, PLACE)
    found = world.heard(world.transactions.describe("a"))
    assert (found.state, found.timeout_ms, found.partitions) == (TransactionState.ONGOING, 5000, frozenset({PLACE}))
    assert isinstance(world.heard(world.transactions.describe("b")), TransactionalIdNotFound)


def test_an_administrator_can_end_what_hangs(world: World) -> None:
    producer = world.init("a")
    world.add("a", producer, PLACE)
    world.write("a", producer, PLACE, "hanging", 0)
    assert world.heard(world.markers.write(PLACE, producer, EndMarker(False, 0))) is None
    assert world.partition(PLACE).last_stable_offset == 2
    unknown = world.heard(world.markers.write(("nowhere", 0), producer, EndMarker(False, 0)))
    assert isinstance(unknown, UnknownTopicOrPartition)


def test_what_is_counted(world: World) -> None:
    world.init("a")
    world.add("b", world.init("b"), PLACE)
    assert world.transactions.statistics() == {"Empty": 1, "Ongoing": 1}


def known(world: World) -> set[str]:
    return {name for machine in world.transactions.runtime.machines() for name in machine.transactions}


def test_of_too_many_transactional_ids_the_one_unused_for_longest_is_forgotten() -> None:
    world = World(settings={"max.transactional.ids": "4", "transaction.state.log.num.partitions": "1"})
    world.create("t")
    for name in ("a", "b", "c", "d"):
        assert isinstance(world.init(name), ProducerIdentity)
        world.advance(1_000)
    used = world.init("a")
    world.advance(900_000)
    assert isinstance(world.init("e"), ProducerIdentity)
    assert known(world) == {"a", "c", "d", "e"}
    world.crash()
    assert known(world) == {"a", "c", "d", "e"}
    assert world.init("a").producer_id == used.producer_id


def test_it_is_forgotten_whichever_partition_knows_it() -> None:
    world = World(settings={"max.transactional.ids": "20", "transaction.max.timeout.ms": "60000"})
    for number in range(20):
        world.init(f"old-{number}")
    world.advance(60_001)
    for number in range(20):
        assert isinstance(world.init(f"new-{number}"), ProducerIdentity)
    assert len(known(world)) <= 20


def test_an_id_that_is_in_use_or_was_just_now_is_never_forgotten(world: World) -> None:
    world = World(settings={"max.transactional.ids": "2"})
    world.create("t")
    busy = world.init("busy", 900_000)
    world.init("recent")
    world.add("busy", busy, PLACE)
    refusal = world.init("new")
    assert isinstance(refusal, PolicyViolation)
    assert "max.transactional.ids=2" in str(refusal)
    assert isinstance(world.init("recent"), ProducerIdentity), "who is known may go on"
    world.advance(899_000)
    assert isinstance(world.init("new"), PolicyViolation)
    world.advance(1_000)
    assert isinstance(world.init("new"), ProducerIdentity)
    assert known(world) == {"busy", "new"}
