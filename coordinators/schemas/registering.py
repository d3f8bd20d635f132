"""Registering a schema under a subject, looking one up, and asking whether one would fit.

A text is understood and compared in a thread, before the change is planned; the plan is made only if the subject is
still the same then, else everything begins anew.
"""

from collections.abc import Sequence

from attrs import define, evolve, frozen

from coordinators.schemas.changes import Changes, Overtaken, repeated
from coordinators.schemas.compatibility import DEFAULT_LEVEL, LENIENT, Earlier, Level, incompatibilities, parse_level
from coordinators.schemas.errors import (
    IdDoesNotMatch,
    IncompatibleSchema,
    OperationNotPermitted,
    SchemaNotFound,
    SchemaTooLarge,
    SubjectNotFound,
    UnacceptableSchema,
    VersionNotFound,
)
from coordinators.schemas.inherited import with_inherited
from coordinators.schemas.modes import Mode, check_writable
from coordinators.schemas.names import Subject, split
from coordinators.schemas.parsing import Parsing, SchemaIdentity
from coordinators.schemas.references import pinned
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import Members, SchemaContent, SchemaRow, SubjectRow, Version
from coordinators.waiting import in_worker
from engine.catalogue.catalogue import Commit, Put

MOST_ROW_BYTES = 1_400_000
"""What etcd takes in one request, less some."""
INT32_MAX = 2**31 - 1


@frozen
class Registered:
    """A schema as a version of a subject."""

    subject: Subject
    version: Version
    schema: SchemaRow


@frozen
class WantedSchema:
    """What somebody wants to register."""

    subject: Subject
    content: SchemaContent
    normalize: bool = False
    id: int | None = None
    version: int | None = None
    """Both only where the mode lets them be given."""


@define(eq=False)
class Registering:
    """See the module."""

    registry: Registry
    parsing: Parsing
    changes: Changes

    # -- registering

    async def register(self, wanted: WantedSchema) -> Registered:
        """The schema as a version of the subject, new or as it was; raises why it cannot be one."""
        return await repeated(lambda: self._register(wanted))

    async def _register(self, wanted: WantedSchema) -> Registered:
        subject, registry = wanted.subject, self.registry
        mode = check_writable(registry, subject)
        row = registry.subject(subject)
        # What is imported was made what it is elsewhere.
        inherits = mode is not Mode.IMPORT
        content, identity = await self._understood(
            subject, wanted.content, normalize=wanted.normalize, inherits=inherits
        )
        found = self._found(subject, row, content.type, identity, normalize=self._normalizes(wanted))
        if (
            found is not None
            and wanted.id in (None, found.schema.id)
            and wanted.version in (None, found.version.number)
        ):
            return found
        _check_given(wanted, mode, row)
        if mode is not Mode.IMPORT:
            level = self.level(subject)
            earlier = self._earlier(row, level, content.metadata)
            reasons = await self._reasons(subject, level, content.type, identity, earlier)
            if reasons:
                raise IncompatibleSchema(_told(level, reasons))
        return await self.changes.make(lambda: self._plan(evolve(wanted, content=content), row, identity))

    def _plan(
        self, wanted: WantedSchema, basis: SubjectRow | None, identity: SchemaIdentity
    ) -> tuple[Registered, Commit]:
        subject, registry = wanted.subject, self.registry
        if registry.subject(subject) is not basis:
            raise Overtaken(f"{subject} was changed meanwhile")
        # What is referred to may have been deleted meanwhile.
        pinned(registry, subject.context, wanted.content.references)
        schema = self._schema(wanted, identity)
        is_new = registry.by_id(schema.id, subject.context) is None
        before = basis or SubjectRow(subject, ())
        version = Version(wanted.version or before.next_version, schema.id)
        kept = tuple(each for each in before.versions if each.number != version.number)
        versions = tuple(sorted((*kept, version), key=lambda each: each.number))
        after = SubjectRow(subject, versions)
        changes = [Put(after.key, after.encode()), *([Put(schema.key, _checked_row(schema))] if is_new else [])]
        referred = (split(each.subject, subject.context).context for each in wanted.content.references)
        next_id = max(registry.next_id(subject.context), schema.id + 1)
        commit = self.changes.commit((subject.context, *referred), changes, next_id)
        return Registered(subject, version, schema), commit

    def _schema(self, wanted: WantedSchema, identity: SchemaIdentity) -> SchemaRow:
        """The row of the schema: that which there is, or a new one."""
        context, content, registry = wanted.subject.context, wanted.content, self.registry
        if wanted.id is None:
            normal = identity.normal if self._normalizes(wanted) else None
            same = registry.same(context, content.type, identity.guid, normal)
            if same is not None:
                return same
        schema_id = registry.next_id(context) if wanted.id is None else wanted.id
        if schema_id > INT32_MAX:
            raise OperationNotPermitted("no id is left in this context")
        there = registry.by_id(schema_id, context)
        if there is not None and (there.type, there.guid) != (content.type, identity.guid):
            raise IdDoesNotMatch(f"Overwrite new schema with id {schema_id} is not permitted.")
        return there or SchemaRow(context, schema_id, content, identity.guid, identity.normal)

    def _normalizes(self, wanted: WantedSchema) -> bool:
        return wanted.normalize or self.registry.setting(wanted.subject, "normalize") is True

    # -- looking up

    async def look_up(
        self, subject: Subject, content: SchemaContent, *, normalize: bool = False, deleted: bool = False
    ) -> Registered:
        """The version of the subject that the schema is; raises if it is none."""
        row = self.registry.subject(subject)
        if row is None or not (deleted or row.live()):
            raise SubjectNotFound(str(subject))
        normalizes = self._normalizes(WantedSchema(subject, content, normalize))
        # What was registered before the config gave metadata and rules to all is still found as it was.
        for inherits in (True, False):
            _, identity = await self._understood(subject, content, normalize=normalize, inherits=inherits)
            found = self._found(subject, row, content.type, identity, normalize=normalizes, deleted=deleted)
            if found is not None:
                return found
        raise SchemaNotFound

    def _found(
        self,
        subject: Subject,
        row: SubjectRow | None,
        schema_type: str,
        identity: SchemaIdentity,
        *,
        normalize: bool,
        deleted: bool = False,
    ) -> Registered | None:
        """The newest version that is the same."""
        for version in reversed(() if row is None else row.versions):
            schema = self.registry.schema_of(subject, version)
            is_same = schema.guid == identity.guid or (normalize and schema.normal == identity.normal)
            if is_same and schema.type == schema_type and (deleted or not version.deleted):
                return Registered(subject, version, schema)
        return None

    async def _understood(
        self, subject: Subject, content: SchemaContent, *, normalize: bool, inherits: bool = True
    ) -> tuple[SchemaContent, SchemaIdentity]:
        """The content with references pinned and, where it inherits, what the config adds and asks for; in its
        normalised words if they are wanted."""
        references = pinned(self.registry, subject.context, content.references)
        content = evolve(content, references=references)
        if inherits:
            content = with_inherited(self.registry, subject, content)
        identity = await self.parsing.identity(subject.context, content)
        if normalize or (inherits and self.registry.setting(subject, "normalize") is True):
            content = evolve(content, text=identity.parsed.normalized)
            identity = evolve(identity, guid=identity.normal)
        return content, identity

    # -- compatibility

    def level(self, subject: Subject) -> Level:
        """The level that holds for a subject."""
        named = self.registry.setting(subject, "compatibility")
        return DEFAULT_LEVEL if named is None else parse_level(named)

    async def check(
        self, subject: Subject, content: SchemaContent, number: int | None = None, *, normalize: bool = False
    ) -> list[str]:
        """Why the schema could not be registered; with a number, why it does not fit that version alone."""
        row, level = self.registry.subject(subject), self.level(subject)
        compared = None if number is None else self._version(subject, row, number)
        content, identity = await self._understood(subject, content, normalize=normalize)
        earlier = self._earlier(row, level, content.metadata) if compared is None else [compared]
        return await self._reasons(subject, level, content.type, identity, earlier)

    async def _reasons(
        self, subject: Subject, level: Level, schema_type: str, identity: SchemaIdentity, earlier: Sequence[Earlier]
    ) -> list[str]:
        if level is Level.NONE or not earlier:
            return []
        new = schema_type, identity.parsed
        is_lenient = self.registry.setting(subject, "compatibilityPolicy") == LENIENT
        return await in_worker(self.parsing.workers, incompatibilities, self.parsing, level, new, earlier, is_lenient)

    def _version(self, subject: Subject, row: SubjectRow | None, number: int) -> Earlier:
        if row is None or not row.live():
            raise SubjectNotFound(str(subject))
        found = row.find(number)
        if found is None:
            raise VersionNotFound(number)
        return self._compared(row, found)

    def _earlier(self, row: SubjectRow | None, level: Level, metadata: Members | None) -> list[Earlier]:
        """Versions that a new one is compared with, the newest first; of several groups those of its own."""
        if row is None or level is Level.NONE:
            return []
        live = row.live()[::-1]
        group = self.registry.setting(row.subject, "compatibilityGroup")
        if isinstance(group, str):
            mine = _property(metadata, group)
            contents = ((each, self.registry.schema_of(row.subject, each).content) for each in live)
            live = tuple(each for each, content in contents if _property(content.metadata, group) == mine)
        return [self._compared(row, each) for each in (live if level.is_transitive else live[:1])]

    def _compared(self, row: SubjectRow, version: Version) -> Earlier:
        return Earlier(version.number, self.parsing.source(self.registry.schema_of(row.subject, version)))


def _check_given(wanted: WantedSchema, mode: Mode, row: SubjectRow | None) -> None:
    """Whether the id and the version that were given can be had."""
    if mode is Mode.IMPORT:
        if wanted.id is None:
            raise OperationNotPermitted(f"Subject {wanted.subject} is in import mode: schemas need their ids")
        there = None if row is None or wanted.version is None else row.find(wanted.version, deleted=True)
        if there is not None and there.id != wanted.id:
            raise OperationNotPermitted(f"Version {wanted.version} of {wanted.subject} has the id {there.id}")
        return
    if wanted.id is not None:
        raise OperationNotPermitted(f"Subject {wanted.subject} is not in import mode")
    following = 1 if row is None else row.next_version
    if wanted.version not in (None, following):
        raise UnacceptableSchema(f"Version is not one more than previous version: {following} is the next one")


def _property(metadata: Members | None, name: str) -> object:
    return ((metadata or {}).get("properties") or {}).get(name)


def _checked_row(schema: SchemaRow) -> bytes:
    encoded = schema.encode()
    if len(encoded) > MOST_ROW_BYTES:
        raise SchemaTooLarge(f"The schema takes {len(encoded)} bytes with all that it has, {MOST_ROW_BYTES} at most")
    return encoded


def _told(level: Level, reasons: list[str]) -> str:
    return (
        f"Schema being registered is incompatible with an earlier schema: {'; '.join(reasons[:10])}; "
        f"compatibility: {level.value}"
    )
