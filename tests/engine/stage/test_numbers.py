"""The stage's quick varints against the readable ones of `engine.records.layout`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.records import layout as records
from engine.stage.numbers import read_long, varint

LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**22), 2**22)


@given(LONGS)
def test_numbers_are_written_as_everywhere(value: int) -> None:
    assert varint(value) == records.varint(value)


@pytest.mark.parametrize("bits", range(64))
def test_numbers_around_each_size_are_written_as_everywhere(bits: int) -> None:
    for value in (2**bits - 1, -(2**bits), -(2**bits) + 1, min(2**bits, 2**63 - 1)):
        assert varint(value) == records.varint(value)


@given(LONGS.filter(lambda value: not -64 <= value < 64), st.binary(max_size=3))
def test_numbers_of_several_bytes_come_back(value: int, before: bytes) -> None:
    data = before + records.varint(value) + b"rest"
    raw, position = read_long(data, len(before) + 1)
    assert ((raw >> 1) ^ -(raw & 1), position) == (value, len(data) - 4)


@pytest.mark.parametrize("data", [b"\x80", b"\xff" * 9, b"\xff" * 10, b"\x80" * 10 + b"\x01", b"\xff" * 100])
def test_a_number_without_end_is_refused(data: bytes) -> None:
    with pytest.raises(IndexError):
        read_long(data, 1)


def test_a_number_may_have_ten_bytes() -> None:
    assert read_long(b"\x80" * 9 + b"\x01", 1) == (1 << 63, 10)
