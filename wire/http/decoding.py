"""Keys and values of records shown by the schemas that they name, next to what they are in bytes.

Whatever keeps one from being shown is told with that record, and keeps nothing else back: a schema that is not there,
or that the caller may not read; a payload that does not fit; one that would be too long.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from attrs import define, frozen

from coordinators.access.access import AccessControl
from coordinators.access.callers import Caller
from coordinators.access.rights import READ_SUBJECT
from coordinators.schemas.errors import SchemaNotFound, UnacceptableSchema
from coordinators.schemas.names import Subject
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import SchemaRow
from coordinators.schemas.validation.framing import parted, schema_named
from coordinators.schemas.validation.rules import KEY, VALUE
from wire.http.records import Decoded, Format
from wire.http.topic_readers import Located
from wire.inner.records import Header
from wire.registry.known import KnownSchemas
from wire.services import Services

if TYPE_CHECKING:
    from coordinators.schemas.validation.validators import Compiled

ASKED = "records by schema"
MOST_SCHEMAS = 100
"""That the records of one answer, or of one piece of a stream, may name."""
MOST_READ_BYTES, MOST_SHOWN_BYTES = 2 << 20, 8 << 20
"""Of payloads, and of JSON, in one answer, or in one piece of a stream: some two seconds of a thread at the worst."""

Both = tuple[Decoded | None, Decoded | None]
"""A record's key and value."""


@frozen
class _Found:
    """What a record's key or value names, for one caller."""

    told: Decoded
    """Without its value; with the reason where there is none."""
    compiled: "Compiled | None" = None


_Names = dict[tuple[str, bytes], _Found]
"""By the part of a record, and what stands in front of its payload."""


@define
class _Room:
    """How much was done."""

    read: int = 0
    shown: int = 0

    def takes(self, payload: bytes) -> bool:
        """Whether there is room for one more."""
        self.read += len(payload)
        return self.read <= MOST_READ_BYTES and self.shown < MOST_SHOWN_BYTES


@define(eq=False)
class Decoding:
    """See the module."""

    services: Services
    known: KnownSchemas

    async def of(self, caller: Caller, topic: str, some: Sequence[Located], form: Format) -> list[Both]:
        """Key and value of each; None where nothing is named."""
        names: _Names = {}
        for _, record in some:
            for part, data in ((KEY, record.key), (VALUE, record.value)):
                framing = b"" if data is None else parted(record.headers, part, data)[0]
                if framing and (part, framing) not in names:
                    names[part, framing] = await self._found(caller, topic, part, framing, len(names))
        if not names:
            return [(None, None)] * len(some)
        return await self.known.in_worker(_decoded, some, names, form)

    async def _found(self, caller: Caller, topic: str, part: str, framing: bytes, before: int) -> _Found:
        named = schema_named(framing)
        called = f"schema id {named}" if isinstance(named, int) else f"the schema of guid {named}"
        if before >= MOST_SCHEMAS:
            return _refused(f"names {called}; no more than {MOST_SCHEMAS} are looked up at a time: read fewer records")
        try:
            row = self.known.row(caller, framing, ASKED)
        except SchemaNotFound:
            return _refused(f"names {called}, which is not there, or which you may not read")
        told = Decoded(schema_id=row.id, schema_type=row.type)
        told.subject, told.version = self._place(caller, topic, part, row)
        try:
            return _Found(told, await self.known.compiled(row))
        except UnacceptableSchema as error:
            told.error = str(error)
            return _Found(told)

    def _place(self, caller: Caller, topic: str, part: str, row: SchemaRow) -> tuple[str | None, int | None]:
        """Where a schema is registered: under the topic's own subject if it is, else under another that may be read."""
        access, home = self.services[AccessControl], self.known.home(caller)
        usual = f"{topic}-{part}"
        places = [
            (subject.name == usual, version, subject)
            for subject, version in self.services[Registry].uses(row, deleted=True)
            if not access.is_enforced or access.permits(caller, READ_SUBJECT, str(subject))
        ]
        if not places:
            return None, None
        _, version, subject = max(places, key=lambda place: (place[0], place[1]))
        return _called(subject, home), version


def _called(subject: Subject, home: str) -> str:
    return subject.name if subject.context == home else str(subject)


def _refused(reason: str) -> _Found:
    return _Found(Decoded(error=reason))


def _decoded(some: Sequence[Located], names: _Names, form: Format) -> list[Both]:
    """[thread]"""
    room = _Room()
    return [
        (
            _part(record.headers, KEY, record.key, names, form, room),
            _part(record.headers, VALUE, record.value, names, form, room),
        )
        for _, record in some
    ]


def _part(
    headers: Sequence[Header], part: str, data: bytes | None, names: _Names, form: Format, room: _Room
) -> Decoded | None:
    """[thread]"""
    from coordinators.schemas.formats.format import InvalidPayload
    from coordinators.schemas.formats.showing import shown_payload

    framing, payload = parted(headers, part, data or b"")
    found = None if data is None else names.get((part, framing))
    if found is None or found.compiled is None:
        return None if found is None else found.told
    if not room.takes(payload):
        return msgspec.structs.replace(found.told, error="too much at once: read fewer records")
    try:
        document = shown_payload(found.compiled.parsed, payload)
        found.compiled.check(payload)
    except InvalidPayload as error:
        return msgspec.structs.replace(found.told, error=f"does not fit schema id {found.told.schema_id}: {error}")
    room.shown += len(document)
    return msgspec.structs.replace(found.told, value=_in_form(document, form))


def _in_form(document: bytes, form: Format) -> Any:
    return msgspec.Raw(document) if form == "json" else document.decode()
