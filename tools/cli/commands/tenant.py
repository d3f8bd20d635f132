"""`tidegate tenant`: namespaces with principals and limits of their own, over the operations door."""

from typing import Annotated, Any

import typer

from coordinators.tenants.rows import LIMIT_NAMES
from tools.cli.door import opened
from tools.cli.errors import UsageMistake
from tools.cli.framework import command, confirm, group, session
from tools.cli.output import Column, Output, size_text

app = group("Tenants: namespaces with users and limits of their own.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The tenant's name: what all its names begin with.")]
Principals = Annotated[
    list[str] | None,
    typer.Option("--principal", metavar="User:NAME", help="Who belongs to it; all that begin so: User:acme.*"),
]
LimitOptions = Annotated[
    list[str] | None,
    typer.Option("--limit", metavar="NAME=VALUE", help=f"A bound: {', '.join(LIMIT_NAMES)}; VALUE may be none."),
]
NONE = "none"
WHOLE = {"cluster": "true"}
MOST_USERS = 5
"""So many are told by name."""
LIMIT_UNITS = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}

TENANTS = (
    Column("name"),
    Column("topics", right=True),
    Column("partitions", right=True),
    Column("storage_bytes", "stored", size_text, right=True),
    Column("pending_records", "pending", right=True),
    Column("connections", right=True),
    Column("requests", right=True),
    Column("produced_bytes", "produced", size_text, right=True),
    Column("consumed_bytes", "consumed", size_text, right=True),
)
USED = (
    Column("limit"),
    Column("used", "in the cluster", right=True),
    Column("here", "on this node", right=True),
    Column("bound", right=True),
    Column("of"),
)
OF_THE_CLUSTER = ("topics", "partitions")
"""Limits that are of all nodes together; the others are of each."""
PARTS = (
    ("topics", "topic"),
    ("rules", "rule"),
    ("users", "user"),
    ("quotas", "quota"),
    ("subjects", "subject"),
    ("configured_groups", "configured group"),
)
"""What a tenant may have, as it is told, and in words."""


@command(
    app,
    "create",
    examples=(
        "tidegate tenant create acme",
        "tidegate tenant create acme --rewrite --principal User:alice --principal 'User:acme.*'",
        "tidegate tenant create acme --limit topics=50 --limit storage_bytes=10Gi --limit producer_byte_rate=5M",
    ),
)
def create(
    context: typer.Context,
    name: Name,
    principals: Principals = None,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Its clients see names without the prefix, by every listener.")
    ] = False,
    limits: LimitOptions = None,
) -> None:
    """Make a tenant. Without --principal it has the users whose names begin with its own: User:NAME.*"""
    at = session(context)
    body: dict[str, Any] = {"name": name, "rewrite": rewrite, "limits": _limits(limits)}
    if principals:
        body["principals"] = principals
    with opened(at.profile) as door:
        made = door.tenant_change("POST", None, body)
    if at.output.is_for_people:
        at.output.heading(f"tenant {name} is there: its topics, groups and transactional ids begin with {name}.")
    else:
        at.output.value(made)


@command(app, "list", examples=("tidegate tenant list", "tidegate tenant list -o json | jq .[].usage"))
def list_tenants(context: typer.Context) -> None:
    """List tenants, with what each uses in the whole cluster."""
    at = session(context)
    with opened(at.profile) as door:
        found = list(door.read_all("tenants", query=WHOLE))
    rows = [{**each, **each["cluster_usage"]} for each in found] if at.output.is_for_people else found
    at.output.rows(rows, TENANTS, empty="there are no tenants; 'tidegate tenant create NAME' makes one")
    _warn(at.output, found)


@command(app, "show", examples=("tidegate tenant show acme", "tidegate tenant show acme -o json"))
def show(context: typer.Context, name: Name) -> None:
    """A tenant: who belongs to it, its limits, and what it uses in the cluster and on the node that is asked."""
    at = session(context)
    with opened(at.profile) as door:
        found = door.read("tenants", name, query=WHOLE)
    _warn(at.output, [found])
    if not at.output.is_for_people:
        at.output.value(found)
        return
    manner = "without the prefix" if found["rewrite"] else "with the prefix, unless the listener takes it away"
    at.output.heading(f"{name}: {', '.join(found['principals']) or 'nobody'}; names are told {manner}")
    at.output.rows([_used(limit, found) for limit in LIMIT_NAMES], USED, empty="")


@command(
    app,
    "limits",
    examples=(
        "tidegate tenant limits acme --limit producer_byte_rate=2M",
        "tidegate tenant limits acme --limit topics=none --limit partitions=200",
        "tidegate tenant limits acme --principal User:alice --no-rewrite",
    ),
)
def limits_(
    context: typer.Context,
    name: Name,
    limits: LimitOptions = None,
    principals: Principals = None,
    rewrite: Annotated[
        bool | None, typer.Option("--rewrite/--no-rewrite", help="Whether its clients see names without the prefix.")
    ] = None,
) -> None:
    """Change what a tenant may use, who belongs to it, or how its names are shown; in force at once."""
    at = session(context)
    body: dict[str, Any] = {"limits": _limits(limits)}
    if principals:
        body["principals"] = principals
    if rewrite is not None:
        body["rewrite"] = rewrite
    if body == {"limits": {}}:
        raise UsageMistake("nothing is to be altered: say --limit NAME=VALUE, --principal or --rewrite")
    with opened(at.profile) as door:
        door.tenant_change("PATCH", name, body)
        found = door.read("tenants", name, query=WHOLE)
    if at.output.is_for_people:
        at.output.rows([_used(limit, found) for limit in LIMIT_NAMES], USED, empty="")
    else:
        at.output.value(found)


@command(
    app,
    "delete",
    examples=(
        "tidegate tenant delete acme",
        "tidegate tenant delete acme --everything",
        "tidegate tenant delete acme --force --yes",
    ),
)
def delete(
    context: typer.Context,
    name: Name,
    everything: Annotated[
        bool,
        typer.Option("--everything", help="With its topics, rules, users, quotas and schemas; later too."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Though it has topics: they stay, as nobody's.")] = False,
    release: Annotated[
        bool,
        typer.Option("--release", help="Its principals are nobody's then; also of a tenant that is deleted already."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a tenant that has no topics, or with --everything all that it has. Its principals are refused until a
    tenant of that name is made again."""
    if everything and force:
        raise UsageMistake("--everything deletes the tenant's topics, and --force leaves them: say one of them")
    at = session(context)
    flags = {"everything": everything, "force": force, "release": release}
    with opened(at.profile) as door:
        has = door.read("tenants", name, "belongings")
        with_it = f" with {_told(has)}" if everything and _told(has) else ""
        confirm(f"Delete the tenant {name}{with_it}?", yes=yes)
        door.tenant_change("DELETE", name, None, "&".join(f"{flag}=true" for flag, is_set in flags.items() if is_set))
    if not at.output.is_for_people:
        at.output.value({"deleted": name, "with_it" if everything else "left": has})
        return
    at.output.heading(f"tenant {name} is deleted{with_it}")
    if not everything and _told(has):
        at.output.note(f"left behind: {_told(has)}; 'tidegate tenant delete {name} --everything' deletes them")


def _told(has: dict[str, Any]) -> str:
    """How much of what a tenant has, users by name."""
    parts = []
    for name, word in PARTS:
        users = has[name] if name == "users" else []
        count = len(users) if name == "users" else has[name]
        shown = ", ".join(users[:MOST_USERS]) + (", ..." if len(users) > MOST_USERS else "")
        if count:
            parts.append(f"{count} {word}{'s' if count > 1 else ''}" + (f" ({shown})" if users else ""))
    return ", ".join(parts)


def _warn(output: Output, found: list[dict[str, Any]]) -> None:
    missing = sorted({node_id for each in found for node_id in each["missing_nodes"]})
    if missing:
        output.note(f"without what is used on these nodes, which do not answer: {', '.join(map(str, missing))}")


def _limits(given: list[str] | None) -> dict[str, int | None]:
    return dict(_limit(each) for each in given or ())


def _limit(text: str) -> tuple[str, int | None]:
    name, equals, value = text.partition("=")
    if not equals or name not in LIMIT_NAMES:
        raise UsageMistake(f"--limit {text}: NAME=VALUE, NAME one of {', '.join(LIMIT_NAMES)}")
    if value == NONE:
        return name, None
    unit = next((unit for unit in sorted(LIMIT_UNITS, key=len, reverse=True) if value.endswith(unit)), "")
    number = value.removesuffix(unit)
    if not (number.isascii() and number.isdecimal()):
        raise UsageMistake(f"--limit {text}: a number, also as 5M or 10Gi, or none")
    return name, int(number) * LIMIT_UNITS.get(unit, 1)


def _used(limit: str, found: dict[str, Any]) -> dict[str, Any]:
    is_size = "byte" in limit
    per = "/s" if limit.endswith("_rate") else ""

    def text(value: Any) -> str:
        if value is None:
            return "-"
        return (size_text(round(value)) if is_size else f"{round(value)}") + per

    of = "the cluster" if limit in OF_THE_CLUSTER else "each node"
    bound = found["limits"][limit]
    return {
        "limit": limit,
        "used": text(found["cluster_usage"][limit]),
        "here": text(found["usage"][limit]),
        "bound": text(bound),
        "of": "" if bound is None else of,
    }
