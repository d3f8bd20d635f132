"""Consumers that live here: found by who made them, bounded, gone after silence. The routes' tests read with them."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from attrs import define, field
from trio.testing import trio_test

from coordinators.access.callers import Caller, Principal
from engine.errors import PolicyViolation
from wire.http.rest.consumers import Instances, InstanceWanted
from wire.http.rest.refusals import RestRefusal
from wire.inner.places import Places
from wire.kafka.calls import Guest
from wire.kafka.request import Endpoint, Peer

ALICE, BOB = Caller(Principal("alice"), "h"), Caller(Principal("bob"), "h")


@define(eq=False)
class House:
    """What lives in the broker, as far as it is asked here."""

    guests: list[Guest] = field(factory=list)
    numbers: Iterator[int] = field(factory=lambda: iter(range(100)))

    @property
    def inner(self) -> "House":
        return self

    def staying(self, caller: Caller, *_: object) -> Guest:
        peer = Peer(caller.host, 0, Endpoint("", 0), -1)
        peer.shows(caller)
        self.guests.append(Guest(peer, "http", "http", stays=True, counts=caller.counts))
        return self.guests[-1]

    def leave(self, guest: Guest) -> None:
        self.guests.remove(guest)

    def random_bytes(self, size: int) -> bytes:
        return next(self.numbers).to_bytes(size, "big")


def instances(house: House, most: int = 3, most_each: int = 3) -> Instances:
    places = Places("consumer", "http.rest.max.consumers", most, most_each)
    return Instances(cast(Any, house), places, 300.0)


def wanted(name: str | None = None) -> InstanceWanted:
    return InstanceWanted("g", name, "binary")


@trio_test
async def test_a_consumer_is_found_by_who_made_it_alone() -> None:
    all_of_them = instances(House())
    made = all_of_them.make(ALICE, wanted("one"))
    assert all_of_them.find(ALICE, "g", "one") is made
    for caller, group, name in ((BOB, "g", "one"), (ALICE, "h", "one"), (ALICE, "g", "two")):
        with pytest.raises(RestRefusal) as caught:
            all_of_them.find(caller, group, name)
        assert caught.value.code == 40403


@trio_test
async def test_a_consumer_goes_on_by_what_its_caller_has_shown_last() -> None:
    house, has_ended = House(), [False]
    all_of_them = instances(house)
    all_of_them.make(Caller(Principal("alice"), "h", counts=lambda: not has_ended[0]), wanted("one"))
    has_ended[0] = True
    (guest,) = house.guests
    assert not guest.counts()
    all_of_them.find(ALICE, "g", "one")
    assert guest.counts()


@trio_test
async def test_a_name_is_given_once_and_chosen_where_none_is_given() -> None:
    all_of_them = instances(House())
    names = {all_of_them.make(ALICE, wanted()).name, all_of_them.make(ALICE, wanted()).name}
    assert len(names) == 2
    all_of_them.make(BOB, wanted("one"))
    with pytest.raises(RestRefusal) as caught:
        all_of_them.make(BOB, wanted("one"))
    assert caught.value.code == 40902


@trio_test
async def test_there_are_no_more_than_the_settings_say() -> None:
    all_of_them = instances(House(), most=1)
    all_of_them.make(ALICE, wanted())
    with pytest.raises(PolicyViolation, match=r"http\.rest\.max\.consumers"):
        all_of_them.make(BOB, wanted())


@trio_test
async def test_one_principal_does_not_take_all_of_them() -> None:
    all_of_them = instances(House(), most=3, most_each=1)
    made = all_of_them.make(ALICE, wanted())
    with pytest.raises(PolicyViolation, match=r"User:alice has 1 consumers .*\.per\.principal"):
        all_of_them.make(ALICE, wanted())
    all_of_them.make(BOB, wanted())
    await all_of_them.end(made)
    all_of_them.make(ALICE, wanted())


@trio_test
async def test_who_asks_for_nothing_for_long_is_gone() -> None:
    house = House()
    all_of_them = instances(house, most=1)
    made = all_of_them.make(ALICE, wanted("one"))
    made.seen -= 301
    with pytest.raises(RestRefusal):
        all_of_them.find(ALICE, "g", "one")
    assert not house.guests
    assert all_of_them.make(ALICE, wanted("one")) is not made
