"""Keys and values by schemas of the broker's own registry: `avro`, `jsonschema`, `protobuf` of Confluent's REST proxy.

What comes is written as the schema says, behind the schema's id as Confluent's serialisers put it; what is read names
its schema so, or in a header. The registry is asked in the caller's name: it needs READ to a subject whose schema it
uses, and WRITE to have a new one registered. A tenant's caller has its own context and no other.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import trio
from attrs import define, field, frozen

from coordinators.access.access import AccessControl
from coordinators.access.callers import Caller
from coordinators.access.rights import READ_SUBJECT, WRITE_SUBJECT
from coordinators.schemas.errors import RegistryError, SchemaNotFound, SubjectNotFound, UnacceptableSchema
from coordinators.schemas.names import DEFAULT_CONTEXT, Subject, checked
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import SchemaContent, SchemaRow
from coordinators.schemas.validation.framing import parted
from coordinators.schemas.validation.rules import KEY, VALUE
from wire.http.rest.refusals import (
    INVALID_SCHEMA,
    KEY_SCHEMA_MISSING,
    UNREADABLE,
    VALUE_SCHEMA_MISSING,
    RestRefusal,
    told_so,
)
from wire.inner.records import ReadRecord
from wire.registry.calls import told_at
from wire.registry.known import KnownSchemas
from wire.registry.rights import require_schema
from wire.services import Services

if TYPE_CHECKING:
    from coordinators.schemas.formats.format import ParsedSchema
    from coordinators.schemas.registering import Registering

TYPES = {"avro": "AVRO", "jsonschema": "JSON", "protobuf": "PROTOBUF"}
"""What the registry calls the formats."""
ASKED = "REST by schema"
MOST_SHOWN_BYTES = 64 << 20
"""Of JSON in one answer: a byte of a record may stand for a name of a million characters."""
MISSING = {KEY: KEY_SCHEMA_MISSING, VALUE: VALUE_SCHEMA_MISSING}


@frozen
class SchemaWanted:
    """A schema as a request names it: by its text, its id, or its place under a subject; the newest if by none."""

    format: str | None = None
    text: str | None = None
    id: int | None = None
    subject: str | None = None
    version: int | None = None

    @property
    def names_one(self) -> bool:
        """Whether it says which."""
        return not (self.text is None and self.id is None and self.version is None)


@frozen
class UsedSchema:
    """A schema that was found and read."""

    row: SchemaRow
    parsed: "ParsedSchema"

    @property
    def format(self) -> str:
        """What the proxy calls its type."""
        return next(name for name, kind in TYPES.items() if kind == self.row.type)

    def write(self, value: Any, what: str) -> bytes | None:
        """[thread] The value behind the schema's id; null is null."""
        from coordinators.schemas.formats.format import InvalidPayload

        if value is None:
            return None
        try:
            return b"\0" + self.row.id.to_bytes(4, "big") + self.parsed.from_json(value)
        except InvalidPayload as error:
            raise RestRefusal(UNREADABLE, f"{what} does not fit schema id {self.row.id}: {error}") from None


@define(eq=False)
class SchemaFormats:
    """See the module. What it needs is loaded with the first request that asks for such a format."""

    services: Services
    known: KnownSchemas
    _registering: "Registering | None" = field(default=None, init=False)
    _loading: trio.Lock = field(factory=trio.Lock, init=False)

    async def used(self, caller: Caller, topic: str, part: str, wanted: SchemaWanted) -> UsedSchema:
        """The schema by which keys or values are to be written; registered now if its text is new."""
        row = await self._told(self._row, caller, f"{topic}-{part}", wanted)
        if wanted.format is not None and row.type != TYPES[wanted.format]:
            raise RestRefusal(INVALID_SCHEMA, f"schema id {row.id} is {row.type}, and the format is {wanted.format}")
        return await self._read(row)

    async def uses(
        self, caller: Caller, topic: str, wanted: Iterable[tuple[str, SchemaWanted]]
    ) -> dict[tuple[str, SchemaWanted], UsedSchema | RestRefusal]:
        """The schemas of keys and values, or why there is none; each is looked for once."""
        found: dict[tuple[str, SchemaWanted], UsedSchema | RestRefusal] = {}
        for part, each in wanted:
            try:
                with told_so():
                    found[part, each] = await self.used(caller, topic, part, each)
            except RestRefusal as refusal:
                found[part, each] = refusal
        return found

    async def shown(self, caller: Caller, name: str, records: Sequence[ReadRecord]) -> list[tuple[Any, Any]]:
        """Keys and values of records as they stand in an answer."""
        read: dict[bytes, UsedSchema] = {}
        for record in records:
            for part, data in ((KEY, record.key), (VALUE, record.value)):
                framing, _ = parted(record.headers, part, data or b"")
                if data is not None and framing not in read:
                    read[framing] = await self._of_framing(caller, name, framing, f"the {part} at {record.offset}")
        return await self.known.in_worker(_shown, records, read)

    # -- which schema

    async def _row(self, caller: Caller, usual: str, wanted: SchemaWanted) -> SchemaRow:
        registry, access, home = self.services[Registry], self.services[AccessControl], self.known.home(caller)
        if wanted.id is not None:
            row = registry.by_id(wanted.id, home)
            if row is None:
                raise SchemaNotFound(f"Schema {wanted.id} not found")
            require_schema(access, caller, registry, row, ASKED)
            return row
        subject = registry.resolved(checked(wanted.subject or usual, home))
        if home not in (DEFAULT_CONTEXT, subject.context):
            raise SubjectNotFound(wanted.subject or usual)
        if wanted.text is not None:
            content = SchemaContent(TYPES[wanted.format or "avro"], wanted.text)
            return await self._registered(caller, subject, content)
        access.require(caller, READ_SUBJECT, str(subject), ASKED)
        found = registry.subject(subject)
        version = None if found is None else found.latest if wanted.version is None else found.find(wanted.version)
        if version is None:
            raise SubjectNotFound(str(subject))
        return registry.schema_of(subject, version)

    async def _registered(self, caller: Caller, subject: Subject, content: SchemaContent) -> SchemaRow:
        from coordinators.schemas.registering import WantedSchema

        access = self.services[AccessControl]
        registering = await self._load()
        if access.permits(caller, READ_SUBJECT, str(subject)):
            try:
                return (await registering.look_up(subject, content)).schema
            except (SubjectNotFound, SchemaNotFound):
                pass
        access.require(caller, WRITE_SUBJECT, str(subject), ASKED)
        return (await registering.register(WantedSchema(subject, content))).schema

    async def _of_framing(self, caller: Caller, name: str, framing: bytes, what: str) -> UsedSchema:
        try:
            if not framing:
                raise SchemaNotFound
            row = self.known.row(caller, framing, ASKED)
            if row.type != TYPES[name]:
                raise SchemaNotFound
        except SchemaNotFound:
            told = f"{what} names no schema of {name} that is registered; read it as binary"
            raise RestRefusal(UNREADABLE, told) from None
        return await self._read(row)

    # -- reading schemas

    async def _read(self, row: SchemaRow) -> UsedSchema:
        try:
            return UsedSchema(row, await self.known.read(row))
        except UnacceptableSchema as error:
            raise RestRefusal(INVALID_SCHEMA, f"the record {error}") from None

    async def _load(self) -> "Registering":
        async with self._loading:
            if self._registering is None:
                self._registering = await self.known.in_worker(_loaded, self.services)
        return self._registering

    async def _told(self, ask: Callable[..., Any], *given: Any) -> Any:
        """What the registry refuses, by the codes of REST's callers."""
        caller: Caller = given[0]
        try:
            return await ask(*given)
        except RegistryError as error:
            told = told_at(self.known.home(caller), error)
            raise RestRefusal(
                INVALID_SCHEMA if isinstance(error, UnacceptableSchema) else error.status, str(told)
            ) from error


def _loaded(services: Services) -> "Registering":
    """[thread]"""
    from coordinators.schemas.registering import Registering
    from wire.registry.changing import with_changes

    return with_changes(services)[Registering]


def _shown(records: Sequence[ReadRecord], read: dict[bytes, UsedSchema]) -> list[tuple[Any, Any]]:
    """[thread]"""
    from coordinators.schemas.formats.showing import shown_size

    shown, left = [], MOST_SHOWN_BYTES
    for record in records:
        both = _one(record, KEY, record.key, read), _one(record, VALUE, record.value, read)
        left -= shown_size(both, left)
        if left < 0:
            raise RestRefusal(UNREADABLE, f"more than {MOST_SHOWN_BYTES} bytes of JSON: ask for fewer by max_bytes")
        shown.append(both)
    return shown


def _one(record: ReadRecord, part: str, data: bytes | None, read: dict[bytes, UsedSchema]) -> Any:
    from coordinators.schemas.formats.format import InvalidPayload

    if data is None:
        return None
    framing, payload = parted(record.headers, part, data)
    try:
        return read[framing].parsed.to_exact_json(payload)
    except InvalidPayload as error:
        raise RestRefusal(UNREADABLE, f"the {part} at {record.offset} cannot be read: {error}") from None
