"""The sparse index: by offset, by time, and the sealed file."""

from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.log.index import ENTRY_SIZE, IndexTrailer, SparseIndex, open_sealed

TRAILER = IndexTrailer(max_timestamp=99, max_timestamp_position=4, first_timestamp=7, segment_size=5000, cleaned=True)


def _index() -> SparseIndex:
    index = SparseIndex()
    for number in range(1, 101):
        index.add(number * 10, number * 50, number // 10)
    return index


@given(st.integers(0, 1200))
def test_the_last_entry_at_or_below_an_offset_is_found(offset: int) -> None:
    number = bisect_right([n * 10 for n in range(1, 101)], offset)
    assert _index().find_offset(offset) == ((number * 10, number * 50) if number else None)


@given(st.integers(-1, 12))
def test_by_time_only_earlier_records_lie_before_the_entry(timestamp: int) -> None:
    earlier = [n for n in range(1, 101) if n // 10 < timestamp]
    assert _index().find_time(timestamp) == ((earlier[-1] * 10, earlier[-1] * 50) if earlier else None)


def test_an_empty_index_finds_nothing() -> None:
    assert SparseIndex().find_offset(5) is None
    assert SparseIndex().find_time(5) is None


def test_entries_from_a_position_on_are_cut() -> None:
    index = _index()
    index.truncate(150)
    assert len(index) == 2
    assert index.last_position == 100
    index.truncate(0)
    assert len(index) == 0


def test_a_sealed_index_is_opened_with_its_trailer() -> None:
    opened = open_sealed(_index().seal(TRAILER), 5000)
    assert opened is not None
    index, trailer = opened
    assert bytes(index.entries) == bytes(_index().entries)
    assert trailer == TRAILER


def test_an_index_of_another_size_of_segment_is_not_taken() -> None:
    assert open_sealed(_index().seal(TRAILER), 5001) is None


@pytest.mark.parametrize("size", [0, 1, ENTRY_SIZE, 100])
def test_a_truncated_sealed_index_is_not_taken(size: int) -> None:
    data = _index().seal(TRAILER)
    assert open_sealed(data[:size], 5000) is None
    assert open_sealed(data[:-1], 5000) is None


def test_every_flipped_bit_of_a_sealed_index_is_noticed() -> None:
    index = SparseIndex()
    index.add(1, 2, 3)
    data = index.seal(TRAILER)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1
        assert open_sealed(bytes(damaged), 5000) is None


def test_the_checksum_covers_the_entries_counted() -> None:
    index = _index()
    before = index.checksum(50)
    index.add(2000, 6000, 50)
    assert index.checksum(50) == before
    assert index.checksum(51) != before


def test_the_last_entry_before_a_position_is_where_to_begin() -> None:
    index = SparseIndex()
    for offset, position in ((5, 100), (9, 200)):
        index.add(offset, position, 0)
    assert [index.last_before(position) for position in (0, 99, 100, 199, 200, 10**6)] == [0, 0, 100, 100, 200, 200]
