"""`tidegate config`: settings of topics, nodes and groups, seen and set."""

from typing import Annotated, Any

import typer

from tools.cli import settings
from tools.cli.errors import NotFound, UsageMistake
from tools.cli.framework import command, group, session
from tools.cli.kafka import connected, run
from tools.cli.output import Column
from tools.cli.settings import DEFAULT_SOURCE, Kind

app = group("Settings of topics, nodes and groups.")

What = Annotated[Kind, typer.Argument(help="What has the settings.")]
Whose = Annotated[str, typer.Argument(metavar="NAME", help="A topic's name, a node's id, a group's id.")]


@command(
    app,
    "get",
    examples=(
        "tidegate config get topic orders",
        "tidegate config get topic orders retention.ms",
        "tidegate config get broker 1 --all --docs",
    ),
)
def get(
    context: typer.Context,
    kind: What,
    name: Whose,
    keys: Annotated[list[str] | None, typer.Argument(metavar="[KEY]", help="These alone.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Those that nobody has set, too.")] = False,
    docs: Annotated[bool, typer.Option("--docs", help="What each means.")] = False,
) -> None:
    """Settings in force, and who set them."""
    at = session(context)

    async def work() -> list[dict[str, Any]]:
        async with connected(at.profile) as kafka:
            return await settings.read(kafka, kind, name, keys or None)

    found = run(work())
    if missing := set(keys or ()) - {each["name"] for each in found}:
        raise NotFound(
            f"a {kind.value} has no key {sorted(missing)[0]!r}",
            f"'tidegate config get {kind.value} {name} --all' lists those there are",
        )
    shown = [each for each in found if keys or everything or each["source"] != DEFAULT_SOURCE]
    columns = (*settings.COLUMNS, Column("documentation", "meaning")) if docs else settings.COLUMNS
    at.output.rows(shown, columns, empty="everything is at its default; --all shows it")


@command(
    app,
    "set",
    examples=(
        "tidegate config set topic orders retention.ms=86400000",
        "tidegate config set topic jobs priority.weights=70,20,5,3,2 --dry-run",
        "tidegate config set broker 1 --unset log.retention.ms",
    ),
)
def set_values(
    context: typer.Context,
    kind: What,
    name: Whose,
    values: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]", help="What to set.")] = None,
    removed: Annotated[list[str] | None, typer.Option("--unset", "-u", metavar="KEY", help="Back to default.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check it.")] = False,
) -> None:
    """Set or unset settings; they are in force at once."""
    at = session(context)
    wanted, gone = settings.assignments(values or ()), list(removed or ())
    if not wanted and not gone:
        raise UsageMistake("nothing to set", "give KEY=VALUE or --unset KEY")

    async def work() -> None:
        async with connected(at.profile) as kafka:
            await settings.change(kafka, kind, name, wanted, gone, dry_run=dry_run)

    run(work())
    said = "could be set so" if dry_run else "is set"
    facts: dict[str, Any] = {"name": name, "set": wanted, "unset": gone, "dry_run": dry_run}
    at.output.done(f"{kind.value} {name} {said}", **{kind.value: name, **facts})
