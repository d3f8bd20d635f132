"""The primitive fields of record formats."""

import pytest

from coordinators import record_fields as fields


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**31 - 1, 2**63])
def test_a_varint_comes_back(value: int) -> None:
    raw = fields.write_unsigned_varint(value)
    assert fields.read_unsigned_varint(b"x" + raw + b"y", 1) == (value, 1 + len(raw))


@pytest.mark.parametrize("text", [None, "", "a", "ü" * 100])
def test_strings_come_back(text: str | None) -> None:
    plain, compact = fields.write_nullable_string(text), fields.write_compact_string(text)
    assert fields.read_nullable_string(plain, 0) == (text, len(plain))
    assert fields.read_compact_string(compact, 0) == (text, len(compact))


@pytest.mark.parametrize("content", [b"", b"abc", bytes(300)])
def test_bytes_come_back(content: bytes) -> None:
    plain, compact = fields.write_bytes(content), fields.write_bytes(content, compact=True)
    assert fields.read_bytes(plain, 0) == (content, len(plain))
    assert fields.read_compact_bytes(compact, 0) == (content, len(compact))


def test_null_bytes_are_empty() -> None:
    assert fields.read_bytes(b"\xff\xff\xff\xff", 0) == (b"", 4)
    assert fields.read_compact_bytes(b"\0", 0) == (b"", 1)


def test_tagged_fields_come_back() -> None:
    tags = {0: b"id", 7: b"", 200: bytes(200)}
    assert fields.read_tagged(b"x" + fields.write_tagged(tags), 1) == tags


def test_a_field_that_is_cut_short_raises() -> None:
    with pytest.raises(IndexError):
        fields.read_unsigned_varint(b"\x80", 0)
