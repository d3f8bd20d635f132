"""`tidegate cluster reassign`, `drain` and `rebalance`: partitions that move to other nodes."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tools.cli.clusters import plans
from tools.cli.clusters.layout import Layout, read_layout, read_moving
from tools.cli.clusters.moving import ask_for, status_rows, watch
from tools.cli.clusters.plans import Move
from tools.cli.completion import topic_names
from tools.cli.errors import CliError, UsageMistake
from tools.cli.framework import Session, command, confirm, group, session
from tools.cli.kafka import connected, run
from tools.cli.output import Column, size_text
from tools.cli.several import Several

app = group("Partitions that move: plan, apply, look at, cancel.")
MOVES = (
    Column("topic"),
    Column("partition", right=True),
    Column("before"),
    Column("replicas", "after"),
    Column("adding"),
    Column("removing"),
    Column("copied_bytes", "copied", size_text, right=True),
)
UNDER_WAY = (
    Column("topic"),
    Column("partition", right=True),
    Column("replicas", "target"),
    Column("adding"),
    Column("removing"),
    Column("in_sync", "in sync"),
    Column("copied_bytes", "copied", size_text, right=True),
    Column("size_bytes", "of", size_text, right=True),
)
WELL = "nothing has to be moved"

Topics = Annotated[
    list[str] | None, typer.Argument(metavar="[TOPIC]...", help="Only these.", autocompletion=topic_names)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be moved.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Do not wait until all is copied.")]


def register(cluster: typer.Typer) -> None:
    """Make them commands."""
    cluster.add_typer(app, name="reassign")
    command(cluster, "drain", examples=("tidegate cluster drain 3 --dry-run", "tidegate cluster drain 3 --yes"))(drain)
    command(
        cluster,
        "rebalance",
        examples=("tidegate cluster rebalance --dry-run", "tidegate cluster rebalance --yes --no-wait"),
    )(rebalance)


# -- plans


@command(
    app,
    "plan",
    examples=(
        "tidegate cluster reassign plan --replication-factor 3 --out plan.json",
        "tidegate cluster reassign plan orders --nodes 1,2,4",
        "tidegate cluster reassign plan -o json | jq '[.moves[].copied_bytes] | add'",
    ),
)
def plan(
    context: typer.Context,
    topics: Topics = None,
    factor: Annotated[
        int | None, typer.Option("--replication-factor", metavar="N", min=1, help="So many replicas each.")
    ] = None,
    nodes: Annotated[
        str | None, typer.Option("--nodes", metavar="N,N,...", help="Only on these nodes, with as many replicas.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write it as a file for 'reassign apply'.")
    ] = None,
) -> None:
    """Where partitions would lie with another number of replicas, on some nodes only, or evened out.

    Nothing is changed. The file is in the format of Kafka's own tool. Topics of the broker itself are meant too, unless
    some are named."""
    at = session(context)
    if factor is not None and nodes is not None:
        raise UsageMistake("--replication-factor and --nodes exclude each other", "make one plan after the other")
    layout = run(_layout(at))
    wanted = layout.of_topics(topics or ())
    if factor is not None:
        moves = plans.with_factor(layout, wanted, factor)
    elif nodes is not None:
        moves = plans.onto(layout, wanted, _numbers(nodes))
    else:
        named = {each.key for each in wanted}
        moves = [each for each in plans.balanced(layout) if each.key in named]
        _tell_of_nodes_away(at, layout)
    if out is not None:
        out.write_text(plans.written(moves))
    _show(at, moves, {"file": None if out is None else str(out)})


def _numbers(text: str) -> list[int]:
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise UsageMistake(f"{text!r} are no numbers of nodes", "write them like 1,2,3") from None


async def _layout(at: Session) -> Layout:
    async with connected(at.profile) as kafka:
        return await read_layout(kafka)


def _show(at: Session, moves: list[Move], more: dict[str, Any] | None = None) -> None:
    rows = [each.row() for each in moves]
    if not at.output.is_for_people:
        copied = sum(each.copied_bytes for each in moves)
        at.output.value({"moves": rows, "copied_bytes": copied, **(more or {})})
        return
    at.output.rows(rows, MOVES, empty=WELL)
    if moves:
        at.output.heading(f"\n{_told(moves)}")


def _told(moves: list[Move]) -> str:
    copied = sum(each.copied_bytes for each in moves)
    return f"{len(moves)} partitions, {sum(len(each.adding) for each in moves)} replicas, {size_text(copied)} to copy"


# -- carrying them out


@command(app, "apply", examples=("tidegate cluster reassign apply plan.json", "tidegate cluster reassign apply -"))
def apply(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A plan; - is standard input.")],
    no_wait: NoWait = False,
    yes: Yes = False,
) -> None:
    """Move partitions as a plan says, and wait until all is copied."""
    at = session(context)
    text = typer.get_text_stream("stdin").read() if file == "-" else _read(file)
    _carry_out(at, plans.read(text, run(_layout(at))), no_wait=no_wait, yes=yes)


def _read(file: str) -> str:
    try:
        return Path(file).read_text()
    except OSError as error:
        raise UsageMistake(f"{file} cannot be read: {error.strerror}", "'reassign plan --out' writes a plan") from None


def drain(
    context: typer.Context,
    node: Annotated[int, typer.Argument(metavar="NODE", help="The number of the node.")],
    dry_run: DryRun = False,
    no_wait: NoWait = False,
    yes: Yes = False,
) -> None:
    """Move everything from a node to the others, so that it can be taken away."""
    at = session(context)
    _do(at, plans.drained(run(_layout(at)), node), dry_run=dry_run, no_wait=no_wait, yes=yes)


def rebalance(context: typer.Context, dry_run: DryRun = False, no_wait: NoWait = False, yes: Yes = False) -> None:
    """Even out what nodes hold and lead, with as few moves as that takes; a new node gets its share."""
    at = session(context)
    layout = run(_layout(at))
    _tell_of_nodes_away(at, layout)
    _do(at, plans.balanced(layout), dry_run=dry_run, no_wait=no_wait, yes=yes)


def _tell_of_nodes_away(at: Session, layout: Layout) -> None:
    stuck = plans.on_nodes_away(layout)
    away = sorted({node for each in stuck for node in each.target}.difference(layout.nodes))
    for node in away:
        count = sum(node in each.target for each in stuck)
        at.output.note(
            f"node {node} is away and may come back: the {count} partitions with a replica there stay as they are; "
            f"'tidegate cluster drain {node}' moves them to others for good"
        )


def _do(at: Session, moves: list[Move], *, dry_run: bool, no_wait: bool, yes: bool) -> None:
    if dry_run:
        _show(at, moves, {"dry_run": True})
    else:
        _carry_out(at, moves, no_wait=no_wait, yes=yes)


def _carry_out(at: Session, moves: list[Move], *, no_wait: bool, yes: bool) -> None:
    if not moves:
        at.output.done(WELL, moved=[], refused=[])
        return
    confirm(f"Move {_told(moves)}?", yes=yes)
    outcome = run(_moved(at, moves, no_wait=no_wait), waits=no_wait)
    happened = "begun" if no_wait else "moved"
    if outcome.done or not at.output.is_for_people:
        said = f"{happened}: {len(outcome.done)} partitions"
        at.output.done(said, **{happened: outcome.done, "refused": outcome.refusals()})
    outcome.end(at.output)


async def _moved(at: Session, moves: list[Move], *, no_wait: bool) -> Several:
    async with connected(at.profile) as kafka:
        outcome = await ask_for(kafka, {each.key: each.after for each in moves})
        if not no_wait:
            taken = set(outcome.done)
            await watch(kafka, [each for each in moves if f"{each.topic}-{each.partition}" in taken])
    return outcome


# -- what is under way


@command(
    app,
    "status",
    examples=("tidegate cluster reassign status", "tidegate cluster reassign status -o json | jq length"),
)
def status(context: typer.Context) -> None:
    """What is being moved, and how much of it has been copied."""
    at = session(context)
    at.output.rows(status_rows(run(_layout(at))), UNDER_WAY, empty="nothing is being moved")


@command(
    app,
    "cancel",
    examples=("tidegate cluster reassign cancel --yes", "tidegate cluster reassign cancel orders"),
)
def cancel(context: typer.Context, topics: Topics = None, yes: Yes = False) -> None:
    """Leave partitions where they were before; what was copied already is removed."""
    at = session(context)

    async def work() -> Several:
        async with connected(at.profile) as kafka:
            moving = [key for key in await read_moving(kafka) if not topics or key[0] in topics]
            if not moving:
                raise CliError("nothing is being moved", "'tidegate cluster reassign status' shows what is")
            confirm(f"Take back {len(moving)} moves?", yes=yes)
            return await ask_for(kafka, dict.fromkeys(moving))

    outcome = run(work(), waits=False)
    outcome.tell(at.output, "cancelled")
