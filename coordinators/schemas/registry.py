"""The schemas that there are, as the catalogue tells. Only the event loop changes it; whoever plans a change does so
while nothing is put in force.

Everything here is looked up in memory, without waiting: so the path of a record may ask it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from attrs import define, field

from coordinators.cluster.news import News, read_whole
from coordinators.schemas.formats import TYPES
from coordinators.schemas.names import DEFAULT_CONTEXT, GLOBAL, Subject, split
from coordinators.schemas.rows import (
    CONTEXTS,
    IDS,
    SCHEMAS,
    SETTINGS,
    SUBJECTS,
    ContextRow,
    SchemaRow,
    SettingsRow,
    SubjectRow,
    Version,
    context_key,
)
from engine.catalogue.catalogue import Catalogue

K = TypeVar("K")
V = TypeVar("V")
Use = tuple[Subject, int]
"""A version of a subject."""


@define(eq=False)
class ContextView:
    """The schemas of a context by id, and who uses them."""

    name: str
    schemas: dict[int, SchemaRow] = field(factory=dict)
    uses: dict[int, dict[Use, None]] = field(factory=dict)
    """By id; with deleted ones. One schema may have thousands."""
    by_guid: dict[tuple[str, str], int] = field(factory=dict)
    """By type and guid."""
    by_normal: dict[tuple[str, str], int] = field(factory=dict)
    """The same of normalised texts; of several the first."""
    next_id: int = 1


@define(eq=False)
class Registry:
    """See the module."""

    revision: int = field(default=0, init=False)
    """Rises whenever something here changes."""
    on_change: list[Callable[[], object]] = field(factory=list, init=False)
    """Told when it does."""
    contexts: dict[str, ContextView] = field(factory=dict, init=False)
    subjects: dict[Subject, SubjectRow] = field(factory=dict, init=False)
    settings: dict[Subject, SettingsRow] = field(factory=dict, init=False)
    referrers: dict[Use, dict[tuple[str, int], None]] = field(factory=dict, init=False)
    """By the version that is referred to, the schemas that do, by context and id."""
    _revisions: dict[str, int] = field(factory=dict, init=False)
    _ordered: tuple[int, list[SubjectRow]] = field(default=(-1, []), init=False)

    # -- looking up

    def by_id(self, schema_id: int, context: str = DEFAULT_CONTEXT) -> SchemaRow | None:
        """The schema of an id, whether or not its versions are deleted."""
        view = self.contexts.get(context)
        return None if view is None else view.schemas.get(schema_id)

    def by_guid(self, guid: str) -> SchemaRow | None:
        """The schema of a guid, in whichever context it is."""
        return next(iter(self.all_by_guid(guid)), None)

    def all_by_guid(self, guid: str) -> Iterator[SchemaRow]:
        """The same in every context that has it."""
        for view in self.contexts.values():
            for schema_type in TYPES:
                schema_id = view.by_guid.get((schema_type, guid))
                if schema_id is not None:
                    yield view.schemas[schema_id]

    def same(self, context: str, schema_type: str, guid: str, normal: str | None = None) -> SchemaRow | None:
        """The schema of the context that is the same by its guid, or by its normalised text's if that is given."""
        view = self.contexts.get(context)
        if view is None:
            return None
        found = view.by_guid.get((schema_type, guid))
        if found is None and normal is not None:
            found = view.by_guid.get((schema_type, normal), view.by_normal.get((schema_type, normal)))
        return None if found is None else view.schemas[found]

    def subject(self, subject: Subject) -> SubjectRow | None:
        """The subject with all its versions."""
        return self.subjects.get(subject)

    def is_registered(self, subject: str, schema_id: int) -> bool:
        """Whether a version of the subject that is not deleted has this id."""
        row = self.subjects.get(self.resolved(split(subject)))
        return row is not None and any(each.id == schema_id and not each.deleted for each in row.versions)

    def latest(self, subject: str) -> SchemaRow | None:
        """The schema of the subject's newest version that is not deleted."""
        name = self.resolved(split(subject))
        row = self.subjects.get(name)
        version = None if row is None else row.latest
        return None if version is None else self.by_id(version.id, name.context)

    def schema_of(self, subject: Subject, version: Version) -> SchemaRow:
        """The schema of one of its versions."""
        found = self.by_id(version.id, subject.context)
        assert found is not None, "a version and its schema come and go together"
        return found

    def uses(self, row: SchemaRow, *, deleted: bool = False) -> Iterator[Use]:
        """The versions that have the schema."""
        for subject, number in self.contexts[row.context].uses.get(row.id, ()):
            if deleted or self.subjects[subject].find(number) is not None:
                yield subject, number

    def ordered(self) -> list[SubjectRow]:
        """Subjects by context and name; put in order once after each change."""
        if self._ordered[0] != self.revision:
            rows = sorted(self.subjects.values(), key=lambda row: (row.subject.context, row.subject.name))
            self._ordered = self.revision, rows
        return self._ordered[1]

    def revision_of(self, key: str) -> int:
        """Of a row; 0 if there is none."""
        return self._revisions.get(key, 0)

    def next_id(self, context: str) -> int:
        """The id that the context's next new schema has."""
        view = self.contexts.get(context)
        return 1 if view is None else view.next_id

    def statistics(self) -> dict[str, int]:
        """How much there is."""
        versions = [version.deleted for row in self.subjects.values() for version in row.versions]
        schemas = [row for view in self.contexts.values() for row in view.schemas.values()]
        return {
            "contexts": len({subject.context for subject in self.subjects}),
            "subjects": len(self.subjects),
            "deleted_subjects": sum(row.latest is None for row in self.subjects.values()),
            "versions": len(versions),
            "deleted_versions": sum(versions),
            "schemas": len(schemas),
            "references": sum(len(row.content.references) for row in schemas),
            "text_bytes": sum(len(row.text) for row in schemas),
        }

    # -- settings: a subject's own, else its context's, else those of all

    def resolved(self, subject: Subject) -> Subject:
        """The subject that an alias stands for; any other as it is. Aliases of aliases are not followed."""
        row = self.settings.get(subject) if subject.name else None
        alias = None if row is None or row.config is None else row.config.get("alias")
        return split(alias, subject.context) if alias else subject

    def names(self, row: SchemaRow) -> frozenset[str]:
        """What the subjects that have a schema are called, by their aliases too."""
        found = {subject for subject, _ in self.uses(row)}
        aliases = {scope for scope in self.settings if self.resolved(scope) != scope}
        return frozenset(map(str, found - aliases | {each for each in aliases if self.resolved(each) in found}))

    def setting(self, subject: Subject, name: str) -> object:
        """What holds for a subject: the member of that name of the nearest scope that has one, else None."""
        for scope in (subject, subject.scope, GLOBAL):
            row = self.settings.get(scope)
            value = None if row is None or row.config is None else row.config.get(name)
            if value is not None:
                return value
        return None

    def mode(self, subject: Subject) -> str | None:
        """The mode of the nearest scope that has one."""
        found = (self.settings.get(scope) for scope in (subject, subject.scope, GLOBAL))
        return next((row.mode for row in found if row is not None and row.mode is not None), None)

    # -- following the catalogue

    def load(self, catalogue: Catalogue) -> None:
        """[thread] As it is now; later rows come with the news, some of them again."""
        self.take(read_whole(*catalogue.entries(SCHEMAS)))

    def take(self, news: News) -> None:
        """What a revision changed. Rows that are known already, of which a fresh view tells again, are left alone."""
        mine = [(key, *row) for key, row in news.others.items() if key.startswith(SCHEMAS)]
        changed = [each for each in mine if self._revisions.get(each[0], 0) != each[2]]
        for key, value, revision in changed:
            self._forget(key)
            if value is not None:
                self._revisions[key] = revision
                self._note(key, value)
        if changed:
            self.revision += 1
            for tell in self.on_change:
                tell()

    def row_keys(self) -> Iterable[str]:
        """The keys of the rows that are known."""
        return list(self._revisions)

    def _note(self, key: str, value: bytes) -> None:
        if key.startswith(IDS):
            self._add_schema(SchemaRow.decode(key, value))
        elif key.startswith(SUBJECTS):
            self._add_subject(SubjectRow.decode(key, value))
        elif key.startswith(CONTEXTS):
            context = ContextRow.decode(key, value)
            self._view(context.context).next_id = context.next_id
        elif key.startswith(SETTINGS):
            settings = SettingsRow.decode(key, value)
            self.settings[settings.scope] = settings

    def _forget(self, key: str) -> None:
        if self._revisions.pop(key, None) is None:
            return
        if key.startswith(IDS):
            context, _, number = key.removeprefix(IDS).rpartition("/")
            self._remove_schema(self._view(context).schemas[int(number)])
        elif key.startswith(SUBJECTS):
            self._remove_subject(self.subjects[split(key.removeprefix(SUBJECTS))])
        elif key.startswith(CONTEXTS):
            self._view(key.removeprefix(CONTEXTS)).next_id = 1
        elif key.startswith(SETTINGS):
            del self.settings[split(key.removeprefix(SETTINGS))]

    def _view(self, context: str) -> ContextView:
        view = self.contexts.get(context)
        if view is None:
            view = self.contexts[context] = ContextView(context)
        return view

    def _add_schema(self, row: SchemaRow) -> None:
        view = self._view(row.context)
        view.schemas[row.id] = row
        view.by_guid.setdefault((row.type, row.guid), row.id)
        view.by_normal.setdefault((row.type, row.normal), row.id)
        for reference in row.content.references:
            use = split(reference.subject, row.context), reference.version
            self.referrers.setdefault(use, {})[row.context, row.id] = None

    def _remove_schema(self, row: SchemaRow) -> None:
        view = self._view(row.context)
        del view.schemas[row.id]
        for index, guid in ((view.by_guid, row.guid), (view.by_normal, row.normal)):
            if index.get((row.type, guid)) == row.id:
                del index[row.type, guid]
        for reference in row.content.references:
            use = split(reference.subject, row.context), reference.version
            _take_out(self.referrers, use, (row.context, row.id))

    def _add_subject(self, row: SubjectRow) -> None:
        self.subjects[row.subject] = row
        uses = self._view(row.subject.context).uses
        for version in row.versions:
            uses.setdefault(version.id, {})[row.subject, version.number] = None

    def _remove_subject(self, row: SubjectRow) -> None:
        del self.subjects[row.subject]
        uses = self._view(row.subject.context).uses
        for version in row.versions:
            _take_out(uses, version.id, (row.subject, version.number))

    def compare_revision(self, context: str) -> int:
        """That of a context's row, which every change of the context is planned against."""
        return self.revision_of(context_key(context))


def _take_out(index: dict[K, dict[V, None]], key: K, value: V) -> None:
    values = index[key]
    values.pop(value, None)
    if not values:
        del index[key]
