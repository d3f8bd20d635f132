"""What a search asks for."""

from typing import Any

import pytest

from engine.trace.kinds import EventKind, Outcome
from engine.trace.query import TraceQuery
from engine.trace.record_trace import KEY_MAX_BYTES
from tests.engine.trace.traces import NOON_US, TRACE_ID, add, trace

NOON_MS = NOON_US // 1000


@pytest.mark.parametrize(
    ("matching", "other"),
    [
        ({"trace_id": TRACE_ID}, {"trace_id": "1" * 32}),
        ({"topic": "orders"}, {"topic": "order"}),
        ({"partition": 3}, {"partition": 0}),
        ({"offset": 7}, {"offset": 8}),
        ({"key": b"k"}, {"key": b"kk"}),
        ({"since_ms": NOON_MS}, {"since_ms": NOON_MS + 1}),
        ({"until_ms": NOON_MS + 1}, {"until_ms": NOON_MS}),
        ({"min_duration_ms": 2.5}, {"min_duration_ms": 2.6}),
        ({"max_duration_ms": 2.5}, {"max_duration_ms": 2.4}),
        ({"outcome": Outcome.FETCHED}, {"outcome": Outcome.STORED}),
        ({"group": "kitchen"}, {"group": "bar"}),
    ],
)
def test_each_part(matching: dict[str, Any], other: dict[str, Any]) -> None:
    made = trace(7, partition=3)
    add(made, EventKind.CONSUME_FETCHED, 2500, group="kitchen")
    assert TraceQuery(**matching).matches(made)
    assert not TraceQuery(**other).matches(made)
    assert not TraceQuery(**(matching | {"topic": "else"})).matches(made), "every part must hold"


def test_a_long_key_is_told_by_its_beginning_and_length() -> None:
    key = b"x" * (KEY_MAX_BYTES + 10)
    made = trace()
    made.key, made.key_size = key[:KEY_MAX_BYTES], len(key)
    assert TraceQuery(key=key).matches(made)
    assert not TraceQuery(key=key + b"x").matches(made)


def test_a_query_without_parts_takes_all() -> None:
    assert TraceQuery().is_empty
    assert TraceQuery().matches(trace())
    assert not TraceQuery(offset=0).is_empty
