"""The consumers' protocol inside the classic one, against what clients wrote."""

import pytest

from coordinators.group.consumer.protocol import (
    Malformed,
    Subscription,
    read_assignment,
    read_subscription,
    write_assignment,
    write_subscription,
)

# As librdkafka writes them.
SUBSCRIPTION = bytes.fromhex(
    "0003000000010001740000001b0000000100017400000003000000030000000400000005"
    "0000000200000001000174000000030000000300000004000000050000000200" + "00"
)
ASSIGNMENT = bytes.fromhex("0000000000010001740000000300000003000000040000000500000000")


def test_a_subscription_says_what_a_member_wants_and_has() -> None:
    assert read_subscription(SUBSCRIPTION) == Subscription(3, ("t",), {"t": frozenset({3, 4, 5})}, "", 2)


def test_a_subscription_of_version_0_has_nothing() -> None:
    assert read_subscription(b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff") == Subscription(0, ("t",), {}, None)


def test_a_subscription_comes_back() -> None:
    assert read_subscription(write_subscription(["u", "t", "u"])) == Subscription(1, ("t", "u"), {}, None)


def test_an_assignment_comes_back() -> None:
    assert read_assignment(ASSIGNMENT) == ({"t": {3, 4, 5}}, b"")
    places = {"a": frozenset({1}), "b": frozenset({0, 2})}
    assert read_assignment(write_assignment(places, 1)) == (places, b"")
    assert read_assignment(b"") == ({}, b"")


@pytest.mark.parametrize("data", [b"", b"\0\1", b"\0\1\x7f\xff\xff\xff", b"\0\0\0\0\0\1\0\1\xff", SUBSCRIPTION[:-8]])
def test_what_is_no_subscription_is_told(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_subscription(data)


@pytest.mark.parametrize("data", [b"\0", b"\0\0\x7f\xff\xff\xff", ASSIGNMENT[:12]])
def test_what_is_no_assignment_is_told(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_assignment(data)
