"""The W3C headers: what is a context and what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.trace.context import TRACESTATE_MAX_BYTES, TraceContext, parse_traceparent
from tests.engine.trace.traces import PARENT_ID, TRACE_ID, traceparent


def test_the_producers_context() -> None:
    assert parse_traceparent(traceparent(), b"vendor=1") == TraceContext(TRACE_ID, PARENT_ID, True, "vendor=1")
    unsampled = parse_traceparent(traceparent(sampled=False))
    assert unsampled is not None
    assert not unsampled.sampled


def test_only_the_last_bit_of_the_flags_means_sampled() -> None:
    for flags, sampled in ((b"02", False), (b"03", True), (b"ff", True), (b"fe", False)):
        context = parse_traceparent(traceparent()[:-2] + flags)
        assert context is not None
        assert context.sampled is sampled


def test_a_later_version_may_say_more() -> None:
    later = b"01" + traceparent()[2:]
    assert parse_traceparent(later) is not None
    assert parse_traceparent(later + b"-what-the-future-holds") is not None
    assert parse_traceparent(later + b"x") is None


@pytest.mark.parametrize(
    "value",
    [
        b"",
        None,
        b"ff" + traceparent()[2:],
        traceparent() + b"-more",
        traceparent().upper(),
        b"00-" + b"0" * 32 + b"-" + PARENT_ID.encode() + b"-01",
        b"00-" + TRACE_ID.encode() + b"-" + b"0" * 16 + b"-01",
        traceparent()[:-1],
        traceparent().replace(b"-", b"_"),
    ],
)
def test_what_is_no_context(value: bytes | None) -> None:
    assert parse_traceparent(value) is None


def test_a_state_that_cannot_be_is_left_out() -> None:
    for state in (b"\xff", b"a" * (TRACESTATE_MAX_BYTES + 1)):
        context = parse_traceparent(traceparent(), state)
        assert context is not None
        assert context.state == ""


@given(st.binary(max_size=80))
def test_whatever_the_bytes_there_is_a_context_or_none(value: bytes) -> None:
    context = parse_traceparent(value, value)
    assert context is None or len(context.trace_id) == 32
