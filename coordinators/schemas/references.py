"""References between schemas: what they name, and who is named."""

from collections.abc import Iterator, Sequence

from attrs import evolve

from coordinators.schemas.errors import UnacceptableSchema
from coordinators.schemas.formats.format import ResolvedReference
from coordinators.schemas.names import Subject, split
from coordinators.schemas.registry import Registry, Use
from coordinators.schemas.rows import Reference, SchemaRow

LATEST = -1
MOST_DEPTH = 100


def pinned(registry: Registry, context: str, references: Sequence[Reference]) -> tuple[Reference, ...]:
    """The references with versions in the place of "the latest"; `UnacceptableSchema` for what there is not."""
    return tuple(_pinned(registry, context, each) for each in references)


def _pinned(registry: Registry, context: str, reference: Reference) -> Reference:
    row = registry.subject(split(reference.subject, context))
    if row is not None and reference.version == LATEST:
        found = row.latest
    else:
        found = None if row is None else row.find(reference.version)
    if found is None:
        raise UnacceptableSchema(
            f'No schema reference found for subject "{reference.subject}" and version {reference.version}'
        )
    return evolve(reference, version=found.number)


def resolved(registry: Registry, context: str, references: Sequence[Reference]) -> tuple[ResolvedReference, ...]:
    """What references stand for, with theirs in turn. Deleted versions count: what was registered stays readable.

    There are no circles, for a schema can refer only to what was there before it; what several refer to is one object.
    """
    return _resolved(registry, context, references, {}, MOST_DEPTH)


Known = dict[tuple[str, Use], ResolvedReference]


def _resolved(
    registry: Registry, context: str, references: Sequence[Reference], known: Known, depth: int
) -> tuple[ResolvedReference, ...]:
    if references and depth == 0:
        raise UnacceptableSchema(f"references to references, more than {MOST_DEPTH} deep")
    found = []
    for each in references:
        use = split(each.subject, context), each.version
        if (each.name, use) not in known:
            row = _referred(registry, use)
            inner = _resolved(registry, row.context, row.content.references, known, depth - 1)
            known[each.name, use] = ResolvedReference(each.name, str(use[0]), each.version, row.text, inner)
        found.append(known[each.name, use])
    return tuple(found)


def _referred(registry: Registry, use: Use) -> SchemaRow:
    subject, number = use
    row = registry.subject(subject)
    version = None if row is None else row.find(number, deleted=True)
    if version is None:
        raise UnacceptableSchema(f'No schema reference found for subject "{subject}" and version {number}')
    return registry.schema_of(subject, version)


def referrers(registry: Registry, subject: Subject, number: int, *, deleted: bool) -> Iterator[SchemaRow]:
    """The schemas that refer to a version; those that are only in deleted versions if they count."""
    for context, schema_id in registry.referrers.get((subject, number), ()):
        row = registry.by_id(schema_id, context)
        if row is not None and next(registry.uses(row, deleted=deleted), None) is not None:
            yield row
