"""Members of classic groups and their subscriptions."""

import pytest

from coordinators.group.classic.members import Member, subscribed_topics
from coordinators.group.record_formats import MemberValue


@pytest.mark.parametrize(
    ("subscription", "topics"),
    [
        (b"\0\0\0\0\0\2\0\1t\0\1u\xff\xff\xff\xff", {"t", "u"}),
        (b"\0\1\0\0\0\0\0\0\0\0\0\0\0\0", set()),
        (b"", None),
        (b"\0\0\0\0", None),
        (b"\0\0\0\0\0\5\0\1t", None),
        (b"\0\0\x7f\xff\xff\xff", None),
        (b"\0\0\0\0\0\1\0\x09short", None),
        (b"\0\0\0\0\0\1\0\1\xff", None),
    ],
)
def test_topics_are_read_from_a_subscription(subscription: bytes, topics: set[str] | None) -> None:
    assert subscribed_topics(subscription) == topics


def test_a_stored_member_comes_back() -> None:
    value = MemberValue("m", "i", "c", "h", 1, 2, b"subscription", b"assignment")
    member = Member.stored(value, "consumer", "range")
    assert member.value("range", member.assignment) == value
    assert member.subscription("other") == b""


def test_a_static_member_that_returns_keeps_its_place() -> None:
    member = Member("m", "i", "c", "h", 1, 2, "consumer", (("range", b"s"),), b"assigned")
    member.is_new = True
    back = member.returned("n")
    assert (back.member_id, back.instance_id, back.assignment, back.is_new) == ("n", "i", b"assigned", False)
