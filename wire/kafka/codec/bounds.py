"""What a request may come to once it is decoded.

A byte on the wire can be an object of a hundred bytes in memory. So elements are counted, and of a large request every
object is weighed before it is made: all together weigh at most so many times what came in. A small one, whose worst is
known, is not weighed: it is most requests, and decoding them is dear enough.

Weights are those of CPython, rounded up to what its allocator gives out. An honest request has far fewer bytes for each
of its own: names have several letters. Which elements are too light for their number is the same for all of a kind, so
that nobody honest meets the bound by accident: some thousands of the lightest are within `LEAST_BYTES`.
"""

from typing import Any

import msgspec

from wire.kafka.codec.schema import FieldSchema, StructSchema

LEAST_BYTES = 512 * 1024
"""Whatever its size, a request may come to so much."""
ALLOCATED_TOGETHER = 16
GARBAGE_HEADER_BYTES = 16
EMPTY_LIST_BYTES = 64
LIST_BYTES = EMPTY_LIST_BYTES + 32
"""With room for its first elements."""
SLOT_BYTES = 16
"""Of each element: what a list that grows has beside it, and for a moment twice."""
STRING_BYTES = 64
"""Besides its bytes; of letters beyond ASCII, which take more, each has several bytes on the wire."""
BYTES_BYTES = 48
NUMBER_BYTES = 32
FIXED_BYTES = {"bool": 0, "uuid": 64, "int64": 48}


def struct_bytes(schema: StructSchema, cls: type, class_of: Any) -> int:
    """Of one object with its numbers; arrays, texts and bytes are weighed when they are read."""
    config: Any = getattr(cls, "__struct_config__", None)
    collected = GARBAGE_HEADER_BYTES if not isinstance(config, msgspec.structs.StructConfig) or config.gc else 0
    size = -(-(cls.__basicsize__ + collected) // ALLOCATED_TOGETHER) * ALLOCATED_TOGETHER
    read = {member.name for member in schema.fields}
    # Arrays that this version does not have are empty ones.
    absent = sum(slot.default_factory is list and slot.name not in read for slot in msgspec.structs.fields(cls))
    return size + absent * EMPTY_LIST_BYTES + sum(field_bytes(member, class_of) for member in schema.fields)


def field_bytes(member: FieldSchema, class_of: Any) -> int:
    """Of a value that is there whatever it says."""
    if member.is_array or member.type in ("string", "bytes", "records"):
        return 0
    if member.struct is not None:
        return struct_bytes(member.struct, class_of(member.struct), class_of)
    return FIXED_BYTES.get(member.type, NUMBER_BYTES)
