"""Who may do what: Kafka's rules (StandardAuthorizer), decided from the rows of the catalogue.

In this order:
1. A super user may do everything.
2. Rules that concern the resource are those that name it literally, name `*`, or name a prefix of it; of these the ones
   of the principal or of `User:*`, from this host or any. If one of them denies the operation, it is denied, whatever
   its pattern.
3. Else, if one allows it, it is allowed. READ, WRITE, DELETE and ALTER allow DESCRIBE too, ALTER_CONFIGS allows
   DESCRIBE_CONFIGS; nothing of the kind holds for rules that deny.
4. Else, if no rule at all concerns the resource, of whomever and whatever operation, `allow.everyone.if.no.acl.found`
   decides.
5. Else it is denied.

Prefixes are found by their lengths: a name is looked up once for each length that some rule has.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import define, field, frozen

from coordinators.access.acls import (
    ANY_HOST,
    ANY_NAME,
    ANY_USER,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceKind,
    allowing,
    denying,
    told,
)
from coordinators.access.callers import Caller
from coordinators.cluster.news import News
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.records import ACLS, AclRecord

_ALLOWING = {each: allowing(each) for each in Operation}
_DENYING = {each: denying(each) for each in Operation}


@frozen
class Decision:
    """Whether something may be done, and what decided it."""

    allowed: bool
    reason: str
    rule: AclRecord | None = None

    def __str__(self) -> str:
        return self.reason if self.rule is None else f"{self.reason}: {told(self.rule)}"


@define(eq=False)
class Rules:
    """The rules, found by what they are about. They follow the rows of the catalogue (`RowFollower`)."""

    on_change: list[Callable[[], object]] = field(factory=list, init=False)
    """Told when what holds has changed."""
    _by_key: dict[str, AclRecord] = field(factory=dict, init=False)
    _literal: dict[tuple[int, str], dict[str, AclRecord]] = field(factory=dict, init=False)
    _prefixed: dict[tuple[int, str], dict[str, AclRecord]] = field(factory=dict, init=False)
    _lengths: Counter[tuple[int, int]] = field(factory=Counter, init=False)
    """How many rules there are for prefixes of each length, by the kind of their resource."""

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[AclRecord]:
        return iter(self._by_key.values())

    @classmethod
    def load(cls, catalogue: Catalogue) -> "Rules":
        """[thread] As they are now; later ones come with the news, some of them twice."""
        rules = cls()
        _, entries = catalogue.entries(ACLS)
        for entry in entries:
            rules._put(entry.key, entry.value)
        return rules

    def row_keys(self) -> Iterator[str]:
        """Of the rows that are known."""
        return iter(list(self._by_key))

    def take(self, news: News) -> None:
        """What a revision of the catalogue changed."""
        mine = {key: value for key, (value, _) in news.others.items() if key.startswith(ACLS)}
        if mine:
            self.put(mine)

    def put(self, rows: Mapping[str, bytes | None]) -> None:
        """Rules as their rows have them now; None if one is gone."""
        for key, value in rows.items():
            self._put(key, value)
        for tell in self.on_change:
            tell()

    def _put(self, key: str, value: bytes | None) -> None:
        known = self._by_key.pop(key, None)
        if known is not None:
            self._remove(key, known)
        if value is not None:
            self._by_key[key] = acl = AclRecord.decode(value)
            self._add(key, acl)

    def _add(self, key: str, acl: AclRecord) -> None:
        place = acl.resource_type, acl.name
        if acl.pattern == PatternType.PREFIXED:
            self._prefixed.setdefault(place, {})[key] = acl
            self._lengths[acl.resource_type, len(acl.name)] += 1
        else:
            self._literal.setdefault(place, {})[key] = acl

    def _remove(self, key: str, acl: AclRecord) -> None:
        place, is_prefixed = (acl.resource_type, acl.name), acl.pattern == PatternType.PREFIXED
        index = self._prefixed if is_prefixed else self._literal
        del index[place][key]
        if not index[place]:
            del index[place]
        if is_prefixed:
            length = acl.resource_type, len(acl.name)
            self._lengths[length] -= 1
            if not self._lengths[length]:
                del self._lengths[length]

    def concerning(self, resource: ResourceKind, name: str) -> Iterator[AclRecord]:
        """Those that name the resource, in whatever way."""
        for literal in {name, ANY_NAME}:
            yield from self._literal.get((resource, literal), {}).values()
        for kind, length in self._lengths:
            if kind == resource and length <= len(name):
                yield from self._prefixed.get((resource, name[:length]), {}).values()

    def of_type(self, resource: ResourceKind) -> list[AclRecord]:
        """Those about any resource of this kind."""
        return [acl for acl in self if acl.resource_type == resource]

    def matching(self, wanted: AclFilter) -> list[AclRecord]:
        """Those that a filter means."""
        return wanted.among(self)


@define(eq=False)
class Authorizer:
    """See the module."""

    rules: Rules
    super_users: frozenset[str] = frozenset()
    """As the configuration writes them: `User:alice`. None of them is a pattern."""
    allows_without_rules: bool = False

    def decide(self, caller: Caller, operation: Operation, resource: ResourceKind, name: str) -> Decision:
        """Whether the caller may do that to the resource of this name, whether or not it exists."""
        principal = str(caller.principal)
        if principal in self.super_users:
            return Decision(True, "a super user")
        found = list(self.rules.concerning(resource, name))
        mine = [acl for acl in found if _is_of(acl, principal, caller.host)]
        rule = _first(mine, Permission.DENY, _DENYING[operation])
        if rule is not None:
            return Decision(False, "denied by a rule", rule)
        rule = _first(mine, Permission.ALLOW, _ALLOWING[operation])
        if rule is not None:
            return Decision(True, "allowed by a rule", rule)
        if not found and self.allows_without_rules:
            return Decision(True, "no rule is about it (allow.everyone.if.no.acl.found)")
        return Decision(False, "no rule allows it")

    def decide_for_any(self, caller: Caller, operation: Operation, resource: ResourceKind) -> Decision:
        """Whether there may be a resource of this kind to which the caller may do that: some rule allows it that no
        other denies whole."""
        principal = str(caller.principal)
        if principal in self.super_users:
            return Decision(True, "a super user")
        mine = [acl for acl in self.rules.of_type(resource) if _is_of(acl, principal, caller.host)]
        denials = [acl for acl in mine if acl.permission == Permission.DENY and acl.operation in _DENYING[operation]]
        everywhere = next((acl for acl in denials if _is_everywhere(acl)), None)
        if everywhere is not None:
            return Decision(False, "denied by a rule", everywhere)
        for acl in mine:
            allows = acl.permission == Permission.ALLOW and acl.operation in _ALLOWING[operation]
            if allows and not any(_covers(denial, acl) for denial in denials):
                return Decision(True, "allowed by a rule", acl)
        if self.allows_without_rules:
            return Decision(True, "some are without rules (allow.everyone.if.no.acl.found)")
        return Decision(False, "no rule allows it")


def _is_of(acl: AclRecord, principal: str, host: str) -> bool:
    return acl.principal in (principal, ANY_USER) and acl.host in (host, ANY_HOST)


def _first(acls: Iterable[AclRecord], permission: Permission, operations: frozenset[Operation]) -> AclRecord | None:
    return next((acl for acl in acls if acl.permission == permission and acl.operation in operations), None)


def _is_everywhere(acl: AclRecord) -> bool:
    return acl.pattern == PatternType.LITERAL and acl.name == ANY_NAME


def _covers(denial: AclRecord, acl: AclRecord) -> bool:
    """Whether a rule that denies takes away all that the other allows."""
    if denial.pattern == PatternType.PREFIXED:
        return not _is_everywhere(acl) and acl.name.startswith(denial.name)
    return denial.pattern == acl.pattern and denial.name == acl.name
