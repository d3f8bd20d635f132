"""Places for logins that are checked: so many in all, and of one address fewer."""

from contextlib import ExitStack

import pytest

from coordinators.access.callers import network_of
from coordinators.access.checking import Checking, TooManyChecked


def test_one_address_leaves_room_for_others() -> None:
    checking = Checking(most=3, most_of_an_address=2)
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(checking.place("10.0.0.7"))
        with pytest.raises(TooManyChecked):
            stack.enter_context(checking.place("10.0.0.7"))
        stack.enter_context(checking.place("10.0.0.8"))
        with pytest.raises(TooManyChecked):
            stack.enter_context(checking.place("10.0.0.9"))
    for _ in range(5):
        with checking.place("10.0.0.7"):
            pass


def test_addresses_of_one_network_are_one() -> None:
    """Whoever has one of IPv6 has 2^64, mostly."""
    checking = Checking(most=3, most_of_an_address=1)
    with checking.place("2001:db8::1"):
        with pytest.raises(TooManyChecked), checking.place("2001:db8::ffff:2"):
            pass
        with checking.place("2001:db8:0:1::1"), checking.place("10.0.0.7"):
            pass


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8::12:34", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("not:one", "not:one"),
    ],
)
def test_where_an_address_comes_from(address: str, network: str) -> None:
    assert network_of(address) == network


def test_a_check_that_fails_gives_its_place_back() -> None:
    checking = Checking(most=1, most_of_an_address=1)
    with pytest.raises(OSError, match="gone"), checking.place("10.0.0.7"):
        raise OSError("gone")
    with checking.place("10.0.0.7"):
        pass
