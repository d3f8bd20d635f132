"""Payloads with a schema's id before them, as serialisers write them: shown as JSON, and made of JSON."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from attrs import define, evolve, field

from coordinators.schemas import formats
from coordinators.schemas.formats.format import InvalidPayload, InvalidSchema, ParsedSchema, ResolvedReference
from tools.cli.errors import CliError, NotFound, UsageMistake
from tools.cli.formats import Record
from tools.cli.schema_door import SchemaDoor

PREFIX, GUID_PREFIX = 0, 1
ID_END, GUID_END = 5, 17
HEADERS = {"key": "__key_schema_id", "value": "__value_schema_id"}
"""Where newer serialisers put the guid, instead of before the payload."""
SEE = "see 'tidegate schema show SUBJECT'"


@define(eq=False)
class Schemas:
    """Schemas of a registry, each asked for once."""

    registry: SchemaDoor
    _known: dict[tuple[str, str], ParsedSchema] = field(factory=dict, init=False)

    def by_id(self, schema_id: int) -> ParsedSchema:
        """The schema of an id."""
        return self._parsed("ids", str(schema_id))

    def by_guid(self, guid: str) -> ParsedSchema:
        """The schema of a guid."""
        return self._parsed("guids", guid)

    def _parsed(self, kind: str, name: str) -> ParsedSchema:
        if (kind, name) not in self._known:
            self._known[kind, name] = self.understood(self.registry.ask("GET", "schemas", kind, name))
        return self._known[kind, name]

    def understood(self, found: Any) -> ParsedSchema:
        """A schema as the registry tells it."""
        try:
            return formats.by_name(found.get("schemaType", "AVRO")).parse(found["schema"], self._references(found))
        except (InvalidSchema, KeyError) as error:
            raise CliError(f"a schema of the registry cannot be understood here: {error}") from None

    def _references(self, found: Any) -> tuple[ResolvedReference, ...]:
        resolved = []
        for each in found.get("references") or ():
            version = self.registry.version(each["subject"], str(each["version"]))
            inner = self._references(version)
            resolved.append(ResolvedReference(each["name"], each["subject"], each["version"], version["schema"], inner))
        return tuple(resolved)


def decoding(schemas: Schemas, write: Callable[[Record], None]) -> Callable[[Record], None]:
    """What shows records with their keys and values decoded; those without a schema as they are."""

    def shown(record: Record) -> None:
        headers = dict(record.headers)
        key = _decoded(schemas, record.key, headers.get(HEADERS["key"]))
        value = _decoded(schemas, record.value, headers.get(HEADERS["value"]))
        write(evolve(record, key=key, value=value))

    return shown


def _decoded(schemas: Schemas, data: bytes | None, header: bytes | None) -> bytes | None:
    """As JSON, if it names a schema that there is and that describes it; else as it is."""
    if data is None:
        return None
    try:
        if header is not None and len(header) == GUID_END and header[0] == GUID_PREFIX:
            found = schemas.by_guid(str(UUID(bytes=header[1:]))).to_json(data)
        elif len(data) > GUID_END and data[0] == GUID_PREFIX:
            found = schemas.by_guid(str(UUID(bytes=data[1:GUID_END]))).to_json(data[GUID_END:])
        elif len(data) >= ID_END and data[0] == PREFIX:
            found = schemas.by_id(int.from_bytes(data[1:ID_END], "big")).to_json(data[ID_END:])
        else:
            return data
    except (NotFound, InvalidPayload):
        return data
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"), default=str).encode()


def encoding(schemas: Schemas, named: str, message: str = "") -> Callable[[bytes], bytes]:
    """What makes payloads of JSON, by the schema of a subject (`orders-value`, `orders-value:3`) or of an id (`7`).

    `message` is one of a Protobuf schema; the first of it, if none is named.
    """
    if named.isdecimal():
        schema_id, found = int(named), schemas.registry.schema(int(named))
    else:
        subject, _, version = named.rpartition(":") if named.rpartition(":")[2].isdecimal() else (named, "", "latest")
        found = schemas.registry.version(subject or named, version)
        schema_id = found["id"]
    written = _writer(schemas, found, message)
    prefix = bytes([PREFIX]) + schema_id.to_bytes(4, "big")

    def encode(data: bytes) -> bytes:
        try:
            value = json.loads(data)
        except ValueError as error:
            raise UsageMistake(f"it is no JSON: {error}", "with --schema a value is JSON") from None
        return prefix + written(value)

    return encode


def _writer(schemas: Schemas, found: Any, message: str) -> Callable[[Any], bytes]:
    kind = found.get("schemaType", "AVRO")
    schema: Any = schemas.understood(found)
    if message and kind != "PROTOBUF":
        raise UsageMistake(f"--message is for Protobuf, and the schema is of {kind}", "leave it out")
    if kind == "AVRO":
        return _told(schema.from_shown)
    if kind == "PROTOBUF":
        return _told(partial(schema.from_json, name=message))
    return _told(partial(_checked_json, schema.validator()))


def _told(make: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """What says how a value does not fit."""

    def write(value: Any) -> bytes:
        try:
            return make(value)
        except InvalidPayload as error:
            raise UsageMistake(f"it does not fit the schema: {error}", SEE) from None

    return write


def _checked_json(check: Callable[[bytes], None], value: Any) -> bytes:
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    check(data)
    return data
