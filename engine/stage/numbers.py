"""Zigzag varints for the stage's hot loops, which read numbers of one byte in place and come here for the others.

`engine.records.layout` has the readable pair; a test holds the two together.
"""

_ONE_BYTE = tuple(bytes((value,)) for value in range(0x80))
_SHIFTS = (7, 14, 21, 28, 35, 42, 49, 56, 63)


def read_long(data: bytes, position: int) -> tuple[int, int]:
    """The number whose first byte, of several, lies before `position`; and where it ends.

    The sign is not worked out: an odd number is negative. IndexError if it does not end within ten bytes or the data.
    """
    result = data[position - 1] & 0x7F
    for shift in _SHIFTS:
        byte = data[position]
        position += 1
        if byte < 0x80:
            return result | byte << shift, position
        result |= (byte & 0x7F) << shift
    raise IndexError("a number inside a record does not end")


def varint(value: int) -> bytes:
    """`value` as a zigzag varint."""
    rest = value << 1 if value >= 0 else ~(value << 1)
    if rest < 0x80:
        return _ONE_BYTE[rest]
    if rest < 0x4000:
        return (rest & 0x7F | 0x80 | (rest >> 7) << 8).to_bytes(2, "little")
    if rest < 0x200000:
        return (rest & 0x7F | 0x8080 | (rest & 0x3F80) << 1 | (rest >> 14) << 16).to_bytes(3, "little")
    pieces = bytearray()
    while rest > 0x7F:
        pieces.append(rest & 0x7F | 0x80)
        rest >>= 7
    pieces.append(rest)
    return bytes(pieces)
