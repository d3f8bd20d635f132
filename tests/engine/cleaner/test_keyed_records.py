"""The lean walk over records sees what the full one sees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.cleaner.keyed_records import keyed_records, timestamp_delta, with_timestamp_delta
from engine.errors import InvalidRecord
from engine.records.layout import pack_record, walk_records

CONTENT = st.one_of(st.none(), st.binary(max_size=200))
RECORDS = st.lists(st.tuples(st.integers(0, 20_000), st.integers(-(2**40), 2**40), CONTENT, CONTENT), max_size=20)


def packed(records: list[tuple[int, int, bytes | None, bytes | None]]) -> tuple[bytes, int]:
    """A section with rising offset deltas, and the last of them."""
    delta, pieces = -1, []
    for gap, time, key, value in records:
        delta += 1 + gap
        pieces.append(pack_record(delta, time, key, value, [(b"h", value)]))
    return b"".join(pieces), max(delta, 0)


@given(RECORDS)
def test_it_agrees_with_the_full_walk(records: list[tuple[int, int, bytes | None, bytes | None]]) -> None:
    section, last = packed(records)
    expected = [
        (r.start, r.end, r.offset_delta, None if r.key is None else bytes(r.key), r.value is not None)
        for r in walk_records(section, len(records))
    ]
    assert keyed_records(section, len(records), last) == expected


@given(RECORDS, st.integers(-(2**40), 2**40))
def test_a_timestamp_delta_is_shifted_and_nothing_else(
    records: list[tuple[int, int, bytes | None, bytes | None]], shift_ms: int
) -> None:
    section, last = packed(records)
    found = keyed_records(section, len(records), last)
    assert [timestamp_delta(section, r[0]) for r in found] == [time for _, time, _, _ in records]
    shifted = b"".join(with_timestamp_delta(section, r[0], r[1], shift_ms) for r in found)
    expected, _ = packed([(gap, time + shift_ms, key, value) for gap, time, key, value in records])
    assert shifted == expected


@given(st.binary(max_size=60), st.integers(0, 5), st.integers(0, 10))
def test_any_bytes_are_records_or_refused(section: bytes, count: int, last: int) -> None:
    try:
        found = keyed_records(section, count, last)
    except InvalidRecord:
        return
    assert len(found) == count
    assert all(0 <= record[2] <= last for record in found)
    assert [record[1] for record in found][-1:] == ([len(section)] if count else [])


@pytest.mark.parametrize(
    ("section", "count", "last"),
    [
        (pack_record(0, 0, b"k", b"v"), 2, 1),
        (pack_record(0, 0, b"k", b"v") + b"\x00", 1, 0),
        (pack_record(0, 0, b"k", b"v")[:-3], 1, 0),
        (pack_record(5, 0, b"k", b"v"), 1, 4),
        (pack_record(-1, 0, b"k", b"v"), 1, 4),
        (pack_record(1, 0, b"k", b"v") + pack_record(1, 0, b"k", b"v"), 2, 4),
    ],
    ids=["one-missing", "rest", "cut", "past-the-batch", "negative", "twice"],
)
def test_what_does_not_fit_its_batch_is_refused(section: bytes, count: int, last: int) -> None:
    with pytest.raises(InvalidRecord):
        keyed_records(section, count, last)
