"""`/acls`: rules found, made, removed; and why somebody may do something, or may not.

All of it but the last is asked for in the caller's name, as a Kafka client would. Names of operations and resources are
those of Kafka, in small letters with dashes, as the command line writes them.
"""

from enum import IntEnum
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from coordinators.access.access import AccessControl
from coordinators.access.acls import ANY_HOST, Operation, PatternType, Permission, ResourceKind
from coordinators.access.callers import Caller
from coordinators.access.rights import DESCRIBE_CLUSTER
from engine.catalogue.records import AclRecord
from engine.errors import InvalidRequest, ResourceNotFound, SecurityDisabled
from wire.http.config import parse_principal
from wire.http.messages import Call, Page, PageQuery
from wire.http.rights import BY_REQUESTS, on
from wire.http.routes.messages import DOOR
from wire.http.routing import Route
from wire.inner.asking import InnerClient
from wire.kafka.errors import broker_error, code_name
from wire.kafka.messages.create_acls import AclCreation, CreateAclsRequest
from wire.kafka.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from wire.kafka.messages.describe_acls import DescribeAclsRequest

MOST_RULES = 1_000
MOST_CHARACTERS = 1_000
"""Of a name: a rule is named by a query, too, which has to fit into a request line."""
PermissionName = Literal["allow", "deny"]
PatternName = Literal["literal", "prefixed"]
ResourceName = Literal["topic", "group", "cluster", "transactional-id", "subject", "delegation-token", "user"]
OperationName = Annotated[str, msgspec.Meta(pattern=r"^[a-z-]{1,30}$", description="read, write, alter-configs, ...")]
PrincipalName = Annotated[str, msgspec.Meta(min_length=1, max_length=300, description="Like User:alice, or User:*.")]
Kind = TypeVar("Kind", bound=IntEnum)


class Acl(msgspec.Struct, forbid_unknown_fields=True):
    """A rule: whom it permits what, or denies it, of which resources; * is every name, every host."""

    principal: PrincipalName
    operation: OperationName
    resource: ResourceName
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_CHARACTERS)]
    pattern: PatternName = "literal"
    host: Annotated[str, msgspec.Meta(min_length=1, max_length=300)] = ANY_HOST
    permission: PermissionName = "allow"


class NewAcls(msgspec.Struct, forbid_unknown_fields=True):
    """Rules to make; those that are there already stay."""

    items: Annotated[list[Acl], msgspec.Meta(min_length=1, max_length=MOST_RULES)]


class AclsQuery(PageQuery, kw_only=True):
    """Which rules: all that fit what is given."""

    principal: str | None = None
    host: str | None = None
    operation: OperationName | None = None
    resource: ResourceName | None = None
    name: Annotated[str | None, msgspec.Meta(description="Rules that concern this name, by patterns too.")] = None
    permission: PermissionName | None = None


class AclPage(Page):
    """Rules by resource and principal."""

    items: list[Acl]


class Acls(msgspec.Struct):
    """Rules that were made."""

    items: list[Acl]


class WhyQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Whether somebody may do something to what is called so, whether or not it exists."""

    principal: PrincipalName
    operation: OperationName
    resource: ResourceName
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_CHARACTERS)]
    host: Annotated[str, msgspec.Meta(max_length=300, description="From where; none is from anywhere.")] = ""


class Why(msgspec.Struct):
    """What is decided, and what decides it: a rule, if it is one."""

    allowed: bool
    reason: str
    rule: Acl | None


async def list_acls(call: Call, inner: InnerClient) -> AclPage:
    """Rules by what they are about."""
    query: AclsQuery = call.query
    request = DescribeAclsRequest(
        _code(ResourceKind, query.resource),
        query.name,
        int(PatternType.ANY if query.name is None else PatternType.MATCH),
        query.principal,
        query.host,
        _code(Operation, query.operation),
        _code(Permission, query.permission),
    )
    with inner.guest(call.caller, DOOR) as guest:
        answer = await inner.ask(guest, request)
    _check(answer)
    found = [
        AclRecord(*place, acl.principal, acl.host, acl.operation, acl.permission_type)
        for each in answer.resources
        for place in [(each.resource_type, each.resource_name, each.pattern_type)]
        for acl in each.acls
    ]
    found.sort(key=lambda acl: acl.key)
    items = [_shown(acl) for acl in query.of(found)]
    return AclPage(items=items, total=len(found), limit=query.limit, skip=query.skip)


async def create_acls(call: Call, inner: InnerClient) -> Acls:
    """Make rules; they are in force on this node when the answer comes."""
    wanted: NewAcls = call.body
    request = CreateAclsRequest([AclCreation(*_parts(each)) for each in wanted.items])
    with inner.guest(call.caller, DOOR) as guest:
        answer = await inner.ask(guest, request)
    for result in answer.results:
        _check(result)
    return Acls(wanted.items)


async def delete_acl(call: Call, inner: InnerClient) -> None:
    """Remove one rule, and no other."""
    with inner.guest(call.caller, DOOR) as guest:
        answer = await inner.ask(guest, DeleteAclsRequest([DeleteAclsFilter(*_parts(call.query))]))
    for result in answer.filter_results:
        _check(result)
        if not result.matching_acls:
            raise ResourceNotFound("there is no such rule")


async def why(call: Call, access: AccessControl) -> Why:
    """What decides whether somebody may do something."""
    query: WhyQuery = call.query
    if access.authorizer is None:
        raise SecurityDisabled("nobody is asked for rights here: authorizer.enable is false")
    principal = parse_principal(query.principal)
    if principal is None:
        raise InvalidRequest(f"the principal {query.principal!r} is not like User:alice")
    operation = Operation(_code(Operation, query.operation))
    kind = ResourceKind(_code(ResourceKind, query.resource))
    decision = access.authorizer.decide(Caller(principal, query.host), operation, kind, query.name)
    return Why(decision.allowed, decision.reason, None if decision.rule is None else _shown(decision.rule))


def _code(kind: type[Kind], name: str | None) -> int:
    """By its name; 1 is any of them."""
    if name is None:
        return 1
    found = kind.__members__.get(name.upper().replace("-", "_"))
    if found is None or found <= 1:
        raise InvalidRequest(f"there is no {kind.__name__.lower()} {name!r}")
    return int(found)


def _name(kind: type[IntEnum], code: int) -> Any:
    try:
        return kind(code).name.lower().replace("_", "-")
    except ValueError:
        return str(code)


def _parts(acl: Acl) -> tuple[Any, ...]:
    return (
        _code(ResourceKind, acl.resource),
        acl.name,
        _code(PatternType, acl.pattern),
        acl.principal,
        acl.host,
        _code(Operation, acl.operation),
        _code(Permission, acl.permission),
    )


def _shown(acl: AclRecord) -> Acl:
    return Acl(
        acl.principal,
        _name(Operation, acl.operation),
        _name(ResourceKind, acl.resource_type),
        acl.name,
        _name(PatternType, acl.pattern),
        acl.host,
        _name(Permission, acl.permission),
    )


def _check(result: Any) -> None:
    if result.error_code:
        raise broker_error(result.error_code, result.error_message or code_name(result.error_code))


PROBLEMS = (403, 409, 422)
ROUTES = (
    Route("GET", "/acls", list_acls, "Rules", answer=AclPage, query=AclsQuery, problems=PROBLEMS, rights=BY_REQUESTS),
    Route(
        "POST",
        "/acls",
        create_acls,
        "Make rules",
        answer=Acls,
        body=NewAcls,
        status=201,
        problems=PROBLEMS,
        rights=BY_REQUESTS,
    ),
    Route(
        "DELETE",
        "/acls",
        delete_acl,
        "Remove a rule",
        query=Acl,
        status=204,
        problems=(*PROBLEMS, 404),
        rights=BY_REQUESTS,
    ),
    Route(
        "GET",
        "/acls/why",
        why,
        "Why somebody may do something, or may not",
        answer=Why,
        query=WhyQuery,
        problems=PROBLEMS,
        rights=on(DESCRIBE_CLUSTER),
    ),
)
