"""The few calls that the generated functions make: what is too rare or too long to stand inline.

Every reader gets the end of the buffer and proves a length against it before it takes anything.
"""

from collections.abc import Callable, Generator, Sequence
from struct import Struct

from wire.kafka.messages.base import Buffer, Message, Part, Region


class WireError(Exception):
    """The peer sent bytes that are not the message they claim to be: its connection is closed."""


class EncodeError(Exception):
    """A message that we built cannot be written: a bug of ours, with the message's field named."""


ONE_BYTE_VARINTS = tuple(bytes((number,)) for number in range(0x80))
MAX_UVARINT = 2**32 - 1
ELEMENTS_PER_STEP = 64
"""Between two pauses of what is read or written in steps: some 50 us."""
MAX_TAGS = 127
"""In one section of a request: what its one-byte count can tell."""
MAX_STRING_BYTES = 2**15 - 1
MAX_REASON_BYTES = 4096
"""An error message often quotes what the client sent, which alone may be as long as a string can be."""


def read_uvarint_tail(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """The rest of an unsigned varint whose first byte, `first`, said that more follow; at most five bytes."""
    number = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buffer[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if number > MAX_UVARINT:
                break
            return number, position
    raise WireError("varint is longer than five bytes or exceeds 32 bits")


def skip_tags(buffer: Buffer, position: int, count: int, end: int) -> int:
    """Where a tag section ends of which no tag is known; `count` is its first byte."""
    if count > 0x7F:
        count, position = read_uvarint_tail(buffer, position, count)
    if count * 2 > end - position:
        raise WireError(f"{count} tagged fields do not fit into the {end - position} bytes that remain")
    last = -1
    for _ in range(count):
        last, position, size = read_tag(buffer, position, last, end)
        position += size
    return position


def read_tag(buffer: Buffer, position: int, last: int, end: int) -> tuple[int, int, int]:
    """The next tag, where its value begins and its size; tags must rise, and the value must fit."""
    tag = buffer[position]
    position += 1
    if tag > 0x7F:
        tag, position = read_uvarint_tail(buffer, position, tag)
    size = buffer[position]
    position += 1
    if size > 0x7F:
        size, position = read_uvarint_tail(buffer, position, size)
    if tag <= last:
        raise WireError(f"tag {tag} follows tag {last}: tags must rise")
    if size > end - position:
        raise WireError(f"tag {tag} of {size} bytes does not fit into the {end - position} bytes that remain")
    return tag, position, size


def uvarint(number: int) -> bytes:
    """An unsigned varint; two and three bytes, the lengths of most record batches, without a loop."""
    if number < 0x80:
        return ONE_BYTE_VARINTS[number]
    if number < 0x4000:
        return _two_bytes(number & 0x7F | 0x80, number >> 7)
    if number < 0x200000:
        return _three_bytes(number & 0x7F | 0x80, number >> 7 & 0x7F | 0x80, number >> 14)
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


_two_bytes = Struct("BB").pack
_three_bytes = Struct("BBB").pack


def regions_size(regions: Sequence[Region]) -> int:
    """How many bytes several regions have together."""
    return sum([region.size for region in regions])


def shortened(reason: str) -> bytes:
    """An error message, cut where it is longer than anybody reads."""
    encoded = reason.encode(errors="replace")
    if len(encoded) <= MAX_REASON_BYTES:
        return encoded
    return encoded[:MAX_REASON_BYTES].decode(errors="ignore").encode() + b"..."


def finish(pieces: list[bytes], parts: list[Part]) -> list[Part]:
    """The parts of a whole message, with what was written since the last region."""
    if pieces or not parts:
        parts.append(b"".join(pieces))
    return parts


Decoder = Callable[[Buffer, int], Message]
Encoder = Callable[[Message], list[Part]]
DecoderInSteps = Callable[[Buffer, int], Generator[None, None, Message]]
EncoderInSteps = Callable[[Message], Generator[int, None, list[Part]]]
"""Yields how many bytes are new."""
