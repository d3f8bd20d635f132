"""Rules of a tenant, in its own words: made, found and removed within its namespace, by whoever administers it.

What a tenant says is turned into a rule of the broker's, and those that are the tenant's back into its words; filters
are held against the latter. So nothing else can be named, matched or removed, by whichever pattern.

| the tenant says | the rule says |
|---|---|
| literal `orders` | literal `acme.orders` |
| what begins with `or` | what begins with `acme.or` |
| literal `*`: every one | what begins with `acme.` |
| the subject `orders-value` | the subject `:.acme:orders-value` |
| the cluster, `kafka-cluster` | `acme.kafka-cluster`: who may DESCRIBE and ALTER the tenant's rules |

Without rewriting, names are said with the prefix (subjects never are). Principals are those that the tenant's row
lists, one by one: `User:*` would be everybody's. Rules for others, and those that reach beyond the namespace, are not
shown.
"""

from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve, frozen

from coordinators.access.access import AccessControl
from coordinators.access.acls import (
    ANY_NAME,
    CLUSTER_NAME,
    AclFilter,
    Operation,
    PatternType,
    ResourceKind,
    check_acl,
)
from coordinators.access.administration import AclAdministration
from coordinators.access.callers import Principal
from coordinators.schemas.names import Subject, tenant_context
from coordinators.tenants.rows import TenantRecord
from coordinators.tenants.tenants import Tenants
from engine.catalogue.records import AclRecord
from engine.errors import BrokerError, InvalidRequest, PolicyViolation, kept

NAMED = (ResourceKind.TOPIC, ResourceKind.GROUP, ResourceKind.TRANSACTIONAL_ID)
OVER_RULES = (Operation.ALL, Operation.DESCRIBE, Operation.ALTER)
"""What can be done to a tenant as a whole."""
MOST_RULES = 1_000
"""Of one tenant: everybody's decisions look among all rules."""


def tenant_cluster(tenant: str) -> str:
    """What the cluster is to a tenant, as a resource."""
    return f"{tenant}.{CLUSTER_NAME}"


@frozen
class TenantRules:
    """The words of a tenant's callers, with or without the prefix."""

    row: TenantRecord
    rewrite: bool

    # -- from its words

    def meant(self, said: AclRecord) -> AclRecord:
        """The broker's rule; `InvalidRequest` for what a tenant cannot say."""
        check_acl(said)
        if not self._is_own(said.principal):
            raise InvalidRequest(f"{said.principal} is not one of the tenant's principals, as its row lists them")
        if said.resource_type == ResourceKind.CLUSTER:
            if said.operation not in OVER_RULES:
                raise InvalidRequest("of the cluster a tenant gives DESCRIBE and ALTER, which are about its rules")
            return evolve(said, name=tenant_cluster(self.row.name))
        start = self._start(said.resource_type)
        if said.name == ANY_NAME and said.pattern == PatternType.LITERAL:
            return evolve(said, name=start, pattern=PatternType.PREFIXED.value)
        if self._says_prefix(said.resource_type):
            is_no_name = said.name == start and said.pattern == PatternType.LITERAL
            if is_no_name or not said.name.startswith(start):
                raise InvalidRequest(f"{said.name!r} is not within the tenant's namespace")
            return said
        if said.resource_type == ResourceKind.SUBJECT and said.name.startswith(":"):
            raise InvalidRequest(f"{said.name!r} names a context: there is only one here")
        return evolve(said, name=start + said.name)

    def _is_own(self, principal: str) -> bool:
        kind, _, name = principal.partition(":")
        return name != "*" and self.row.includes(Principal(name, kind))

    def _start(self, kind: int) -> str:
        """What all names of the tenant's begin with."""
        if kind in NAMED:
            return self.row.prefix
        if kind == ResourceKind.SUBJECT:
            return str(Subject(tenant_context(self.row.name), ""))
        raise InvalidRequest(f"no rule of a tenant is about resources of type {kind}")

    def _says_prefix(self, kind: int) -> bool:
        return kind in NAMED and not self.rewrite

    # -- into its words

    def told(self, rule: AclRecord) -> AclRecord | None:
        """The rule as the tenant says it; None if it is not the tenant's, or reaches further."""
        if not self._is_own(rule.principal):
            return None
        if rule.resource_type == ResourceKind.CLUSTER:
            return evolve(rule, name=CLUSTER_NAME) if rule.name == tenant_cluster(self.row.name) else None
        if rule.resource_type not in (*NAMED, ResourceKind.SUBJECT):
            return None
        start = self._start(rule.resource_type)
        if not rule.name.startswith(start):
            return None
        if rule.name == start:
            is_everything = rule.pattern == PatternType.PREFIXED
            return evolve(rule, name=ANY_NAME, pattern=PatternType.LITERAL.value) if is_everything else None
        if self._says_prefix(rule.resource_type):
            return rule
        name = rule.name.removeprefix(start)
        is_taken = name == ANY_NAME and rule.pattern == PatternType.LITERAL
        return None if is_taken else evolve(rule, name=name)


@frozen(eq=False)
class TenantAcls:
    """`AclAdministration` for one tenant's callers. Who may do it is asked by the door, of `tenant_cluster`."""

    acls: AclAdministration
    tenants: Tenants
    tenant: str
    rewrite: bool

    @property
    def access(self) -> AccessControl:
        """Who may do what."""
        return self.acls.access

    @property
    def _words(self) -> TenantRules:
        # Each time: whom the tenant lists may have changed.
        return TenantRules(self.tenants.named(self.tenant), self.rewrite)

    def _own(self) -> Iterator[tuple[AclRecord, AclRecord]]:
        """The tenant's rules, each as it says it and as it is."""
        words = self._words
        for rule in self.acls.find(AclFilter()):
            said = words.told(rule)
            if said is not None:
                yield said, rule

    def find(self, wanted: AclFilter) -> list[AclRecord]:
        """The rules that a filter means, in the tenant's words."""
        own = [said for said, _ in self._own()]
        wanted.check()
        return wanted.among(own)

    async def create(self, acls: Sequence[AclRecord]) -> list[BrokerError | None]:
        """Make rules; per rule, why it was not."""
        own = {rule for _, rule in self._own()}
        meant = [self._meant(each) for each in acls]
        legal = [each for each in meant if isinstance(each, AclRecord)]
        if len(own.union(legal)) > MOST_RULES:
            refusal = PolicyViolation(f"tenant {self.tenant} has {len(own)} rules: {MOST_RULES} are the most")
            return [refusal for _ in acls]
        results = iter(await self.acls.create(legal))
        return [next(results) if isinstance(each, AclRecord) else each for each in meant]

    def _meant(self, said: AclRecord) -> AclRecord | BrokerError:
        try:
            return self._words.meant(said)
        except BrokerError as error:
            return kept(error)

    async def delete(self, filters: Sequence[AclFilter]) -> list[list[AclRecord] | BrokerError]:
        """Remove what filters mean of the tenant's rules; per filter what it meant, or why nothing was removed."""
        own = dict(self._own())
        found = [self._among(own, each) for each in filters]
        going = {own[said]: None for each in found if not isinstance(each, BrokerError) for said in each}
        outcomes = await self.acls.delete([exactly(rule) for rule in going]) if going else []
        error = next((each for each in outcomes if isinstance(each, BrokerError)), None)
        return [each if error is None or isinstance(each, BrokerError) else error for each in found]

    @staticmethod
    def _among(own: Iterable[AclRecord], wanted: AclFilter) -> list[AclRecord] | BrokerError:
        try:
            wanted.check()
        except BrokerError as error:
            return kept(error)
        return wanted.among(own)


def exactly(rule: AclRecord) -> AclFilter:
    """What means this rule and no other."""
    return AclFilter(
        rule.resource_type, rule.name, rule.pattern, rule.principal, rule.host, rule.operation, rule.permission
    )
