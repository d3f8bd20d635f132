"""`/schemas`: schemas by their ids and guids, and all of them."""

from typing import Any
from uuid import UUID

from coordinators.access.access import AccessControl
from coordinators.schemas import formats
from coordinators.schemas.errors import SchemaNotFound
from coordinators.schemas.names import DEFAULT_CONTEXT, split
from coordinators.schemas.registering import Registered, Registering
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import SchemaRow
from coordinators.waiting import Breathing
from wire.http.routing import Route
from wire.registry.answers import ContextId, SchemaShown, VersionShown, shown, shown_as
from wire.registry.calls import ALL, FormatQuery, GuidPlace, IdPlace, NoQuery, Paged, RegistryCall
from wire.registry.formatted import in_form, text_of
from wire.registry.rights import FILTERED, may_see, require_schema
from wire.registry.routes.subjects import MANY, raw, with_prefix


class IdQuery(FormatQuery, kw_only=True, rename="camel"):
    """`subject` says in which context the id is meant; with `fetchMaxId` the greatest id of it is told."""

    subject: str = ""
    fetch_max_id: bool = False


class UsesQuery(Paged, kw_only=True):
    """In the context of a subject, as above; deleted versions too."""

    subject: str = ""
    deleted: bool = False


class SchemasQuery(Paged, kw_only=True, rename="camel"):
    """Which schemas."""

    subject_prefix: str = ALL
    deleted: bool = False
    latest_only: bool = False


def _by_id(call: RegistryCall, registry: Registry, access: AccessControl) -> SchemaRow:
    """The schema of the path's id: in the context of the subject that is named, if one is."""
    text: str = call.place.id
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 11 else 0
    named = split(call.query.subject, call.context)
    found = registry.by_id(number, named.context)
    if found is None and not call.is_bound and named.context == DEFAULT_CONTEXT and named.name:
        # A subject that names no context may be one of another: its schemas are found by it.
        found = _under_name(registry, number, named.name)
    if found is None:
        raise SchemaNotFound(f"Schema {text} not found")
    require_schema(access, call.caller, registry, found, "GET /schemas/ids/{id}")
    return found


def _under_name(registry: Registry, number: int, name: str) -> SchemaRow | None:
    for view in registry.contexts.values():
        uses = view.uses.get(number, {})
        if any(subject.name == name for subject, _ in uses):
            return view.schemas[number]
    return None


async def show_schema(
    call: RegistryCall, registry: Registry, access: AccessControl, registering: Registering
) -> SchemaShown:
    """The schema of an id."""
    row = _by_id(call, registry, access)
    found = await in_form(shown(row), row, call.query.format, registering)
    if call.query.fetch_max_id:
        found.max_id = registry.next_id(row.context) - 1
    return found


async def show_schema_text(
    call: RegistryCall, registry: Registry, access: AccessControl, registering: Registering
) -> Any:
    """The schema of an id, bare."""
    return raw(await text_of(_by_id(call, registry, access), call.query.format, registering))


async def list_subjects_of(call: RegistryCall, registry: Registry, access: AccessControl) -> list[str]:
    """The subjects that have the schema of an id."""
    uses = _uses(call, registry, access)
    return call.query.of(list(dict.fromkeys(each.subject for each in uses)))  # type: ignore[no-any-return]


async def list_versions_of(call: RegistryCall, registry: Registry, access: AccessControl) -> list[VersionShown]:
    """The versions that have the schema of an id."""
    return call.query.of(_uses(call, registry, access))  # type: ignore[no-any-return]


def _uses(call: RegistryCall, registry: Registry, access: AccessControl) -> list[VersionShown]:
    uses = registry.uses(_by_id(call, registry, access), deleted=call.query.deleted)
    seen = [
        (call.told(subject), number)
        for subject, number in uses
        if call.may_know(subject.context) and may_see(access, call.caller, subject)
    ]
    return [VersionShown(*each) for each in sorted(seen)]


async def list_types(_: RegistryCall) -> list[str]:
    """The types of schemas that are known."""
    return sorted(formats.TYPES, key=("JSON", "PROTOBUF", "AVRO").index)


async def list_schemas(call: RegistryCall, registry: Registry, access: AccessControl) -> list[SchemaShown]:
    """Schemas by their subjects and versions."""
    query: SchemasQuery = call.query
    found: list[Registered] = []
    breathing = Breathing(MANY)
    for row in with_prefix(registry, query.subject_prefix, call.context):
        await breathing.did()
        versions = [each for each in row.versions if query.deleted or not each.deleted]
        if may_see(access, call.caller, row.subject):
            kept = versions[-1:] if query.latest_only else versions
            # Others have had their turn since the list was made: what is gone meanwhile is left out.
            schemas = [(each, registry.by_id(each.id, row.subject.context)) for each in kept]
            found += [Registered(row.subject, each, schema) for each, schema in schemas if schema is not None]
    shown_ones = []
    for each in query.of(found):
        shown_ones.append(shown_as(each, call))
        await breathing.did(2)
    return shown_ones


def _guid(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise SchemaNotFound(f"Schema {text} not found") from None


async def show_by_guid(
    call: RegistryCall, registry: Registry, access: AccessControl, registering: Registering
) -> SchemaShown:
    """The schema of a guid."""
    rows = registry.all_by_guid(_guid(call.place.guid))
    found = next((row for row in rows if call.may_know(row.context)), None)
    if found is None:
        raise SchemaNotFound(f"Schema {call.place.guid} not found")
    require_schema(access, call.caller, registry, found, "GET /schemas/guids/{guid}")
    return await in_form(shown(found), found, call.query.format, registering)


async def list_ids_of(call: RegistryCall, registry: Registry, access: AccessControl) -> list[ContextId]:
    """The ids that a guid has, by context."""
    found = []
    for row in registry.all_by_guid(_guid(call.place.guid)):
        if call.may_know(row.context):
            require_schema(access, call.caller, registry, row, "GET /schemas/guids/{guid}/ids")
            found.append(ContextId(DEFAULT_CONTEXT if call.is_bound else row.context, row.id))
    if not found:
        raise SchemaNotFound(f"Schema {call.place.guid} not found")
    return found


ROUTES = (
    Route("GET", "/schemas", list_schemas, "Schemas", list[SchemaShown], query=SchemasQuery, rights=FILTERED),
    Route("GET", "/schemas/types", list_types, "Types of schemas", list[str], query=NoQuery, rights=FILTERED),
    Route("GET", "/schemas/ids/{id}", show_schema, "A schema", SchemaShown, IdPlace, IdQuery, rights=FILTERED),
    Route(
        "GET", "/schemas/ids/{id}/schema", show_schema_text, "A schema, bare", None, IdPlace, IdQuery, rights=FILTERED
    ),
    Route(
        "GET",
        "/schemas/ids/{id}/subjects",
        list_subjects_of,
        "The subjects that have a schema",
        list[str],
        IdPlace,
        UsesQuery,
        rights=FILTERED,
    ),
    Route(
        "GET",
        "/schemas/ids/{id}/versions",
        list_versions_of,
        "The versions that have a schema",
        list[VersionShown],
        IdPlace,
        UsesQuery,
        rights=FILTERED,
    ),
    Route(
        "GET",
        "/schemas/guids/{guid}",
        show_by_guid,
        "A schema by its guid",
        SchemaShown,
        GuidPlace,
        FormatQuery,
        rights=FILTERED,
    ),
    Route(
        "GET",
        "/schemas/guids/{guid}/ids",
        list_ids_of,
        "The ids of a guid",
        list[ContextId],
        GuidPlace,
        NoQuery,
        rights=FILTERED,
    ),
)
