"""The short way through a batch of which all values, or all keys, name one schema, as those of most producers do."""

from engine.records.walk import common_beginning

ID_BYTES = 5
NOTHING = b"", 0


def only_framing(data: bytes, count: int, *, of_keys: bool = False) -> tuple[bytes, int]:
    """Byte 0 and the id with which all values begin that there are, and the index of the first; nothing if they do not,
    or that is hard to tell. Or the same of keys.

    The records are sound and uncompressed.
    """
    found = common_beginning(data, 0, count, ID_BYTES, of_keys)
    if found is None:
        return NOTHING
    first, position = found
    framing = data[position : position + ID_BYTES]
    return NOTHING if framing[0] else (framing, first)
