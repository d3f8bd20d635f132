"""What a rule says, in Kafka's words: resources and how they are named, operations, permissions; and filters of rules.

The numbers are those that the protocol carries. A rule is a row of the catalogue (`AclRecord`).
"""

from collections.abc import Iterable
from enum import IntEnum

from attrs import frozen

from engine.catalogue.records import AclRecord
from engine.errors import InvalidRequest

CLUSTER_NAME = "kafka-cluster"
"""The one name that the cluster has as a resource."""
ANY_NAME = "*"
ANY_HOST = "*"
ANY_USER = "User:*"
NAME_LENGTH_MAX = 32_767


class Operation(IntEnum):
    """What can be done to a resource."""

    # An enumeration hashes its name, in Python; decisions are looked up by it for every request.
    __hash__ = int.__hash__

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class ResourceKind(IntEnum):
    """What rights are about."""

    __hash__ = int.__hash__

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7
    SUBJECT = 100
    """Of the schema registry. Kafka has no such kind: the number is ours, far from those that it may come to."""


class PatternType(IntEnum):
    """How a rule, or a filter, names resources."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """What a rule says."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


OPERATIONS = {
    ResourceKind.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceKind.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceKind.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    ResourceKind.TRANSACTIONAL_ID: (Operation.DESCRIBE, Operation.WRITE, Operation.TWO_PHASE_COMMIT),
    ResourceKind.SUBJECT: (
        Operation.READ,
        Operation.WRITE,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
}
"""What makes sense for each kind of resource, as clients are told it (KIP-430)."""

_IMPLYING = {
    Operation.DESCRIBE: (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER),
    Operation.DESCRIBE_CONFIGS: (Operation.ALTER_CONFIGS,),
}


def allowing(operation: Operation) -> frozenset[Operation]:
    """Which operations a rule may name that allows this one."""
    return frozenset((operation, Operation.ALL, *_IMPLYING.get(operation, ())))


def denying(operation: Operation) -> frozenset[Operation]:
    """Which operations a rule may name that denies this one: nothing is implied."""
    return frozenset((operation, Operation.ALL))


def told(acl: AclRecord) -> str:
    """A rule as people read it."""
    resource = _named(ResourceKind, acl.resource_type)
    return (
        f"{_named(Permission, acl.permission)} {acl.principal} from {acl.host} {_named(Operation, acl.operation)} "
        f"on {_named(PatternType, acl.pattern)} {resource} {acl.name!r}"
    )


def _named(kind: type[IntEnum], code: int) -> str:
    try:
        return kind(code).name
    except ValueError:
        return str(code)


def check_acl(acl: AclRecord) -> None:
    """`InvalidRequest` unless it is a rule that can be made."""
    _check_codes(acl)
    if not acl.name:
        raise InvalidRequest("a rule needs the name of a resource; * is every one")
    if len(acl.name) > NAME_LENGTH_MAX:
        raise InvalidRequest(f"the name of a resource has {len(acl.name)} characters, at most {NAME_LENGTH_MAX}")
    if acl.resource_type == ResourceKind.CLUSTER and acl.name != CLUSTER_NAME and not _is_tenants(acl):
        raise InvalidRequest(f"the cluster is called {CLUSTER_NAME!r}, not {acl.name!r}")
    kind, separator, name = acl.principal.partition(":")
    if not separator or not kind or not name:
        raise InvalidRequest(f"the principal {acl.principal!r} has not the form type:name, such as User:alice")
    if not acl.host:
        raise InvalidRequest("a rule needs a host; * is every one")


def _is_tenants(acl: AclRecord) -> bool:
    """Whether it is what the cluster is to a tenant: `acme.kafka-cluster`."""
    tenant, dot, rest = acl.name.partition(".")
    return bool(tenant and dot) and rest == CLUSTER_NAME and acl.pattern == PatternType.LITERAL


def _check_codes(acl: AclRecord) -> None:
    if acl.resource_type not in OPERATIONS and acl.resource_type not in (
        ResourceKind.DELEGATION_TOKEN,
        ResourceKind.USER,
    ):
        raise InvalidRequest(f"no rule is about resources of type {acl.resource_type}")
    if acl.pattern not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise InvalidRequest(f"a rule names resources literally (3) or by a prefix (4), not by pattern {acl.pattern}")
    if acl.operation not in {each.value for each in Operation} - {Operation.UNKNOWN, Operation.ANY}:
        raise InvalidRequest(f"no rule is about operation {acl.operation}")
    if acl.permission not in (Permission.DENY, Permission.ALLOW):
        raise InvalidRequest(f"a rule denies (2) or allows (3), permission {acl.permission} is neither")


@frozen
class AclFilter:
    """Which rules are meant. None, and the codes called ANY, are every one."""

    resource_type: int = ResourceKind.ANY
    name: str | None = None
    pattern: int = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = Operation.ANY
    permission: int = Permission.ANY

    def check(self) -> None:
        """`InvalidRequest` unless it can be told which rules it means."""
        codes = (
            ("resource type", ResourceKind, self.resource_type),
            ("pattern type", PatternType, self.pattern),
            ("operation", Operation, self.operation),
            ("permission", Permission, self.permission),
        )
        for word, kind, code in codes:
            if code == 0 or code not in {each.value for each in kind}:
                raise InvalidRequest(f"a filter of rules with the {word} {code}, which is unknown")

    def matches(self, acl: AclRecord) -> bool:
        """Whether the rule is meant."""
        return (
            self.resource_type in (ResourceKind.ANY, acl.resource_type)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
            and self._names(acl)
        )

    def _names(self, acl: AclRecord) -> bool:
        if self.pattern in (PatternType.LITERAL, PatternType.PREFIXED):
            return acl.pattern == self.pattern and self.name in (None, acl.name)
        if self.name is None or (acl.name == self.name and self.pattern == PatternType.ANY):
            return True
        if self.pattern == PatternType.ANY:
            return False
        return concerns(acl, self.name)

    def among(self, acls: Iterable[AclRecord]) -> list[AclRecord]:
        """Those of them that are meant."""
        return [acl for acl in acls if self.matches(acl)]


def concerns(acl: AclRecord, name: str) -> bool:
    """Whether a rule is about the resource of this name, as far as the name tells."""
    if acl.pattern == PatternType.PREFIXED:
        return name.startswith(acl.name)
    return acl.name in (name, ANY_NAME)
