"""The kinds of schemas: how each is read, printed and compared, and how what it describes is decoded.

A kind is loaded when it is first asked for: a broker without schemas has none of their libraries in memory.
"""

from importlib import import_module

from coordinators.schemas.formats.format import SchemaFormat

_MODULES = {
    "AVRO": "coordinators.schemas.formats.avro.schema",
    "JSON": "coordinators.schemas.formats.json_schema.schema",
    "PROTOBUF": "coordinators.schemas.formats.protobuf.schema",
}
TYPES = tuple(_MODULES)


def by_name(name: str) -> SchemaFormat:
    """The kind of this name, in capitals as clients say it; raises `KeyError` for a name that is none."""
    found: SchemaFormat = import_module(_MODULES[name]).FORMAT
    return found
