"""Which types can be read without minding bounds, because no bytes of them go beyond any.

Bytes of a type that contains itself can be nested as deep as there are bytes, which no compiled reader's stack has room
for; an array of items that take no bytes can promise 2^63 of them in ten.
"""

from coordinators.schemas.formats.avro.types import ArrayType, AvroType, FixedType, RecordType, everything_in, parts


def is_bounded(avro_type: AvroType) -> bool:
    """Whether bytes of this type are at most as deep as the type, and no more items than bytes."""
    if _is_recursive(avro_type):
        return False
    empty: dict[AvroType, bool] = {}
    arrays = (each for each in everything_in(avro_type) if isinstance(each, ArrayType))
    return not any(_takes_no_bytes(each.items, empty) for each in arrays)


def _takes_no_bytes(avro_type: AvroType, known: dict[AvroType, bool]) -> bool:
    """Of a type that is not recursive."""
    if avro_type not in known:
        if isinstance(avro_type, RecordType):
            known[avro_type] = all(_takes_no_bytes(each.type, known) for each in avro_type.fields)
        else:
            known[avro_type] = avro_type.kind == "null" or (isinstance(avro_type, FixedType) and avro_type.size == 0)
    return known[avro_type]


def _is_recursive(avro_type: AvroType) -> bool:
    """Whether a record is found within itself."""
    path: set[AvroType] = set()
    done: set[AvroType] = set()
    waiting = [(avro_type, False)]
    while waiting:
        current, is_left = waiting.pop()
        if is_left:
            path.discard(current)
            done.add(current)
        elif current in path:
            return True
        elif current not in done:
            path.add(current)
            waiting.append((current, True))
            waiting.extend((part, False) for part in parts(current))
    return False
