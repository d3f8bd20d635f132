"""`/subjects`: registering, looking up, listing and deleting."""

from typing import Any

import msgspec

from coordinators.access.access import AccessControl
from coordinators.access.rights import DELETE_SUBJECT, READ_SUBJECT, WRITE_SUBJECT
from coordinators.schemas.deleting import SchemaDeleting
from coordinators.schemas.errors import SubjectNotFound, VersionNotFound
from coordinators.schemas.names import DEFAULT_CONTEXT, Subject, split
from coordinators.schemas.references import referrers
from coordinators.schemas.registering import Registered, Registering, WantedSchema
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import SubjectRow
from coordinators.waiting import Breathing
from wire.http.routing import Route
from wire.registry.answers import SchemaShown, shown_as
from wire.registry.bodies import SchemaGiven
from wire.registry.calls import ALL, FormatQuery, Paged, RegistryCall, SubjectPlace, VersionPlace
from wire.registry.formatted import in_form, text_of
from wire.registry.rights import FILTERED, may_see, to_subject

MANY = 1000
"""So many of a list are worked through in one go."""


class SubjectsQuery(Paged, kw_only=True, rename="camel"):
    """Which subjects: by what their names begin with, deleted ones too, or only those."""

    subject_prefix: str = ALL
    deleted: bool = False
    deleted_only: bool = False


class RegisterQuery(FormatQuery, kw_only=True):
    """With `normalize` a schema is put in order first."""

    normalize: bool = False


class LookUpQuery(RegisterQuery, kw_only=True):
    """With `deleted`, deleted versions count."""

    deleted: bool = False


class VersionsQuery(Paged, kw_only=True, rename="camel"):
    """Deleted versions too, only those, or as negative numbers among the others."""

    deleted: bool = False
    deleted_only: bool = False
    deleted_as_negative: bool = False


class DeletedQuery(FormatQuery, kw_only=True):
    """Whether deleted versions count."""

    deleted: bool = False


class DeleteQuery(msgspec.Struct):
    """Whether it goes for good."""

    permanent: bool = False


def with_prefix(registry: Registry, prefix: str, context: str) -> list[SubjectRow]:
    """The subjects whose names begin so, by name; `:*:` stands for all contexts."""
    rows = registry.ordered()
    if prefix.startswith(ALL) and context == DEFAULT_CONTEXT:
        begins = prefix.removeprefix(ALL)
        return [row for row in rows if row.subject.name.startswith(begins)] if begins else rows
    wanted = split(prefix.removeprefix(ALL), context)
    inside = [row for row in rows if row.subject.context == wanted.context]
    return [row for row in inside if row.subject.name.startswith(wanted.name)]


async def list_subjects(call: RegistryCall, registry: Registry, access: AccessControl) -> list[str]:
    """Names, in order."""
    query: SubjectsQuery = call.query
    found, breathing = [], Breathing(MANY)
    for row in with_prefix(registry, query.subject_prefix, call.context):
        await breathing.did()
        is_live = any(not each.deleted for each in row.versions)
        is_wanted = not is_live if query.deleted_only else is_live or query.deleted
        if is_wanted and may_see(access, call.caller, row.subject):
            found.append(call.told(row.subject))
    return query.of(found)


async def register(call: RegistryCall, registering: Registering) -> SchemaShown:
    """Register a schema, or find it registered."""
    given: SchemaGiven = call.body
    wanted = WantedSchema(
        call.subject, given.content, normalize=call.query.normalize, id=given.given_id, version=given.given_version
    )
    made = await registering.register(wanted)
    found = await in_form(shown_as(made, call), made.schema, call.query.format, registering)
    found.subject = msgspec.UNSET
    return found


async def look_up(call: RegistryCall, registering: Registering) -> SchemaShown:
    """Which version a schema is."""
    given: SchemaGiven = call.body
    query: LookUpQuery = call.query
    found = await registering.look_up(call.subject, given.content, normalize=query.normalize, deleted=query.deleted)
    return await in_form(shown_as(found, call), found.schema, query.format, registering)


async def list_versions(call: RegistryCall, registry: Registry) -> list[int]:
    """Numbers, rising."""
    query: VersionsQuery = call.query
    row = _row(registry, call.subject)
    if query.deleted_as_negative:
        numbers = [-each.number if each.deleted else each.number for each in row.versions]
    elif query.deleted_only:
        numbers = [each.number for each in row.versions if each.deleted]
    else:
        numbers = [each.number for each in row.versions if query.deleted or not each.deleted]
    if not numbers:
        raise SubjectNotFound(str(call.subject))
    return query.of(numbers)


async def show_version(call: RegistryCall, registry: Registry, registering: Registering) -> SchemaShown:
    """One version with its schema."""
    found = registered(registry, call, deleted=call.query.deleted)
    return await in_form(shown_as(found, call), found.schema, call.query.format, registering)


async def show_version_schema(call: RegistryCall, registry: Registry, registering: Registering) -> Any:
    """The schema of a version, bare."""
    found = registered(registry, call, deleted=call.query.deleted)
    return raw(await text_of(found.schema, call.query.format, registering))


async def list_referrers(call: RegistryCall, registry: Registry) -> list[int]:
    """The ids of the schemas that refer to a version."""
    found = registered(registry, call, deleted=True)
    rows = referrers(registry, found.subject, found.version.number, deleted=call.query.deleted)
    return sorted({row.id for row in rows if call.may_know(row.context)})


async def delete_subject(call: RegistryCall, deleting: SchemaDeleting) -> list[int]:
    """Delete all versions; their numbers."""
    return await deleting.subject(call.subject, permanent=call.query.permanent)


async def delete_version(call: RegistryCall, deleting: SchemaDeleting) -> int:
    """Delete a version; its number."""
    return await deleting.version(call.subject, call.version, permanent=call.query.permanent)


class MetadataQuery(FormatQuery, kw_only=True):
    """Deleted versions too."""

    deleted: bool = False


async def show_by_metadata(call: RegistryCall, registry: Registry, registering: Registering) -> SchemaShown:
    """The newest version whose metadata has the properties that are asked for, by repeated `key` and `value`."""
    wanted = properties_of(call.request.target)
    row = _row(registry, call.subject)
    for version in reversed(row.versions):
        schema = registry.schema_of(row.subject, version)
        properties = (schema.content.metadata or {}).get("properties") or {}
        if (call.query.deleted or not version.deleted) and wanted.items() <= properties.items():
            found = Registered(row.subject, version, schema)
            return await in_form(shown_as(found, call), schema, call.query.format, registering)
    raise SubjectNotFound(str(call.subject))


def properties_of(target: str) -> dict[str, str]:
    """The pairs that a query has as `key` and `value`, again and again."""
    from urllib.parse import parse_qs

    query = parse_qs(target.partition("?")[2], keep_blank_values=True, max_num_fields=64)
    return dict(zip(query.get("key", ()), query.get("value", ()), strict=False))


def raw(text: str) -> Any:
    """A schema's text as it is, which need not be JSON."""
    from wire.http.messages import Response

    return Response(200, text.encode())


def _row(registry: Registry, subject: Subject) -> SubjectRow:
    row = registry.subject(subject)
    if row is None:
        raise SubjectNotFound(str(subject))
    return row


def registered(registry: Registry, call: RegistryCall, *, deleted: bool) -> Registered:
    """The version that the path names."""
    subject, number = call.subject, call.version
    row = _row(registry, subject)
    if not deleted and not row.live():
        raise SubjectNotFound(str(subject))
    if number is not None:
        version = row.find(number, deleted=deleted)
    else:
        version = row.latest or (row.versions[-1] if deleted else None)
    if version is None:
        raise VersionNotFound(number or -1)
    return Registered(subject, version, registry.schema_of(subject, version))


READ, WRITE, DELETE = to_subject(READ_SUBJECT), to_subject(WRITE_SUBJECT), to_subject(DELETE_SUBJECT)
ROUTES = (
    Route("GET", "/subjects", list_subjects, "Subjects by name", list[str], query=SubjectsQuery, rights=FILTERED),
    Route(
        "POST",
        "/subjects/{subject}/versions",
        register,
        "Register a schema",
        SchemaShown,
        SubjectPlace,
        RegisterQuery,
        SchemaGiven,
        problems=(409,),
        rights=WRITE,
    ),
    Route(
        "POST",
        "/subjects/{subject}",
        look_up,
        "Which version a schema is",
        SchemaShown,
        SubjectPlace,
        LookUpQuery,
        SchemaGiven,
        rights=READ,
    ),
    Route(
        "DELETE",
        "/subjects/{subject}",
        delete_subject,
        "Delete a subject",
        list[int],
        SubjectPlace,
        DeleteQuery,
        rights=DELETE,
    ),
    Route(
        "GET",
        "/subjects/{subject}/versions",
        list_versions,
        "The versions of a subject",
        list[int],
        SubjectPlace,
        VersionsQuery,
        rights=READ,
    ),
    Route(
        "GET",
        "/subjects/{subject}/metadata",
        show_by_metadata,
        "The newest version with some metadata",
        SchemaShown,
        SubjectPlace,
        MetadataQuery,
        rights=READ,
    ),
    Route(
        "GET",
        "/subjects/{subject}/versions/{version}",
        show_version,
        "A version",
        SchemaShown,
        VersionPlace,
        DeletedQuery,
        rights=READ,
    ),
    Route(
        "GET",
        "/subjects/{subject}/versions/{version}/schema",
        show_version_schema,
        "The schema of a version, bare",
        place=VersionPlace,
        query=DeletedQuery,
        rights=READ,
    ),
    Route(
        "GET",
        "/subjects/{subject}/versions/{version}/referencedby",
        list_referrers,
        "The ids of schemas that refer to a version",
        list[int],
        VersionPlace,
        DeletedQuery,
        rights=READ,
    ),
    Route(
        "DELETE",
        "/subjects/{subject}/versions/{version}",
        delete_version,
        "Delete a version",
        int,
        VersionPlace,
        DeleteQuery,
        rights=DELETE,
    ),
)
