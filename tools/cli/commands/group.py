"""`tidegate group`: who reads what, how far behind, moved elsewhere, deleted."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from tools.cli import groups, shares
from tools.cli.completion import group_names, topic_names
from tools.cli.errors import Exit, NotFound, Refused
from tools.cli.framework import Session, command, confirm, group, session
from tools.cli.groups import EMPTY_STATES
from tools.cli.kafka import check, connected, run
from tools.cli.offsets import Place, bounds, goals
from tools.cli.output import Column
from tools.cli.progress import progress
from tools.cli.several import Several
from wire.kafka.messages.delete_groups import DeleteGroupsRequest

app = group("Groups of consumers: state, members, lag; move their offsets.")

Name = Annotated[str, typer.Argument(metavar="GROUP", help="The group's id.", autocompletion=group_names)]
LIST = (Column("group"), Column("type"), Column("state"), Column("lag", right=True))
PLACES = (
    Column("topic"),
    Column("partition", right=True),
    Column("committed_offset", "committed", right=True),
    Column("end_offset", "end", right=True),
    Column("lag", right=True),
    Column("member"),
)
MOVES = (
    Column("topic"),
    Column("partition", right=True),
    Column("committed_offset", "committed", right=True),
    Column("new_offset", "new", right=True),
    Column("difference", right=True),
)


@command(app, "list", examples=("tidegate group list", "tidegate group list --lag --state Stable"))
def list_all(
    context: typer.Context,
    state: Annotated[str | None, typer.Option("--state", help="Only groups in this state.")] = None,
    with_lag: Annotated[bool, typer.Option("--lag", help="How far each is behind; takes longer.")] = False,
) -> None:
    """List groups of all kinds."""
    at = session(context)

    async def work() -> list[dict[str, Any]]:
        async with connected(at.profile) as kafka:
            found = await groups.list_groups(kafka)
            rows: list[dict[str, Any]] = [
                {"group": each.group_id, "type": each.group_type, "state": each.group_state}
                for each in found
                if state is None or each.group_state.lower() == state.lower()
            ]
            if with_lag:
                with progress("groups", len(rows)) as shown:
                    for row in rows:
                        places = shares.offsets if row["type"].lower() == shares.SHARE else groups.lag
                        row["lag"] = sum(place["lag"] or 0 for place in await places(kafka, row["group"]))
                        shown.advance()
            return rows

    at.output.rows(
        run(work(), waits=not with_lag),
        LIST if with_lag else LIST[:-1],
        empty="no groups" if state is None else f"no group is {state}",
    )


@command(app, "describe", examples=("tidegate group describe kitchen", "tidegate group describe kitchen -o json"))
def describe(context: typer.Context, name: Name) -> None:
    """One group: its members, committed offsets and lag."""
    at = session(context)

    async def work() -> dict[str, Any]:
        async with connected(at.profile) as kafka:
            found = await groups.describe(kafka, name)
            rows = await groups.lag(kafka, name)
        readers = {place: each.client_id for each in found.members for place in each.places or ()}
        for row in rows:
            row["member"] = readers.pop((row["topic"], row["partition"]), None)
        rows += [
            {"topic": place[0], "partition": place[1], "committed_offset": None, "lag": None, "member": reader}
            for place, reader in readers.items()
        ]
        return {
            "group": name,
            "type": found.kind,
            "state": found.state,
            "assignor": found.assignor,
            "lag": sum(row["lag"] or 0 for row in rows),
            "members": [
                {
                    "member_id": each.member_id,
                    "instance_id": each.instance_id,
                    "client_id": each.client_id,
                    "host": each.host,
                    "partitions": None if each.places is None else [f"{topic}-{index}" for topic, index in each.places],
                }
                for each in found.members
            ],
            "offsets": rows,
        }

    found = run(work())
    if not at.output.is_for_people:
        at.output.value(found)
        return
    heading = f"group {name} ({found['type']}): {found['state']}, {len(found['members'])} members, lag {found['lag']}"
    at.output.heading(heading + "\n")
    if found["members"]:
        at.output.rows(found["members"], (Column("member_id", "member"), Column("client_id", "client"), Column("host")))
        at.output.heading("")
    at.output.rows(found["offsets"], PLACES, empty="it has committed no offsets")


@command(
    app,
    "lag",
    examples=("tidegate group lag kitchen", "tidegate group lag kitchen --max 1000 || echo 'too far behind'"),
)
def lag(
    context: typer.Context,
    name: Name,
    most: Annotated[int | None, typer.Option("--max", min=0, help="End with status 1 if it is more.")] = None,
) -> None:
    """How far behind a group is, per partition."""
    at = session(context)

    async def work() -> list[dict[str, Any]]:
        async with connected(at.profile) as kafka:
            await groups.describe(kafka, name)
            return await groups.lag(kafka, name)

    rows = run(work())
    total = sum(row["lag"] or 0 for row in rows)
    if at.output.is_for_people:
        at.output.rows(rows, PLACES[:-1], empty="it has committed no offsets")
        at.output.heading(f"\nlag {total}")
    else:
        at.output.value({"group": name, "lag": total, "offsets": rows})
    if most is not None and total > most:
        raise typer.Exit(Exit.FAILED)


@command(
    app,
    "reset",
    examples=(
        "tidegate group reset kitchen --to earliest --dry-run",
        "tidegate group reset kitchen --to @2026-11-16T12:00 --topic orders --yes",
        "tidegate group reset kitchen --to -100 --topic orders --partition 0",
    ),
)
def reset(
    context: typer.Context,
    name: Name,
    target: Annotated[
        str, typer.Option("--to", metavar="WHERE", help="earliest, latest, an offset, -N or +N from now on, @TIME.")
    ],
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", "-t", help="Of this topic; may be repeated.", autocompletion=topic_names),
    ] = None,
    partitions: Annotated[
        list[int] | None, typer.Option("--partition", "-p", min=0, help="Of this partition; may be repeated.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Move a group's offsets; it must have no running members. Try --dry-run first."""
    at = session(context)
    moves = run(_plan(at, name, target, topics or (), partitions or ()))
    if not dry_run:
        if at.output.is_for_people and not yes:
            at.output.rows(moves, MOVES)
        confirm(f"Move {len(moves)} offsets of group {name}?", yes=yes)
        run(_commit(at, name, {(each["topic"], each["partition"]): each["new_offset"] for each in moves}))
    if not at.output.is_for_people:
        at.output.value({"group": name, "dry_run": dry_run, "moves": moves})
        return
    if dry_run or yes:
        at.output.rows(moves, MOVES)
    at.output.heading(f"\n{len(moves)} offsets {'would be' if dry_run else 'were'} moved")


async def _plan(
    at: Session, name: str, target: str, topics: Sequence[str], partitions: Sequence[int]
) -> list[dict[str, Any]]:
    async with connected(at.profile) as kafka:
        known = {each.group_id: each for each in await groups.list_groups(kafka)}
        if name not in known and not topics:
            raise NotFound(f"no group {name!r}", "--topic makes one, at the offsets that you say")
        if name in known and known[name].group_state.lower() not in ("", *EMPTY_STATES):
            hint = "stop its consumers first; they would overwrite what is set"
            raise Refused(f"group {name!r} is {known[name].group_state}: it has members", hint)
        offsets = await groups.committed(kafka, name) if name in known else {}
        found = await bounds(kafka, topics or {topic for topic, _ in offsets})
        chosen = [
            place for place in found if (topics or place in offsets) and (not partitions or place[1] in partitions)
        ]
        if not chosen:
            raise NotFound(f"group {name!r} has no such offsets", f"see 'tidegate group describe {name}'")
        new = await goals(kafka, chosen, found, offsets, target, at.now_ms())
    return [
        {
            "topic": place[0],
            "partition": place[1],
            "committed_offset": offsets.get(place),
            "new_offset": new[place],
            "difference": None if place not in offsets else new[place] - offsets[place],
        }
        for place in chosen
    ]


async def _commit(at: Session, name: str, offsets: dict[Place, int]) -> None:
    async with connected(at.profile) as kafka:
        await groups.commit(kafka, name, offsets)


@command(app, "delete", examples=("tidegate group delete kitchen", "tidegate group delete kitchen bar --yes"))
def delete(
    context: typer.Context,
    names: Annotated[
        list[str], typer.Argument(metavar="GROUP", help="Ids of groups without members.", autocompletion=group_names)
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete groups with their committed offsets."""
    at = session(context)
    confirm(f"Delete {', '.join(names)} with all offsets?", yes=yes)

    async def work() -> Several:
        outcome = Several()
        async with connected(at.profile) as kafka:
            for name in dict.fromkeys(names):
                try:
                    node = await kafka.coordinator(name)
                    for each in (await kafka.call(DeleteGroupsRequest(groups_names=[name]), node=node)).results:
                        check(each.error_code, name)
                    outcome.done.append(name)
                except Refused as error:
                    outcome.refused[name] = error
        return outcome

    run(work()).tell(at.output, "deleted")
