"""`tidegate share`: work queues over topics; who works on them, how far they are, what is in hand, begin elsewhere."""

from typing import Annotated, Any

import typer

from tools.cli import all_doors, shares
from tools.cli.all_doors import all_opened
from tools.cli.completion import group_names, topic_names
from tools.cli.errors import CliError, NotFound
from tools.cli.framework import Session, command, confirm, group, session
from tools.cli.kafka import connected, run
from tools.cli.offsets import Place, bounds, goals
from tools.cli.output import Column
from tools.cli.times import duration_ms, moment_text, span_text

app = group("Share groups: work queues over topics. Members, lag, what is in hand; begin elsewhere.")

Name = Annotated[str, typer.Argument(metavar="GROUP", help="The group's id.", autocompletion=group_names)]


def _lanes_text(lanes: dict[str, int] | None) -> str:
    """What is in hand by priority; nothing where all of it is normal."""
    if not lanes or set(lanes) == {"normal"}:
        return ""
    return ", ".join(f"{count} {lane}" for lane, count in lanes.items())


MEMBERS = (Column("member_id", "member"), Column("client_id", "client"), Column("host"), Column("partitions"))
PLACES = (
    Column("topic"),
    Column("partition", right=True),
    Column("start_offset", "start", right=True),
    Column("lag", right=True),
)
MOVES = (*PLACES[:3], Column("new_offset", "new", right=True))
DESCRIBED = (
    *PLACES,
    Column("in_hand", "in hand", right=True),
    Column("in_hand_lanes", "by lane", _lanes_text),
    Column("backed_off", "waiting", right=True),
)
IN_HAND = (
    Column("topic"),
    Column("partition", right=True),
    Column("first_offset", "from", right=True),
    Column("last_offset", "to", right=True),
    Column("member_id", "member"),
    Column("delivery_count", "attempt", right=True),
    Column("lanes", "by lane", _lanes_text),
    Column("lock_ms", "lock", span_text, right=True),
    Column("last_delivered_ms", "handed out (UTC)", moment_text),
)


@command(app, "list", examples=("tidegate share list", "tidegate share list --state Stable -o json"))
def list_all(
    context: typer.Context,
    state: Annotated[str | None, typer.Option("--state", help="Only groups in this state.")] = None,
) -> None:
    """List share groups."""
    at = session(context)

    async def work() -> list[dict[str, Any]]:
        async with connected(at.profile) as kafka:
            return [
                {"group": each.group_id, "state": each.group_state}
                for each in await shares.list_shares(kafka)
                if state is None or each.group_state.lower() == state.lower()
            ]

    at.output.rows(run(work()), (Column("group"), Column("state")), empty="no share groups")


@command(app, "describe", examples=("tidegate share describe mail", "tidegate share describe mail -o json"))
def describe(context: typer.Context, name: Name) -> None:
    """One share group: its members, where it is and how far behind."""
    at = session(context)
    held = _held(at, name)

    async def work() -> dict[str, Any]:
        async with connected(at.profile) as kafka:
            found = await shares.describe(kafka, name)
            places = await shares.offsets(kafka, name)
        for row in places:
            told = held.get((row["topic"], row["partition"]), {})
            row.update({key: told.get(key) for key in ("window", "in_hand", "in_hand_lanes", "backed_off")})
        return {
            "group": name,
            "state": found.group_state,
            "assignor": found.assignor_name,
            "lag": sum(row["lag"] or 0 for row in places),
            "members": shares.members(found),
            "offsets": places,
        }

    found = run(work())
    if not at.output.is_for_people:
        at.output.value(found)
        return
    at.output.heading(f"share group {name}: {found['state']}, {len(found['members'])} members, lag {found['lag']}\n")
    if found["members"]:
        _show_members(at, found["members"])
        at.output.heading("")
    at.output.rows(found["offsets"], DESCRIBED, empty="it has not begun with any partition")


def _held(at: Session, name: str) -> dict[tuple[str, int], dict[str, Any]]:
    """What leaders tell of a group's partitions; nothing where there is no operations door."""
    try:
        with all_opened(at.profile) as doors:
            found = all_doors.places(doors, name)
            doors.warn(at.output)
    except CliError:
        return {}
    return found


def _show_members(at: Session, rows: list[dict[str, Any]]) -> None:
    shown = [{**row, "partitions": ", ".join(row["partitions"])} for row in rows] if at.output.is_for_people else rows
    at.output.rows(shown, MEMBERS, empty="it has no members")


@command(app, "members", examples=("tidegate share members mail",))
def list_members(context: typer.Context, name: Name) -> None:
    """The members of a share group, and what each was assigned."""
    at = session(context)

    async def work() -> list[dict[str, Any]]:
        async with connected(at.profile) as kafka:
            return shares.members(await shares.describe(kafka, name))

    _show_members(at, run(work()))


@command(app, "offsets", examples=("tidegate share offsets mail",))
def list_offsets(context: typer.Context, name: Name) -> None:
    """Where a share group is: the first record that is not finished, and how many are not."""
    at = session(context)

    async def work() -> list[dict[str, Any]]:
        async with connected(at.profile) as kafka:
            await shares.describe(kafka, name)
            return await shares.offsets(kafka, name)

    at.output.rows(run(work()), PLACES, empty="it has not begun with any partition")


@command(
    app,
    "reset",
    examples=(
        "tidegate share reset mail --to earliest --dry-run",
        "tidegate share reset mail --to @2026-11-16T12:00 --topic jobs --yes",
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
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Have a share group without members start at another place; what it finished after that is forgotten."""
    at = session(context)
    moves = run(_plan(at, name, target, topics or []))
    if not dry_run:
        if at.output.is_for_people and not yes:
            at.output.rows(moves, MOVES)
        confirm(f"Let share group {name} begin elsewhere in {len(moves)} partitions?", yes=yes)

        async def work() -> None:
            async with connected(at.profile) as kafka:
                starts = {(each["topic"], each["partition"]): each["new_offset"] for each in moves}
                await shares.begin_at(kafka, name, starts)

        run(work())
    if not at.output.is_for_people:
        at.output.value({"group": name, "dry_run": dry_run, "moves": moves})
        return
    if dry_run or yes:
        at.output.rows(moves, MOVES)
    at.output.heading(f"\n{len(moves)} partitions {'would begin' if dry_run else 'begin'} elsewhere")


async def _plan(at: Session, name: str, target: str, topics: list[str]) -> list[dict[str, Any]]:
    async with connected(at.profile) as kafka:
        is_known = name in {each.group_id for each in await shares.list_shares(kafka)}
        if not is_known and not topics:
            raise NotFound(f"no share group {name!r}", "--topic makes one, that begins where you say")
        rows = await shares.offsets(kafka, name) if is_known else []
        starts: dict[Place, int | None] = {(row["topic"], row["partition"]): row["start_offset"] for row in rows}
        found = await bounds(kafka, topics or {topic for topic, _ in starts})
        chosen = [place for place in found if topics or place in starts]
        if not chosen:
            raise NotFound(f"share group {name!r} has begun with no partition", "--topic says which it should have")
        begun = {place: start for place, start in starts.items() if start is not None}
        new = await goals(kafka, chosen, found, begun, target, at.now_ms())
    return [
        {"topic": place[0], "partition": place[1], "start_offset": starts.get(place), "new_offset": new[place]}
        for place in chosen
    ]


@command(app, "in-flight", examples=("tidegate share in-flight mail", "tidegate share in-flight mail -o json"))
def in_flight(context: typer.Context, name: Name) -> None:
    """Records that members of a share group have in hand, asked of the doors of all nodes."""
    at = session(context)
    with all_opened(at.profile) as doors:
        rows = all_doors.in_hand(doors, name)
        doors.warn(at.output)
    at.output.rows(rows, IN_HAND, empty=f"members of {name} have nothing in hand")


@command(
    app,
    "release",
    examples=(
        "tidegate share release mail --yes",
        "tidegate share release mail --member 3f2b --yes",
        "tidegate share release mail --topic jobs --partition 0 --offset 17 --delay 5m --yes",
    ),
)
def release(
    context: typer.Context,
    name: Name,
    member: Annotated[str | None, typer.Option("--member", "-m", help="What this member has; else all.")] = None,
    topic: Annotated[
        str | None, typer.Option("--topic", "-t", help="Only of this topic.", autocompletion=topic_names)
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", "-p", min=0, help="Only of this partition.")] = None,
    offset: Annotated[int | None, typer.Option("--offset", min=0, help="Only this record.")] = None,
    delay: Annotated[
        str | None, typer.Option("--delay", metavar="SPAN", help="Nobody is given it before, e.g. 90s or 5m.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Take back what members have in hand, so that others get it; a member that goes on with it cannot finish it."""
    at = session(context)
    delay_ms = 0 if delay is None else duration_ms(delay)
    whose = "all members" if member is None else member
    confirm(f"Take back what {whose} of share group {name} have?", yes=yes)
    with all_opened(at.profile) as doors:
        counts = doors.each(
            lambda door: door.release_shared(
                name, member, topic=topic, partition=partition, first_offset=offset, delay_ms=delay_ms
            )
        )
        released = sum(counts)
        doors.warn(at.output)
    if at.output.is_for_people:
        at.output.heading(f"{released} records of {name} are there for others")
    else:
        at.output.value({"group": name, "released": released})
