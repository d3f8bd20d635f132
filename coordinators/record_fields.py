"""The primitive fields of Kafka's record formats: strings, bytes, varints, tagged fields.

What is read here was written by this broker, or copied from another one's disk: a record that is cut short
raises an error of `struct` or an IndexError, and never reads beyond its own bytes.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

_short = struct.Struct(">h")
_int = struct.Struct(">i")

T = TypeVar("T")


class UnknownFormat(ValueError):
    """A record that no version of this program wrote."""


def write_string(text: str) -> bytes:
    raw = text.encode()
    return _short.pack(len(raw)) + raw


def write_nullable_string(text: str | None) -> bytes:
    return b"\xff\xff" if text is None else write_string(text)


def read_string(data: bytes, position: int) -> tuple[str, int]:
    """The text, and where the next field begins."""
    end = position + 2 + _short.unpack_from(data, position)[0]
    return data[position + 2 : end].decode(), end


def read_nullable_string(data: bytes, position: int) -> tuple[str | None, int]:
    if _short.unpack_from(data, position)[0] < 0:
        return None, position + 2
    return read_string(data, position)


def write_bytes(content: bytes, *, compact: bool = False) -> bytes:
    """Bytes with their length before them; a compact string is its UTF-8 written so."""
    return (write_unsigned_varint(len(content) + 1) if compact else _int.pack(len(content))) + content


def read_bytes(data: bytes, position: int) -> tuple[bytes, int]:
    """The content, empty for a null, and where the next field begins."""
    size = _int.unpack_from(data, position)[0]
    end = position + 4 + max(size, 0)
    return data[position + 4 : end], end


def write_compact_string(text: str | None) -> bytes:
    return b"\x00" if text is None else write_bytes(text.encode(), compact=True)


def read_compact_string(data: bytes, position: int) -> tuple[str | None, int]:
    size, position = read_unsigned_varint(data, position)
    if size == 0:
        return None, position
    end = position + size - 1
    return data[position:end].decode(), end


def read_compact_bytes(data: bytes, position: int) -> tuple[bytes, int]:
    size, position = read_unsigned_varint(data, position)
    end = position + max(size - 1, 0)
    return data[position:end], end


def write_unsigned_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_unsigned_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def write_tagged(fields: Mapping[int, bytes]) -> bytes:
    """The tagged fields at the end of a flexible structure."""
    parts = [write_unsigned_varint(len(fields))]
    for tag, content in sorted(fields.items()):
        parts += (write_unsigned_varint(tag), write_unsigned_varint(len(content)), content)
    return b"".join(parts)


def read_tagged(data: bytes, position: int) -> dict[int, bytes]:
    """The tagged fields that begin at `position`, unopened."""
    return read_tagged_section(data, position)[0]


def read_tagged_section(data: bytes, position: int) -> tuple[dict[int, bytes], int]:
    """The same, and where the next structure begins."""
    count, position = read_unsigned_varint(data, position)
    fields = {}
    for _ in range(count):
        tag, position = read_unsigned_varint(data, position)
        size, position = read_unsigned_varint(data, position)
        fields[tag] = data[position : position + size]
        position += size
    return fields, position


# -- arrays of flexible structures


def write_array(items: Iterable[T], write: Callable[[T], bytes]) -> bytes:
    parts = [write(item) for item in items]
    return write_unsigned_varint(len(parts) + 1) + b"".join(parts)


def read_array(data: bytes, position: int, read: Callable[[bytes, int], tuple[T, int]]) -> tuple[tuple[T, ...], int]:
    count, position = read_unsigned_varint(data, position)
    items = []
    for _ in range(count - 1):
        item, position = read(data, position)
        items.append(item)
    return tuple(items), position


def read_compact_text(data: bytes, position: int) -> tuple[str, int]:
    """Text that is never null."""
    text, position = read_compact_string(data, position)
    return text or "", position


def read_int(data: bytes, position: int) -> tuple[int, int]:
    return _int.unpack_from(data, position)[0], position + 4
