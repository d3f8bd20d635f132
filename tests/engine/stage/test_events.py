"""The broker's own events in a stage: what is written is what is read."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidRecord
from engine.log.transactions import EndMarker, build_marker
from engine.records.layout import CONTROL_FLAG, HEADER_SIZE, build_batch, parse_header
from engine.stage.events import (
    Anchored,
    Cancelled,
    ClockMoved,
    DeadLettered,
    DeadLetterProducer,
    Event,
    Expired,
    Intent,
    Moved,
    Priority,
    Ready,
    Rescheduled,
    build_events,
    read_events,
)
from engine.stage.lanes import Piece
from engine.stage.pending import PendingRow
from engine.stage.steady_clock import Anchor

NUMBERS = st.integers(0, 2**62)
numbers = st.lists(NUMBERS, max_size=5).map(tuple)
pieces = st.lists(st.builds(Piece, st.integers(0, 20), NUMBERS, st.integers(1, 2**31 - 1)), max_size=5).map(tuple)
ROW = PendingRow(7, 1, 0, 1, 2, 1000, True, 5, 70, 6, 900, -1, 50, 2**63 - 1)
events = st.one_of(
    st.builds(Ready, numbers),
    st.builds(Intent, NUMBERS, NUMBERS, pieces),
    st.builds(Expired, numbers, st.booleans()),
    st.builds(Cancelled, numbers),
    st.builds(Rescheduled, NUMBERS, NUMBERS, st.booleans()),
    st.builds(Priority, st.booleans()),
    st.builds(Moved, st.just(ROW), st.binary(max_size=20)),
    st.builds(ClockMoved, st.integers(-(2**40), 2**40)),
    st.builds(DeadLettered, numbers),
    st.builds(DeadLetterProducer, NUMBERS),
    st.builds(Anchored, st.builds(Anchor, st.sampled_from(["", "163160f0-6809-47a4"]), st.integers(-(2**62), 2**62))),
)


def read(batch: bytes) -> list[tuple[Event, int]]:
    return list(read_events(parse_header(batch), batch[HEADER_SIZE:]))


@given(st.lists(events, min_size=1, max_size=4))
def test_what_is_written_is_read(written: list[Event]) -> None:
    batch = build_events(written, 1_000)
    assert parse_header(batch).attributes == CONTROL_FLAG
    assert [event for event, _ in read(batch)] == written


def test_where_a_value_ends_is_told() -> None:
    batch = build_events([Priority(True), Moved(ROW, b"record")], 1_000)
    _, (moved, end) = read(batch)
    assert batch[HEADER_SIZE + end - 6 : HEADER_SIZE + end] == b"record"
    assert isinstance(moved, Moved)


def test_an_intent_says_where_it_ends() -> None:
    intent = Intent(10, 0, (Piece(0, 5, 2), Piece(2, 9, 3)))
    assert intent.end_offset == 15


def test_markers_of_transactions_are_not_events() -> None:
    assert read(build_marker(1, 0, EndMarker(True, 0), 1_000)) == []


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (101, b"", "damaged"),
        (101, struct.pack(">qqi", 0, 0, 3), "3 pieces"),
        (100, b"123", "damaged"),
        (105, b"", "damaged"),
        (999, b"", "unknown kind 999"),
    ],
)
def test_damaged_and_unknown_ones_are_refused(kind: int, value: bytes, reason: str) -> None:
    batch = build_batch([(struct.pack(">hh", 0, kind), value)], timestamp_ms=0, attributes=CONTROL_FLAG)
    with pytest.raises(InvalidRecord, match=reason):
        read(batch)


def test_a_later_version_is_refused() -> None:
    batch = build_batch([(struct.pack(">hh", 1, 100), b"")], timestamp_ms=0, attributes=CONTROL_FLAG)
    with pytest.raises(InvalidRecord, match="version 1"):
        read(batch)
