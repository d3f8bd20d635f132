"""Members and producers have their homes: bounded, and told apart by who owns them and where they live."""

from itertools import count

import pytest
from attrs import define, evolve

from coordinators.access.callers import ANONYMOUS, Caller, Principal
from engine.errors import PolicyViolation
from wire.inner.homes import Elsewhere, Home, NotAtHome, home_of
from wire.inner.places import Places
from wire.kafka.calls import Guest
from wire.kafka.request import Endpoint, Peer

ALICE = Caller(Principal("alice"), "10.0.0.1")
BOB = Caller(Principal("bob"), "10.0.0.1")


@define
class Lodger:
    caller: Caller
    is_over: bool = False


def home(most: int = 2, node_id: int = 3) -> Home[Lodger]:
    numbers = count()
    return Home(node_id, Places("member", "doors.max.members", most, 1), lambda size: next(numbers).to_bytes(size))


def moved_in(found: Home[Lodger], lodger: Lodger | None = None, asking: Guest | None = None) -> str:
    """The id of who lives there now."""
    lodger = lodger or Lodger(ALICE)
    with found.moving_in(lodger.caller) as new:
        found.add(new, lodger, asking or guest(lodger.caller))
    return new


def guest(caller: Caller) -> Guest:
    peer = Peer(caller.host, 0, Endpoint("", 0), -1)
    peer.shows(caller)
    return Guest(peer, "http", "http", stays=True, counts=caller.counts)


def test_what_lives_longer_than_a_token_goes_on_by_the_next() -> None:
    has_ended, found = [False], home()
    old = Caller(Principal("alice"), "10.0.0.1", counts=lambda: not has_ended[0])
    asking = guest(old)
    new = moved_in(found, Lodger(old), asking)
    has_ended[0] = True
    assert not asking.counts()
    found.find(new, ALICE)
    assert asking.counts()


def test_one_is_found_by_its_owner_from_wherever_it_asks() -> None:
    found = home()
    lodger = Lodger(ALICE)
    new = moved_in(found, lodger)
    assert found.find(new, Caller(Principal("alice"), "10.9.9.9")) is lodger
    with pytest.raises(NotAtHome):
        found.find(new, Caller(Principal("mallory"), "10.0.0.1"))
    with pytest.raises(NotAtHome):
        found.find(new, Caller(Principal("alice"), "10.0.0.1", tenant="other"))


def test_one_that_is_over_or_removed_is_not_found() -> None:
    found = home()
    lodger = Lodger(ALICE)
    new = moved_in(found, lodger)
    lodger.is_over = True
    with pytest.raises(NotAtHome, match="silent"):
        found.find(new, ALICE)
    found.remove(new)
    assert len(found) == 0


def test_an_id_names_the_node_where_it_counts() -> None:
    here, there = home(node_id=3), home(node_id=12)
    new = moved_in(there)
    assert home_of(new) == 12
    with pytest.raises(Elsewhere) as refused:
        here.find(new, ALICE)
    assert refused.value.node_id == 12


@pytest.mark.parametrize("text", ["", "3", "3-", "x-" + "0" * 24, "٣-" + "0" * 24, "99999999999-" + "0" * 24, "3-00"])
def test_what_is_no_id_is_told(text: str) -> None:
    with pytest.raises(NotAtHome, match="not the id"):
        home().find(text, ALICE)


def test_there_are_no_more_than_the_key_says() -> None:
    found = home(most=1)
    moved_in(found)
    with pytest.raises(PolicyViolation, match=r"doors\.max\.members"):
        moved_in(found, Lodger(BOB))


def test_one_that_is_about_to_move_in_has_its_place_already() -> None:
    found = home(most=1)
    with found.moving_in(ALICE), pytest.raises(PolicyViolation):
        moved_in(found, Lodger(BOB))


def test_one_that_does_not_move_in_after_all_gives_its_place_back() -> None:
    found = home(most=1)
    with pytest.raises(OSError, match="lost"), found.moving_in(ALICE):
        raise OSError("lost")
    found.remove(moved_in(found))
    found.remove("3-gone")
    moved_in(found, Lodger(BOB))


def test_nobody_takes_all_places() -> None:
    found = home(most=3)
    first = moved_in(found)
    with pytest.raises(PolicyViolation, match=r"User:alice has 1 members here, which is doors\.max\.members\.per\."):
        moved_in(found)
    moved_in(found, Lodger(BOB))
    moved_in(found, Lodger(evolve(ALICE, tenant="acme")))
    found.remove(first)
    moved_in(found)


def test_whoever_was_not_asked_is_counted_in_all_alone() -> None:
    found, nobody = home(most=2), Lodger(Caller(ANONYMOUS, "10.0.0.1"))
    moved_in(found, nobody)
    moved_in(found, nobody)
    with pytest.raises(PolicyViolation, match="there are 2 members"):
        moved_in(found, nobody)
