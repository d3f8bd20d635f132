"""Texts of schemas understood: in a thread, within bounds, and remembered.

What a text is, its identity, is asked for with every record that a new producer sends first, so the last ones are known
without being read again; understood schemas are kept for those who compare them.
"""

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

from attrs import define, field, frozen

from coordinators.schemas import formats
from coordinators.schemas.errors import SchemaTooLarge, UnacceptableSchema
from coordinators.schemas.formats.format import InvalidSchema, ParsedSchema, ResolvedReference
from coordinators.schemas.references import resolved
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import SchemaContent, SchemaRow
from coordinators.waiting import in_worker
from engine.workers import Workers

KEPT = 256
KEPT_TEXT = 16 * 1024
"""Longer texts are read each time."""

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The values that were asked for last; any thread may ask."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._values[key] = value
            if len(self._values) > self._most:
                self._values.popitem(last=False)


@frozen(eq=False)
class SchemaIdentity:
    """A schema that was understood, and what it is the same as: by its canonical text, and by its normalised one."""

    parsed: ParsedSchema
    guid: str
    normal: str


@frozen(eq=False)
class SchemaSource:
    """All that is needed to understand a schema, in any thread."""

    type: str
    text: str
    references: tuple[ResolvedReference, ...] = ()
    known_as: tuple[str, int] | None = None
    """Context and id of one that is registered."""


@define(eq=False)
class Parsing:
    """See the module."""

    registry: Registry
    workers: Workers
    most_bytes: int
    _identities: Recent[tuple[str, str], SchemaIdentity] = field(factory=lambda: Recent(KEPT), init=False)
    """By type and text, of schemas that have nothing else."""
    _parsed: Recent[tuple[str, int, str], ParsedSchema] = field(factory=lambda: Recent(KEPT), init=False)
    """Of registered ones, by context, id and text."""

    def source(self, row: SchemaRow) -> SchemaSource:
        """A registered schema, with all that it refers to."""
        references = resolved(self.registry, row.context, row.content.references)
        return SchemaSource(row.type, row.text, references, (row.context, row.id))

    async def identity(self, context: str, content: SchemaContent) -> SchemaIdentity:
        """What the content is the same as; `UnacceptableSchema` if it is no schema."""
        self._check(content)
        is_plain = not content.references and content.metadata is None and content.rule_set is None
        is_kept = is_plain and len(content.text) <= KEPT_TEXT
        known = self._identities.get((content.type, content.text)) if is_kept else None
        if known is None:
            source = SchemaSource(content.type, content.text, resolved(self.registry, context, content.references))
            known = await in_worker(self.workers, _identity, content, source)
            if is_kept:
                self._identities.put((content.type, content.text), known)
        return known

    def _check(self, content: SchemaContent) -> None:
        if content.type not in formats.TYPES:
            raise UnacceptableSchema(f"Invalid schema type {content.type}; there are {', '.join(formats.TYPES)}")
        if not content.text.strip():
            raise UnacceptableSchema("Empty schema")
        size = len(content.text.encode())
        if size > self.most_bytes:
            raise SchemaTooLarge(f"The schema has {size} bytes, and schema.max.bytes is {self.most_bytes}")

    def parsed(self, source: SchemaSource) -> ParsedSchema:
        """[thread] A registered schema, understood."""
        if source.known_as is None or len(source.text) > KEPT_TEXT:
            return understood(source)
        key = (*source.known_as, source.text)
        known = self._parsed.get(key)
        if known is None:
            known = understood(source)
            self._parsed.put(key, known)
        return known


def _identity(content: SchemaContent, source: SchemaSource) -> SchemaIdentity:
    """[thread]"""
    parsed = understood(source)
    return SchemaIdentity(parsed, content.guid(parsed.canonical), content.guid(parsed.normalized))


def understood(source: SchemaSource) -> ParsedSchema:
    """[thread] The schema, read now; `UnacceptableSchema` if it is none."""
    try:
        return formats.by_name(source.type).parse(source.text, source.references)
    except InvalidSchema as error:
        raise UnacceptableSchema(f"Invalid schema: {error}") from None
