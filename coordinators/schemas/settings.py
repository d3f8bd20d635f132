"""Levels and modes as they are set: for a subject, for a context, or for the whole registry."""

from typing import Any

from attrs import define, evolve

from coordinators.schemas.changes import Changes, repeated
from coordinators.schemas.compatibility import parse_level
from coordinators.schemas.errors import (
    InvalidCompatibility,
    InvalidMode,
    InvalidSubject,
    OperationNotPermitted,
    SubjectNotFound,
)
from coordinators.schemas.modes import Mode, parse_mode
from coordinators.schemas.names import GLOBAL, Subject, checked
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import SettingsRow
from engine.catalogue.catalogue import Commit

Config = dict[str, Any]
POLICIES = ("STRICT", "LENIENT")


def checked_config(scope: Subject, given: Config) -> Config:
    """The members in the form in which they are kept; raises what is wrong with them."""
    checked_ones = dict(given)
    if given.get("compatibility") is not None:
        checked_ones["compatibility"] = parse_level(given["compatibility"]).value
    policy = given.get("compatibilityPolicy")
    if policy is not None:
        if policy.upper() not in POLICIES:
            raise InvalidCompatibility(
                f"Invalid compatibility policy {policy!r}. Valid values are {', '.join(POLICIES)}"
            )
        checked_ones["compatibilityPolicy"] = policy.upper()
    if "alias" in given:
        checked_ones["alias"] = _checked_alias(scope, given["alias"])
    return checked_ones


def _checked_alias(scope: Subject, alias: str | None) -> str | None:
    """The subject that the scope shall stand for; nothing for none."""
    if not alias:
        return None
    meant = checked(alias, scope.context)
    if not scope.name or meant == scope:
        raise InvalidSubject(f"The alias '{alias}' has to be that of a subject, and to name another one")
    return str(meant)


@define(eq=False)
class RegistrySettings:
    """Each change returns when it is in force on this node."""

    registry: Registry
    changes: Changes

    async def put_config(self, scope: Subject, given: Config) -> None:
        """Set the members that are given; others stay, and what is given as None is not set any more."""
        given = checked_config(scope, given)

        def plan() -> tuple[None, Commit]:
            before = self.changes.settings_of(scope)
            merged = {**(before.config or {}), **given}
            after = {name: value for name, value in merged.items() if value is not None}
            return None, self.changes.settings(before, evolve(before, config=after or None))

        await repeated(lambda: self.changes.make(plan))

    async def delete_config(self, scope: Subject) -> Config:
        """What was set for the scope, which from now on goes by what is set further up."""

        def plan() -> tuple[Config, Commit]:
            before = self.changes.settings_of(scope)
            if before.config is None and scope != GLOBAL:
                raise SubjectNotFound(str(scope))
            return dict(before.config or {}), self.changes.settings(before, evolve(before, config=None))

        return await repeated(lambda: self.changes.make(plan))

    async def put_mode(self, scope: Subject, name: object, *, force: bool = False) -> Mode:
        """Set the mode; IMPORT only where there are no schemas, unless it is forced."""
        mode = parse_mode(name)
        if mode is Mode.READONLY_OVERRIDE and scope != GLOBAL:
            raise InvalidMode("READONLY_OVERRIDE is for the whole registry")

        def plan() -> tuple[Mode, Commit]:
            before = self.changes.settings_of(scope)
            if mode is Mode.IMPORT and before.mode != mode.value and not force and self._has_schemas(scope):
                raise OperationNotPermitted("Cannot import since found existing subjects; force=true does it anyway")
            return mode, self.changes.settings(before, evolve(before, mode=mode.value))

        return await repeated(lambda: self.changes.make(plan))

    async def delete_mode(self, scope: Subject) -> Mode:
        """What it was; from now on the scope goes by what is set further up."""

        def plan() -> tuple[Mode, Commit]:
            before = self.changes.settings_of(scope)
            if before.mode is None:
                raise SubjectNotFound(str(scope))
            return Mode(before.mode), self.changes.settings(before, evolve(before, mode=None))

        return await repeated(lambda: self.changes.make(plan))

    def _has_schemas(self, scope: Subject) -> bool:
        rows = self.registry.subjects
        if scope == GLOBAL:
            return any(row.live() for row in rows.values())
        if scope.name:
            return scope in rows and bool(rows[scope].live())
        return any(row.live() for subject, row in rows.items() if subject.context == scope.context)

    def own(self, scope: Subject) -> SettingsRow:
        """What is set for the scope itself."""
        return self.changes.settings_of(scope)
