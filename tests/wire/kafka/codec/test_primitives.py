"""Varints and tag sections."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.kafka.codec import WireError
from wire.kafka.codec.primitives import MAX_REASON_BYTES, finish, read_uvarint_tail, shortened, skip_tags, uvarint


@given(st.integers(0, 2**32 - 1))
def test_a_varint_is_read_as_it_was_written(number: int) -> None:
    encoded = uvarint(number)
    assert 1 <= len(encoded) <= 5
    if number > 0x7F:
        assert read_uvarint_tail(encoded, 1, encoded[0]) == (number, len(encoded))


@pytest.mark.parametrize("encoded", ["ffffffff10", "ffffffffff01", "8080808080808080808001"])
def test_a_varint_has_five_bytes_and_32_bits_at_most(encoded: str) -> None:
    data = bytes.fromhex(encoded)
    with pytest.raises(WireError, match="varint"):
        read_uvarint_tail(data, 1, data[0])


def test_more_than_127_tags_are_skipped() -> None:
    section = uvarint(200) + b"".join(uvarint(tag) + b"\x01x" for tag in range(200))
    assert skip_tags(section, 1, section[0], len(section)) == len(section)


def test_parts_end_with_what_was_written_last() -> None:
    region = b"stands for a region"
    assert finish([b"a", b"b"], [region]) == [region, b"ab"]
    assert finish([], [region]) == [region]
    assert finish([], []) == [b""]


def test_a_reason_is_cut_between_characters() -> None:
    assert shortened("short") == b"short"
    cut = shortened("a" + "\u00e4" * MAX_REASON_BYTES)
    assert len(cut) == MAX_REASON_BYTES - 1 + 3
    assert cut.decode().endswith("\u00e4...")
