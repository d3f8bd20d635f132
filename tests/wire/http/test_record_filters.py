"""Filters of records, in words."""

import pytest

from wire.http.problems import Problem
from wire.http.record_filters import MOST_CHARACTERS, parse_filter
from wire.inner.records import ReadRecord

RECORD = ReadRecord(
    5,
    1_000,
    b"user 1",
    b'{"order": {"state": "open", "lines": 3}, "note": "a and b"}',
    (("type", b"order"), ("type", b"refund"), ("empty", None)),
)


@pytest.mark.parametrize(
    "text",
    [
        'key="user 1"',
        "key ^= user",
        "key *= er",
        'key != "user 2"',
        "header.type = refund",
        "header.missing != x",
        "value.order.state = open",
        "value.order.lines = 3",
        'value.note = "a and b"',
        "value *= state",
        "key ^= user and value.order.state = open and header.type != order",
        r'value.note *= "\u0061nd"',
    ],
)
def test_what_holds(text: str) -> None:
    assert parse_filter(text).holds(RECORD)


@pytest.mark.parametrize(
    "text",
    ["key = user", "value.order.missing = x", "value.order.state.deeper = x", "header.empty = x"],
)
def test_what_does_not(text: str) -> None:
    assert not parse_filter(text).holds(RECORD)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "key",
        "key =",
        "offset = 3",
        "key = a or key = b and",
        "__import__('os').system('true')",
        "key == a",
        "key = a and",
        'key = "open',
        "key = x and " * 20 + "key = x",
        "k" * (MOST_CHARACTERS + 1),
    ],
)
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(Problem, match="like: key = user1"):
        parse_filter(text)


def test_a_value_that_is_no_document_has_no_members() -> None:
    plain = ReadRecord(0, 0, None, b"[1", ())
    assert not parse_filter("value.a = 1").holds(plain)
    assert parse_filter("value = [1").holds(plain)
