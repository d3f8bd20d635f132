"""Members and producers have their homes: bounded, and told apart by who owns them and where they live."""

import pytest
from attrs import define

from coordinators.access.callers import Caller, Principal
from engine.errors import PolicyViolation
from wire.inner.homes import Elsewhere, Home, NotAtHome, home_of
from wire.kafka.calls import Guest
from wire.kafka.request import Endpoint, Peer

ALICE = Caller(Principal("alice"), "10.0.0.1")


@define
class Lodger:
    caller: Caller
    is_over: bool = False


def home(most: int = 2, node_id: int = 3) -> Home[Lodger]:
    return Home(node_id, "member", "doors.max.members", most, lambda size: b"\7" * size)


def guest(caller: Caller) -> Guest:
    peer = Peer(caller.host, 0, Endpoint("", 0), -1)
    peer.shows(caller)
    return Guest(peer, "http", "http", stays=True, counts=caller.counts)


def test_what_lives_longer_than_a_token_goes_on_by_the_next() -> None:
    has_ended, found = [False], home()
    old = Caller(Principal("alice"), "10.0.0.1", counts=lambda: not has_ended[0])
    asking = guest(old)
    found.add(new := found.new_id(), Lodger(old), asking)
    has_ended[0] = True
    assert not asking.counts()
    found.find(new, ALICE)
    assert asking.counts()


def test_one_is_found_by_its_owner_from_wherever_it_asks() -> None:
    found = home()
    lodger = Lodger(ALICE)
    found.add(new := found.new_id(), lodger, guest(ALICE))
    assert found.find(new, Caller(Principal("alice"), "10.9.9.9")) is lodger
    with pytest.raises(NotAtHome):
        found.find(new, Caller(Principal("mallory"), "10.0.0.1"))
    with pytest.raises(NotAtHome):
        found.find(new, Caller(Principal("alice"), "10.0.0.1", tenant="other"))


def test_one_that_is_over_or_removed_is_not_found() -> None:
    found = home()
    lodger = Lodger(ALICE)
    found.add(new := found.new_id(), lodger, guest(ALICE))
    lodger.is_over = True
    with pytest.raises(NotAtHome, match="silent"):
        found.find(new, ALICE)
    found.remove(new)
    assert len(found) == 0


def test_an_id_names_the_node_where_it_counts() -> None:
    here, there = home(node_id=3), home(node_id=12)
    new = there.new_id()
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
    found.add(found.new_id(), Lodger(ALICE), guest(ALICE))
    with pytest.raises(PolicyViolation, match=r"doors\.max\.members"):
        found.new_id()
