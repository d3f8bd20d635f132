"""`tidegate acl`: rules of who may do what, over Kafka's own APIs; `why` tells which of them decides."""

from typing import Annotated

import typer

from coordinators.access.acls import CLUSTER_NAME, AclFilter, Operation, PatternType, Permission, ResourceKind, told
from coordinators.tenants.rules import tenant_cluster
from engine.catalogue.records import AclRecord
from tools.cli.acls import KINDS, WireAcls, operation_of, row
from tools.cli.errors import NotFound, UsageMistake
from tools.cli.framework import Session, command, confirm, group, session
from tools.cli.output import Column

app = group("Rules: who may do what to which resource, and why.")
LIST = (
    Column("permission"),
    Column("principal"),
    Column("host"),
    Column("operation"),
    Column("resource"),
    Column("name"),
    Column("pattern"),
)

User = Annotated[str, typer.Argument(metavar="USER", help="The user's name; '*' is everybody.")]
OfUser = Annotated[str | None, typer.Option("--user", metavar="USER", help="Of this user alone; '*' is everybody.")]
Operations = Annotated[
    str, typer.Argument(metavar="OPERATIONS", help="Such as read, write, or several: read,describe.")
]
Topic = Annotated[str | None, typer.Option("--topic", metavar="NAME", help="A topic; '*' is every one.")]
Group = Annotated[str | None, typer.Option("--group", metavar="NAME", help="A group of consumers.")]
Transaction = Annotated[str | None, typer.Option("--transactional-id", metavar="NAME", help="A transactional id.")]
Subject = Annotated[str | None, typer.Option("--subject", metavar="NAME", help="A subject of the schema registry.")]
Cluster = Annotated[bool, typer.Option("--cluster", help="The cluster itself.")]
Tenant = Annotated[
    str | None, typer.Option("--tenant", metavar="NAME", help="A tenant: who may see and change its rules.")
]
Prefix = Annotated[bool, typer.Option("--prefix", help="Whatever begins with the name.")]
Deny = Annotated[bool, typer.Option("--deny", help="What is denied, whatever else is allowed.")]
Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="From this address alone; '*' is any.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def _resource(
    topic: str | None,
    group_id: str | None,
    transactional_id: str | None,
    subject: str | None,
    cluster: bool,
    tenant: str | None,
) -> tuple[ResourceKind, str] | None:
    named = {"topic": topic, "group": group_id, "transactional-id": transactional_id, "subject": subject}
    found = [(KINDS[kind], name) for kind, name in named.items() if name is not None]
    found += [(ResourceKind.CLUSTER, CLUSTER_NAME)] if cluster else []
    found += [(ResourceKind.CLUSTER, tenant_cluster(tenant))] if tenant is not None else []
    if len(found) > 1:
        raise UsageMistake(
            "a rule is about one resource",
            "give one of --topic, --group, --transactional-id, --subject, --cluster, --tenant",
        )
    return found[0] if found else None


def _needed(resource: tuple[ResourceKind, str] | None) -> tuple[ResourceKind, str]:
    if resource is None:
        raise UsageMistake(
            "about what?", "give one of --topic, --group, --transactional-id, --subject, --cluster, --tenant"
        )
    return resource


def _principal(user: str) -> str:
    return user if ":" in user else f"User:{user}"


@command(
    app, "list", examples=("tidegate acl list", "tidegate acl list --topic orders", "tidegate acl list --user alice")
)
def list_rules(
    context: typer.Context,
    user: OfUser = None,
    topic: Topic = None,
    group_id: Group = None,
    transactional_id: Transaction = None,
    subject: Subject = None,
    cluster: Cluster = False,
    tenant: Tenant = None,
) -> None:
    """The rules; for a resource also those that name it by a prefix or by '*'."""
    at = session(context)
    resource = _resource(topic, group_id, transactional_id, subject, cluster, tenant)
    wanted = AclFilter(principal=None if user is None else _principal(user))
    if resource is not None:
        wanted = AclFilter(*resource, PatternType.MATCH, wanted.principal)
    at.output.rows([row(acl) for acl in WireAcls(at.profile).find(wanted)], LIST)


@command(
    app,
    "add",
    examples=(
        "tidegate acl add alice read --topic orders",
        "tidegate acl add alice read --group reports --prefix",
        "tidegate acl add '*' describe --topic '*'",
        "tidegate acl add alice read,write --subject orders --prefix",
        "tidegate acl add mallory all --topic secrets --deny",
        "tidegate acl add acme.ann alter --tenant acme",
    ),
)
def add(
    context: typer.Context,
    user: User,
    operations: Operations,
    topic: Topic = None,
    group_id: Group = None,
    transactional_id: Transaction = None,
    subject: Subject = None,
    cluster: Cluster = False,
    tenant: Tenant = None,
    prefix: Prefix = False,
    deny: Deny = False,
    host: Host = "*",
) -> None:
    """Make rules: a user may do these things, or with --deny may not, whatever else is allowed."""
    at = session(context)
    kind, name = _needed(_resource(topic, group_id, transactional_id, subject, cluster, tenant))
    pattern = PatternType.PREFIXED if prefix else PatternType.LITERAL
    permission = Permission.DENY if deny else Permission.ALLOW
    made = [
        AclRecord(kind, name, pattern, _principal(user), host, operation_of(each.strip()), permission)
        for each in operations.split(",")
    ]
    WireAcls(at.profile).add(made)
    _told(at, made, "made")


@command(
    app,
    "remove",
    examples=("tidegate acl remove alice --topic orders", "tidegate acl remove alice --operation write --yes"),
)
def remove(
    context: typer.Context,
    user: User,
    operation: Annotated[
        str | None, typer.Option("--operation", metavar="NAME", help="Those of this one alone.")
    ] = None,
    topic: Topic = None,
    group_id: Group = None,
    transactional_id: Transaction = None,
    subject: Subject = None,
    cluster: Cluster = False,
    tenant: Tenant = None,
    yes: Yes = False,
) -> None:
    """Remove rules of a user, all or those for a resource. They are shown before anything is removed."""
    at = session(context)
    acls = WireAcls(at.profile)
    resource = _resource(topic, group_id, transactional_id, subject, cluster, tenant)
    code = Operation.ANY if operation is None else operation_of(operation)
    kind, name = resource if resource is not None else (ResourceKind.ANY, None)
    found = acls.find(AclFilter(kind, name, PatternType.ANY, _principal(user), None, code))
    if not found:
        raise NotFound("there is no such rule", "'tidegate acl list' tells those that there are")
    confirm(f"Remove {len(found)} rules: {'; '.join(told(acl) for acl in found)}?", yes=yes)
    acls.remove(found)
    _told(at, found, "removed")


@command(
    app,
    "why",
    examples=(
        "tidegate acl why alice read --topic orders",
        "tidegate acl why alice alter --cluster --host 10.0.0.7",
    ),
)
def why(
    context: typer.Context,
    user: User,
    operation: Annotated[str, typer.Argument(metavar="OPERATION", help="Such as read.")],
    topic: Topic = None,
    group_id: Group = None,
    transactional_id: Transaction = None,
    subject: Subject = None,
    cluster: Cluster = False,
    tenant: Tenant = None,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where the user comes from.")] = "127.0.0.1",
) -> None:
    """Whether a user may do something, and which rule decides it.

    Whoever asks needs DESCRIBE and DESCRIBE_CONFIGS on the cluster."""
    at = session(context)
    kind, name = _needed(_resource(topic, group_id, transactional_id, subject, cluster, tenant))
    decision = WireAcls(at.profile).why(user.removeprefix("User:"), host, operation_of(operation), kind, name)
    if at.output.is_for_people:
        at.output.done(f"{'allowed' if decision.allowed else 'denied'}: {decision}")
    else:
        rule = None if decision.rule is None else row(decision.rule)
        at.output.value({"allowed": decision.allowed, "reason": decision.reason, "rule": rule})


def _told(at: Session, acls: list[AclRecord], happened: str) -> None:
    if at.output.is_for_people:
        for acl in acls:
            at.output.done(f"{happened}: {told(acl)}")
    else:
        at.output.rows([row(acl) for acl in acls], LIST)
