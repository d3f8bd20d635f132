"""An order: its Avro schema, and payloads of it as another library writes them."""

import json
from io import BytesIO
from typing import Any

import fastavro

from coordinators.schemas.formats.avro.schema import FORMAT


def record_of(*fields: dict[str, Any], name: str = "R") -> dict[str, Any]:
    """A record's schema, of these fields."""
    return {"type": "record", "name": name, "fields": list(fields)}


def parsed(schema: Any) -> Any:
    """The schema as the registry reads it."""
    return FORMAT.parse(json.dumps(schema))


def written(schema: Any, value: Any) -> bytes:
    """The value as another library writes it."""
    stream = BytesIO()
    fastavro.schemaless_writer(stream, schema, value)
    return stream.getvalue()


ORDER = record_of(
    {"name": "id", "type": "long"},
    {"name": "lines", "type": {"type": "array", "items": record_of({"name": "price", "type": "double"}, name="Line")}},
    {"name": "note", "type": ["null", "string"]},
    {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["NEW", "OLD"]}},
    name="Order",
)
AN_ORDER = {"id": 7, "lines": [{"price": 1.5}, {"price": 2.0}], "note": "quick", "kind": "OLD"}
