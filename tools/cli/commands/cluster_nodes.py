"""`tidegate cluster nodes`, `partitions` and `elect`: who holds and leads what, and others that lead."""

from collections import Counter
from typing import Annotated, Any

import typer

from tools.cli import settings
from tools.cli.clusters.layout import Layout, PartitionLayout, read_layout
from tools.cli.completion import topic_names
from tools.cli.door import door_at, spoken
from tools.cli.door_address import DOOR_KEY
from tools.cli.errors import UsageMistake, refusal
from tools.cli.framework import Session, command, confirm, session
from tools.cli.kafka import Kafka, check, connected, run
from tools.cli.output import Column, size_text
from tools.cli.settings import Kind
from tools.cli.several import Several
from wire.kafka.messages.elect_leaders import ElectLeadersRequest, TopicPartitions

PREFERRED, UNCLEAN = 0, 1
NOT_NEEDED = 84

Topic = Annotated[str | None, typer.Argument(metavar="[TOPIC]", help="Only this topic.", autocompletion=topic_names)]

NODES = (
    Column("node", right=True),
    Column("state"),
    Column("host"),
    Column("port", right=True),
    Column("rack"),
    Column("controller"),
    Column("leaders", right=True),
    Column("preferred", right=True),
    Column("replicas", right=True),
    Column("in_sync", "in sync", right=True),
    Column("size_bytes", "size", size_text, right=True),
)
PARTITIONS = (
    Column("topic"),
    Column("partition", right=True),
    Column("leader", right=True),
    Column("leader_epoch", "epoch", right=True),
    Column("replicas"),
    Column("isr"),
    Column("elr"),
    Column("adding"),
    Column("removing"),
    Column("size_bytes", "size", size_text, right=True),
)
LAG = Column("lags", "lag", lambda lags: _lag_text(lags))


def register(app: typer.Typer) -> None:
    """Make them commands."""
    command(app, "nodes", examples=("tidegate cluster nodes", "tidegate cluster nodes -o json | jq '.[].leaders'"))(
        nodes
    )
    command(
        app,
        "partitions",
        examples=(
            "tidegate cluster partitions orders",
            "tidegate cluster partitions --lacking",
            "tidegate cluster partitions orders --lag -o yaml",
        ),
    )(partitions)
    command(
        app,
        "elect",
        examples=(
            "tidegate cluster elect",
            "tidegate cluster elect orders --partition 3",
            "tidegate cluster elect orders --partition 3 --unclean",
        ),
    )(elect)


# -- nodes


def nodes(context: typer.Context) -> None:
    """The nodes, with what each leads and holds. A node that is away is listed if partitions lie on it."""
    at = session(context)
    at.output.rows(_node_rows(run(_layout(at))), NODES)


async def _layout(at: Session, topics: list[str] | None = None) -> Layout:
    async with connected(at.profile) as kafka:
        return await read_layout(kafka, topics)


def _node_rows(layout: Layout) -> list[dict[str, Any]]:
    led, first, held, in_sync, size = Counter[int](), Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    for each in layout.partitions:
        led[each.leader] += 1
        first[each.target[0]] += 1
        held.update(each.replicas)
        in_sync.update(each.isr)
    for (_, holder), size_bytes in layout.sizes.items():
        size[holder] += size_bytes
    rows = []
    for number in sorted({*layout.nodes, *held}):
        node = layout.nodes.get(number)
        rows.append(
            {
                "node": number,
                "state": "away" if node is None else "serves",
                "host": None if node is None else node.host,
                "port": None if node is None else node.port,
                "rack": None if node is None else node.rack,
                "controller": number == layout.controller,
                "leaders": led[number],
                "preferred": first[number],
                "replicas": held[number],
                "in_sync": in_sync[number],
                "size_bytes": None if node is None else size[number],
            }
        )
    return rows


# -- partitions


def partitions(
    context: typer.Context,
    topic: Topic = None,
    lacking: Annotated[
        bool, typer.Option("--lacking", help="Only those without a leader, or with replicas out of sync.")
    ] = False,
    lag: Annotated[
        bool, typer.Option("--lag", help="What each replica lacks; the operations doors of leaders tell it.")
    ] = False,
) -> None:
    """Who leads and holds which partition, and which replicas are in sync."""
    at = session(context)
    rows = run(_partitions(at, topic, lacking=lacking, lag=lag))
    columns = (*PARTITIONS, LAG) if lag else PARTITIONS
    at.output.rows(rows, columns, empty="all partitions have what they need" if lacking else "no partitions")


async def _partitions(at: Session, topic: str | None, *, lacking: bool, lag: bool) -> list[dict[str, Any]]:
    async with connected(at.profile) as kafka:
        layout = await read_layout(kafka, None if topic is None else [topic])
        wanted = [each for each in layout.partitions if each.lacks or not lacking]
        doors = await _doors(kafka, layout, wanted) if lag else {}
    return [_partition_row(each, at, doors) if lag else _row(each) for each in wanted]


def _row(each: PartitionLayout) -> dict[str, Any]:
    return {
        "topic": each.topic,
        "partition": each.partition,
        "leader": each.leader,
        "leader_epoch": each.leader_epoch,
        "replicas": list(each.replicas),
        "isr": list(each.isr),
        "elr": list(each.elr),
        "adding": list(each.adding),
        "removing": list(each.removing),
        "size_bytes": each.size_bytes,
    }


async def _doors(kafka: Kafka, layout: Layout, wanted: list[PartitionLayout]) -> dict[int, str]:
    """Where the operations doors of leaders are."""
    found = {}
    for node in sorted({each.leader for each in wanted} & set(layout.nodes)):
        for each in await settings.read(kafka, Kind.BROKER, str(node), [DOOR_KEY]):
            if each["value"]:
                found[node] = str(each["value"])
    return found


def _partition_row(each: PartitionLayout, at: Session, doors: dict[int, str]) -> dict[str, Any]:
    url = doors.get(each.leader)
    lags: list[dict[str, Any]] | None = None
    if url is not None:
        with spoken(door_at(url, at.profile)) as door:
            told = door.read("cluster", "partitions", each.topic, str(each.partition))
        names = ("node_id", "in_sync", "lag")
        lags = [{name: replica[name] for name in names} for replica in told["replicas"]]
    return {**_row(each), "lags": lags}


def _lag_text(lags: list[dict[str, Any]] | None) -> str:
    if lags is None:
        return "-"
    parts = []
    for each in lags:
        lag = each["lag"]
        late = f" ({lag['seconds']:.1f} s)" if lag is not None and lag["records"] else ""
        parts.append(f"{each['node_id']}: {'?' if lag is None else lag['records']}{late}")
    return ", ".join(parts)


# -- elections


def elect(
    context: typer.Context,
    topic: Topic = None,
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", help="Of the topic; may be repeated.")
    ] = None,
    unclean: Annotated[
        bool,
        typer.Option("--unclean", help="Where nobody leads, whoever is left: what only others have is lost."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Let the first replica of each partition lead again, of all or of a topic."""
    at = session(context)
    if partition and topic is None:
        raise UsageMistake("--partition needs a topic", "tidegate cluster elect TOPIC --partition N")
    if unclean:
        what = "all partitions without a leader" if topic is None else f"partitions of {topic} without a leader"
        confirm(f"Let any replica lead {what}, though records may be lost?", yes=yes)
    outcome, unneeded = run(_elect(at, topic, partition or [], unclean=unclean))
    if outcome.done or not outcome.refused:
        said = f"elected: {', '.join(outcome.done)}" if outcome.done else "nothing to elect"
        at.output.done(said, elected=outcome.done, not_needed=unneeded, refused=outcome.refusals())
    outcome.end(at.output)


async def _elect(at: Session, topic: str | None, partitions: list[int], *, unclean: bool) -> tuple[Several, list[str]]:
    outcome, unneeded = Several(), []
    async with connected(at.profile) as kafka:
        wanted = None
        if topic is not None:
            known = [each.partition_index for each in (await kafka.topic(topic)).partitions]
            wanted = [TopicPartitions(topic, partitions or known)]
        kind = UNCLEAN if unclean else PREFERRED
        timeout_ms = round(at.profile.timeout_s * 1_000)
        answer = await kafka.call(
            ElectLeadersRequest(election_type=kind, topic_partitions=wanted, timeout_ms=timeout_ms)
        )
        check(answer.error_code, "the election")
    for found in answer.replica_election_results:
        for each in found.partition_result:
            name = f"{found.topic}-{each.partition_id}"
            if each.error_code == NOT_NEEDED:
                unneeded.append(name)
            elif each.error_code:
                outcome.refused[name] = refusal(each.error_code, repr(name), each.error_message)
            else:
                outcome.done.append(name)
    return outcome, unneeded
