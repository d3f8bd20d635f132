"""The coordinator as the rest of the program sees it."""

import re
from typing import Any

import pytest

from coordinators.transaction.states import State
from coordinators.transaction.transaction import ProducerIdentity
from engine.errors import (
    InvalidRequest,
    InvalidTransactionTimeout,
    TransactionAbortable,
    TransactionalIdNotFound,
    UnknownTopicOrPartition,
)
from engine.transactions import EndMarker
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
    with pytest.raises(TransactionAbortable):
        world.transactions.verify("a", producer, PLACE)
    world.add("a", producer, PLACE)
    world.transactions.verify("a", producer, PLACE)
    world.end("a", producer, commit=True)
    with pytest.raises(TransactionAbortable):
        world.transactions.verify("a", producer, PLACE)


def test_the_verification_can_be_switched_off() -> None:
    world = World(settings={"transaction.partition.verification.enable": "false"})
    world.transactions.verify("nobody", ProducerIdentity(1, 1), PLACE)


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
    assert (found.state, found.timeout_ms, found.partitions) == (State.ONGOING, 5000, frozenset({PLACE}))
    assert isinstance(world.heard(world.transactions.describe("b")), TransactionalIdNotFound)


def test_an_administrator_can_end_what_hangs(world: World) -> None:
    producer = world.init("a")
    world.add("a", producer, PLACE)
    world.write("a", producer, PLACE, "hanging", 0)
    assert world.heard(world.transactions.write_marker(PLACE, producer, EndMarker(False, 0))) is None
    assert world.partition(PLACE).last_stable_offset == 2
    unknown = world.heard(world.transactions.write_marker(("nowhere", 0), producer, EndMarker(False, 0)))
    assert isinstance(unknown, UnknownTopicOrPartition)


def test_what_is_counted(world: World) -> None:
    world.init("a")
    world.add("b", world.init("b"), PLACE)
    assert world.transactions.statistics() == {"Empty": 1, "Ongoing": 1}
