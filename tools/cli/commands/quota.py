"""`tidegate quota`: how much users, client ids and addresses may, seen, set and removed."""

from typing import Annotated, Any

import typer

from tools.cli import settings
from tools.cli.errors import UsageMistake
from tools.cli.framework import command, group, session
from tools.cli.kafka import check, connected, run
from tools.cli.output import Column
from wire.kafka.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from wire.kafka.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

app = group("Quotas: how much users, client ids and addresses may. List, set, remove.")

USER, CLIENT_ID, IP = "user", "client-id", "ip"
EXACT, DEFAULT = 0, 1
DEFAULT_NAME = "<default>"
Parts = dict[str, str | None]
"""Names by type; None is the default."""

User = Annotated[str | None, typer.Option("--user", "-u", help="Of this user.")]
ClientId = Annotated[str | None, typer.Option("--client-id", "-c", help="Of this client id.")]
Address = Annotated[str | None, typer.Option("--ip", help="Of this address.")]
Users = Annotated[bool, typer.Option("--user-defaults", help="Of users that have none of their own.")]
Clients = Annotated[bool, typer.Option("--client-defaults", help="Of client ids that have none of their own.")]
Addresses = Annotated[bool, typer.Option("--ip-defaults", help="Of addresses that have none of their own.")]


def _shown_name(name: str | None, is_there: bool) -> str:
    return "" if not is_there else DEFAULT_NAME if name is None else name


COLUMNS = (
    Column("user"),
    Column("client_id", "client id"),
    Column("ip", "address"),
    Column("quota"),
    Column("value", right=True),
)


@command(
    app,
    "list",
    examples=(
        "tidegate quota list",
        "tidegate quota list --user alice",
        "tidegate quota list --client-defaults -o json",
    ),
)
def list_all(
    context: typer.Context,
    user: User = None,
    client_id: ClientId = None,
    ip: Address = None,
    users: Users = False,
    clients: Clients = False,
    addresses: Addresses = False,
) -> None:
    """List all quotas, or those of what is named, alone and in combination."""
    at = session(context)
    parts = _parts(user, client_id, ip, users=users, clients=clients, addresses=addresses)
    at.output.rows(_rows(_described(at, parts, "quotas", strict=False)), COLUMNS, empty="no quotas")


def _described(at: Any, parts: Parts, what: str, *, strict: bool) -> Any:
    """What there is of these parts; where it is strict, of nothing that has others besides."""
    components = [ComponentData(kind, DEFAULT if name is None else EXACT, name) for kind, name in parts.items()]

    async def work() -> Any:
        async with connected(at.profile) as kafka:
            return await kafka.call(DescribeClientQuotasRequest(components, strict))

    answer = run(work())
    check(answer.error_code, what, answer.error_message)
    return answer


def _rows(answer: Any) -> list[dict[str, Any]]:
    rows = []
    for entry in answer.entries or ():
        names = {part.entity_type: part.entity_name for part in entry.entity}
        shown = {
            field: _shown_name(names.get(kind), kind in names)
            for field, kind in (("user", USER), ("client_id", CLIENT_ID), ("ip", IP))
        }
        rows += [{**shown, "quota": each.key, "value": _number(each.value)} for each in entry.values]
    return sorted(rows, key=lambda row: (row["user"], row["client_id"], row["ip"], row["quota"]))


@command(
    app,
    "set",
    examples=(
        "tidegate quota set producer_byte_rate=1048576 consumer_byte_rate=4194304 --user alice",
        "tidegate quota set request_percentage=20 --client-defaults",
        "tidegate quota set connection_creation_rate=10 --ip-defaults --dry-run",
    ),
)
def set_values(
    context: typer.Context,
    values: Annotated[list[str], typer.Argument(metavar="QUOTA=VALUE", help="What to set.")],
    user: User = None,
    client_id: ClientId = None,
    ip: Address = None,
    users: Users = False,
    clients: Clients = False,
    addresses: Addresses = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check it.")] = False,
) -> None:
    """Set quotas of a user, a client id, both together, or an address; they are in force at once, on each node."""
    at = session(context)
    parts = _named(_parts(user, client_id, ip, users=users, clients=clients, addresses=addresses))
    wanted = {key: _value(key, text) for key, text in settings.assignments(values).items()}
    _alter(at, parts, [OpData(key, value) for key, value in wanted.items()], dry_run=dry_run)
    said = "could be set so" if dry_run else "set"
    at.output.done(f"quotas of {_text(parts)} {said}", **_facts(parts), set=wanted, dry_run=dry_run)


@command(
    app,
    "remove",
    examples=("tidegate quota remove --user alice", "tidegate quota remove producer_byte_rate --client-defaults"),
)
def remove(
    context: typer.Context,
    keys: Annotated[list[str] | None, typer.Argument(metavar="[QUOTA]", help="These alone; all without any.")] = None,
    user: User = None,
    client_id: ClientId = None,
    ip: Address = None,
    users: Users = False,
    clients: Clients = False,
    addresses: Addresses = False,
) -> None:
    """Remove quotas of exactly what is named."""
    at = session(context)
    parts = _named(_parts(user, client_id, ip, users=users, clients=clients, addresses=addresses))
    gone = list(keys or ()) or _present(at, parts)
    _alter(at, parts, [OpData(key, 0.0, True) for key in gone])
    at.output.done(f"quotas of {_text(parts)} removed: {', '.join(gone) or 'none'}", **_facts(parts), removed=gone)


def _present(at: Any, parts: Parts) -> list[str]:
    answer = _described(at, parts, _text(parts), strict=True)
    return sorted({each.key for entry in answer.entries or () for each in entry.values})


def _alter(at: Any, parts: Parts, operations: list[OpData], *, dry_run: bool = False) -> None:
    entity = [RequestEntityData(kind, name) for kind, name in parts.items()]

    async def work() -> Any:
        async with connected(at.profile) as kafka:
            return await kafka.call(AlterClientQuotasRequest([RequestEntryData(entity, operations)], dry_run))

    (entry,) = run(work()).entries
    check(entry.error_code, _text(parts), entry.error_message)


def _parts(
    user: str | None, client_id: str | None, ip: str | None, *, users: bool, clients: bool, addresses: bool
) -> Parts:
    parts: Parts = {}
    for kind, name, is_default in ((USER, user, users), (CLIENT_ID, client_id, clients), (IP, ip, addresses)):
        if name is not None and is_default:
            raise UsageMistake(f"both a {kind} and the default of them", "choose one")
        if name is not None or is_default:
            parts[kind] = name
    return parts


def _named(parts: Parts) -> Parts:
    if not parts:
        raise UsageMistake("nobody is named", "say whose quotas: --user, --client-id, --ip, or their defaults")
    return parts


def _value(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageMistake(f"{key} is a number, not {text!r}") from None


def _text(parts: Parts) -> str:
    return ", ".join(f"{kind} {DEFAULT_NAME if name is None else name}" for kind, name in parts.items())


def _facts(parts: Parts) -> dict[str, str]:
    return {kind.replace("-", "_"): DEFAULT_NAME if name is None else name for kind, name in parts.items()}


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() else value
