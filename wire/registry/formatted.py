"""Schemas in another form than that in which they were registered."""

from coordinators.schemas.parsing import Parsing, SchemaSource
from coordinators.schemas.registering import Registering
from coordinators.schemas.rows import SchemaRow
from coordinators.waiting import in_worker
from wire.registry.answers import SchemaShown

FORMATS = ("resolved", "serialized")


async def text_of(row: SchemaRow, name: str, registering: Registering) -> str:
    """The schema's text in a form, or as it was registered where it has no such form."""
    if name not in FORMATS:
        return row.text
    parsing = registering.parsing
    return await in_worker(parsing.workers, _formatted, parsing, parsing.source(row), name)


async def in_form(found: SchemaShown, row: SchemaRow, name: str, registering: Registering) -> SchemaShown:
    """The answer with the schema in a form."""
    found.schema = await text_of(row, name, registering)
    return found


def _formatted(parsing: Parsing, source: SchemaSource, name: str) -> str:
    """[thread]"""
    found = parsing.parsed(source).formatted(name)
    return source.text if found is None else found
