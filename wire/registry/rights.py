"""What rights a route asks its callers for: to the subject that it names, or to the cluster.

A schema by its id may be read by whoever may read one of the subjects that have it; lists leave out what the caller may
not see.
"""

from typing import TYPE_CHECKING

from attrs import frozen

from coordinators.access.access import AccessControl, Right
from coordinators.access.callers import Caller
from coordinators.access.rights import DESCRIBE_SUBJECT, READ_SUBJECT
from coordinators.schemas.errors import SchemaNotFound
from coordinators.schemas.names import Subject, split
from coordinators.schemas.registry import Registry
from coordinators.schemas.rows import SchemaRow
from wire.http.rights import RouteRights

if TYPE_CHECKING:
    from wire.http.messages import Call


@frozen
class SubjectRights(RouteRights):
    """A right to the subject of the path, and to read those that a schema in the body refers to: whoever refers to a
    schema sees what it says, and keeps it from being deleted."""

    right: Right = READ_SUBJECT
    of_scope: bool = False
    """Whether it is about what is set for the name itself; else an alias is what it stands for."""

    def require(self, call: "Call", access: AccessControl, asked: str) -> None:
        """Raise the refusal unless the caller has it."""
        from wire.registry.calls import RegistryCall

        assert isinstance(call, RegistryCall)
        access.require(call.caller, self.right, str(call.scope if self.of_scope else call.subject), asked)
        for reference in getattr(call.body, "references", None) or ():
            # What refers without naming a context means that of the subject, which need not be the path's.
            subject = split(reference.subject, call.subject.context)
            access.require(call.caller, READ_SUBJECT, str(subject), asked)


@frozen
class WholeRights(RouteRights):
    """Of what holds for all subjects: a right to the cluster; of a tenant's caller, to its context."""

    right: Right = READ_SUBJECT
    within: Right = READ_SUBJECT

    def require(self, call: "Call", access: AccessControl, asked: str) -> None:
        """Raise the refusal unless the caller has it."""
        from wire.registry.calls import RegistryCall

        assert isinstance(call, RegistryCall)
        if call.is_bound:
            access.require(call.caller, self.within, str(Subject(call.home, "")), asked)
        else:
            access.require(call.caller, self.right, asked=asked)


def to_whole(right: Right, within: Right) -> WholeRights:
    """A right to what holds for all subjects, and the one to the context where that is all that there is."""
    return WholeRights(right=right, within=within)


def to_subject(right: Right) -> SubjectRights:
    """A right to the subject that the path names."""
    return SubjectRights(right=right)


def to_scope(right: Right) -> SubjectRights:
    """A right to what is set for the subject or context that the path names."""
    return SubjectRights(right=right, of_scope=True)


FILTERED = RouteRights(told="none: what the caller may not see is left out")
"""The handler leaves out what the caller may not see."""


def may_see(access: AccessControl, caller: Caller, subject: Subject) -> bool:
    """Whether a list names the subject."""
    return access.permits(caller, DESCRIBE_SUBJECT, str(subject))


def require_schema(access: AccessControl, caller: Caller, registry: Registry, row: SchemaRow, asked: str) -> None:
    """Raise unless the caller may read one of the subjects that have the schema. What it may not read is to it as what
    there is not: by trying ids nobody learns which there are."""
    if not access.is_enforced:
        return
    uses = [str(subject) for subject, _ in registry.uses(row, deleted=True)]
    if any(access.permits(caller, READ_SUBJECT, name) for name in uses):
        return
    access.allows(caller, READ_SUBJECT, uses[0] if uses else "*", asked)  # for the audit
    raise SchemaNotFound(f"Schema {row.id} not found")
