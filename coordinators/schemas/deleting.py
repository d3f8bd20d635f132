"""Deleting versions and subjects: softly, which hides them, then for good.

What was deleted softly is still served by its id, so that records which were written with it can be read.
"""

from collections.abc import Iterable

from attrs import define, evolve

from coordinators.schemas.changes import Changes, repeated
from coordinators.schemas.errors import (
    ReferenceExists,
    SubjectNotFound,
    SubjectNotSoftDeleted,
    SubjectSoftDeleted,
    VersionNotFound,
    VersionNotSoftDeleted,
    VersionSoftDeleted,
)
from coordinators.schemas.modes import check_writable
from coordinators.schemas.names import Subject
from coordinators.schemas.references import referrers
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import SchemaRow, SubjectRow, Version
from engine.catalogue.catalogue import Commit, Delete, Put


@define(eq=False)
class SchemaDeleting:
    """See the module."""

    registry: Registry
    changes: Changes

    async def subject(self, subject: Subject, *, permanent: bool = False) -> list[int]:
        """All versions of a subject; those that were deleted by it."""
        return await repeated(lambda: self.changes.make(lambda: self._subject(subject, permanent=permanent)))

    async def version(self, subject: Subject, number: int | None, *, permanent: bool = False) -> int:
        """One version; None is the newest."""
        return await repeated(lambda: self.changes.make(lambda: self._version(subject, number, permanent=permanent)))

    # -- planning

    def _subject(self, subject: Subject, *, permanent: bool) -> tuple[list[int], Commit]:
        row = self._known(subject)
        live = row.live()
        if permanent and live:
            raise SubjectNotSoftDeleted(f"Subject '{subject}' was not deleted first before being permanently deleted")
        if not permanent and not live:
            raise SubjectSoftDeleted(f"Subject '{subject}' was soft deleted. Set permanent=true to delete permanently")
        going = row.versions if permanent else live
        self._check_references(row, going, permanent=permanent)
        return [each.number for each in going], self._without(row, going, permanent=permanent)

    def _version(self, subject: Subject, number: int | None, *, permanent: bool) -> tuple[int, Commit]:
        row = self._known(subject)
        version = row.latest if number is None else row.find(number, deleted=True)
        if version is None:
            raise SubjectNotFound(str(subject)) if number is None else VersionNotFound(number)
        if permanent and not version.deleted:
            raise VersionNotSoftDeleted(
                f"Subject '{subject}' Version {version.number} was not deleted first before being permanently deleted"
            )
        if not permanent and version.deleted:
            raise VersionSoftDeleted(
                f"Subject '{subject}' Version {version.number} was soft deleted. "
                "Set permanent=true to delete permanently"
            )
        self._check_references(row, (version,), permanent=permanent)
        return version.number, self._without(row, (version,), permanent=permanent)

    def _known(self, subject: Subject) -> SubjectRow:
        check_writable(self.registry, subject)
        row = self.registry.subject(subject)
        if row is None:
            raise SubjectNotFound(str(subject))
        return row

    def _check_references(self, row: SubjectRow, going: Iterable[Version], *, permanent: bool) -> None:
        """`ReferenceExists` if anybody else refers to one of them: of what is gone for good, deleted ones too."""
        going = tuple(going)
        mine = {(row.subject, each.number) for each in going}
        for version in going:
            for schema in referrers(self.registry, row.subject, version.number, deleted=permanent):
                if not mine.issuperset(self.registry.uses(schema, deleted=permanent)):
                    raise ReferenceExists(
                        f"One or more references exist to the schema {{magic=1,keytype=SCHEMA,subject={row.subject},"
                        f"version={version.number}}}: that of id {schema.id} refers to it"
                    )

    def _without(self, row: SubjectRow, going: Iterable[Version], *, permanent: bool) -> Commit:
        numbers = {each.number for each in going}
        if permanent:
            kept = tuple(each for each in row.versions if each.number not in numbers)
        else:
            kept = tuple(evolve(each, deleted=each.deleted or each.number in numbers) for each in row.versions)
        after = SubjectRow(row.subject, kept)
        changes: list[Put | Delete] = [Put(after.key, after.encode()) if kept else Delete(after.key)]
        if not after.live() and row.subject in self.registry.settings:
            changes.append(Delete(self.registry.settings[row.subject].key))
        unused = self._unused(row, kept) if permanent else ()
        # Schemas go last: a change that is too large to be made at once may leave one that nobody uses, never a
        # version without its schema.
        changes += [Delete(schema.key) for schema in unused]
        return self.changes.commit((row.subject.context,), changes)

    def _unused(self, row: SubjectRow, kept: tuple[Version, ...]) -> list[SchemaRow]:
        """The schemas that no version has any more."""
        here, registry = {each.id for each in kept}, self.registry
        gone = dict.fromkeys(each.id for each in row.versions if each.id not in here)
        found = []
        for schema_id in gone:
            schema = registry.by_id(schema_id, row.subject.context)
            if schema is not None and all(use[0] == row.subject for use in registry.uses(schema, deleted=True)):
                found.append(schema)
        return found
