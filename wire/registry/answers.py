"""What the registry answers, as JSON. AVRO is not named, for clients from before there were other types."""

from typing import Any

import msgspec

from coordinators.schemas.registering import Registered
from coordinators.schemas.rows import AVRO, Reference, SchemaContent, SchemaRow
from wire.registry.calls import RegistryCall

Omitted = msgspec.UnsetType
UNSET = msgspec.UNSET


class ReferenceShown(msgspec.Struct):
    """A reference to another schema."""

    name: str = ""
    subject: str = ""
    version: int = -1


class SchemaShown(msgspec.Struct, kw_only=True, rename="camel"):
    """A schema; what is not there is left out."""

    subject: str | Omitted = UNSET
    version: int | Omitted = UNSET
    id: int | Omitted = UNSET
    guid: str | Omitted = UNSET
    schema_type: str | Omitted = UNSET
    references: list[ReferenceShown] | Omitted = UNSET
    metadata: dict[str, Any] | Omitted = UNSET
    rule_set: dict[str, Any] | Omitted = UNSET
    schema: str | Omitted = UNSET
    deleted: bool | Omitted = UNSET
    max_id: int | Omitted = UNSET


class VersionShown(msgspec.Struct):
    """A version of a subject."""

    subject: str
    version: int


class ContextId(msgspec.Struct):
    """Where a guid is found."""

    context: str
    id: int


class Compatible(msgspec.Struct):
    """Whether a schema fits; why not, if that was asked for."""

    is_compatible: bool
    messages: list[str] | Omitted = UNSET


def shown(row: SchemaRow) -> SchemaShown:
    """A schema by itself."""
    return SchemaShown(guid=row.guid, schema=row.text, **_particulars(row.content))


def shown_as(registered: Registered, call: RegistryCall) -> SchemaShown:
    """A schema as a version of a subject, as the caller knows that."""
    row, version = registered.schema, registered.version
    return SchemaShown(
        subject=call.told(registered.subject),
        version=version.number,
        id=row.id,
        guid=row.guid,
        schema=row.text,
        deleted=True if version.deleted else UNSET,
        **_particulars(row.content),
    )


def _particulars(content: SchemaContent) -> dict[str, Any]:
    found: dict[str, Any] = {"metadata": content.metadata, "rule_set": content.rule_set}
    found = {name: value for name, value in found.items() if value is not None}
    if content.type != AVRO:
        found["schema_type"] = content.type
    if content.references:
        found["references"] = [_reference(each) for each in content.references]
    return found


def _reference(reference: Reference) -> ReferenceShown:
    return ReferenceShown(reference.name, reference.subject, reference.version)
