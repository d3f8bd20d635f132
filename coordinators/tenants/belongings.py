"""What there is of a tenant's besides its row: topics, rules, users, quotas, schemas, settings of groups.

Names are the tenant's by their prefix, schemas by their context. Users are the tenant's if its row lists them and no
other tenant's does; with them go their quotas and the rules for them, wherever those reach. Super users are nobody's.
What is committed in groups goes with the topics that it is about.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import frozen

from coordinators.access.acls import ResourceKind
from coordinators.access.callers import Principal
from coordinators.access.quotas.entities import USER, Entity
from coordinators.schemas.errors import ReferenceExists
from coordinators.schemas.names import split, tenant_context
from coordinators.schemas.rows import CONTEXTS, IDS, SCHEMAS, SETTINGS, SUBJECTS, SchemaRow
from coordinators.tenants.rows import TenantRecord
from coordinators.tenants.rules import NAMED, tenant_cluster
from engine.catalogue.catalogue import Commit, Compare, Delete, Entry
from engine.catalogue.records import ACLS, GROUP_CONFIGS, QUOTAS, AclRecord
from engine.catalogue.user_records import USERS

Entries = Callable[[str], Sequence[Entry]]
"""The rows of the catalogue whose keys begin so."""


@frozen
class Belongings:
    """See the module. Rows are told by their keys."""

    topics: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    quotas: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    """Those that are configured."""
    subjects: tuple[str, ...] = ()
    schema_rows: tuple[Entry, ...] = ()
    """All of the context."""

    def without_them(self) -> Commit:
        """The change that takes away all but the topics. Who has registered a schema meanwhile makes it fail."""
        context = next((each for each in self.schema_rows if each.key.startswith(CONTEXTS)), None)
        compares = () if context is None else (Compare(context.key, context.revision),)
        # A version never stays without its schema, should the change be made in parts.
        schemas = sorted((each.key for each in self.schema_rows), key=lambda key: (key.startswith(IDS), key))
        keys = (*self.rules, *self.quotas, *(USERS + name for name in self.users), *self.groups, *schemas)
        return Commit(compares, tuple(map(Delete, keys)))


@frozen(eq=False)
class BelongingsReader:
    """[thread] Looks through the catalogue; `is_sole` tells who is listed by no other tenant and is no super user."""

    entries: Entries
    is_sole: Callable[[Principal], bool]

    def read(self, row: TenantRecord, topics: Iterable[str]) -> Belongings:
        """What is the tenant's, of these topics and of all else."""
        schema_rows = tuple(self._schema_rows(tenant_context(row.name)))
        return Belongings(
            topics=tuple(sorted(each for each in topics if each.startswith(row.prefix))),
            users=tuple(each for each in _names(self.entries(USERS), USERS) if self._is_own(row, each)),
            rules=tuple(
                each.key for each in self.entries(ACLS) if self._is_its_rule(row, AclRecord.decode(each.value))
            ),
            quotas=tuple(each.key for each in self.entries(QUOTAS) if self._is_its_quota(row, each.key)),
            groups=tuple(each.key for each in self.entries(GROUP_CONFIGS + row.prefix)),
            subjects=tuple(_names(schema_rows, SUBJECTS)),
            schema_rows=schema_rows,
        )

    def _is_own(self, row: TenantRecord, user: str, kind: str = "User") -> bool:
        principal = Principal(user, kind)
        return row.includes(principal) and self.is_sole(principal)

    def _is_its_rule(self, row: TenantRecord, rule: AclRecord) -> bool:
        kind, _, name = rule.principal.partition(":")
        return _names_its_own(row, rule) or self._is_own(row, name, kind)

    def _is_its_quota(self, row: TenantRecord, key: str) -> bool:
        user = Entity.from_key(key).names.get(USER)
        return user is not None and self._is_own(row, user)

    def _schema_rows(self, context: str) -> Iterator[Entry]:
        """`ReferenceExists` if a schema of another context refers to one of these."""
        scope = f":{context}:"
        for entry in self.entries(SCHEMAS):
            if entry.key == CONTEXTS + context or entry.key.startswith(
                (f"{IDS}{context}/", SUBJECTS + scope, SETTINGS + scope)
            ):
                yield entry
            elif entry.key.startswith(IDS):
                _check_references(SchemaRow.decode(entry.key, entry.value), context)


def _names(entries: Iterable[Entry], start: str) -> Iterator[str]:
    return (each.key.removeprefix(start) for each in entries if each.key.startswith(start))


def _names_its_own(row: TenantRecord, rule: AclRecord) -> bool:
    if rule.resource_type in NAMED:
        return rule.name.startswith(row.prefix)
    if rule.resource_type == ResourceKind.SUBJECT:
        return rule.name.startswith(f":{tenant_context(row.name)}:")
    return rule.resource_type == ResourceKind.CLUSTER and rule.name == tenant_cluster(row.name)


def _check_references(schema: SchemaRow, context: str) -> None:
    for reference in schema.content.references:
        if split(reference.subject, schema.context).context == context:
            raise ReferenceExists(
                f"the schema {schema.id} of the context {schema.context} refers to {reference.subject}: "
                "delete that one first"
            )
