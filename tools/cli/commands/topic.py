"""`tidegate topic`: made, listed, looked at, altered, deleted, emptied."""

import re
from typing import Annotated, Any

import typer

from engine.ids import id_text
from tools.cli import settings
from tools.cli.completion import topic_names
from tools.cli.errors import NotOffered, UsageMistake, refusal
from tools.cli.framework import Session, command, confirm, group, session
from tools.cli.kafka import Kafka, check, connected, run
from tools.cli.offsets import Place, at_time, bounds, leaders
from tools.cli.output import Column, size_text
from tools.cli.settings import DEFAULT_SOURCE, Kind
from tools.cli.several import Several
from tools.cli.times import moment_ms
from wire.kafka.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from wire.kafka.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from wire.kafka.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from wire.kafka.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from wire.kafka.messages.describe_log_dirs import DescribeLogDirsRequest

app = group("Topics: make, list, look at, alter, delete, empty.")
TO_END = -1
TOPIC_EXISTS = 36
NOT_FOR_THIS_USER = 31

Name = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name.", autocompletion=topic_names)]
Names = Annotated[list[str], typer.Argument(metavar="TOPIC", help="Names of topics.", autocompletion=topic_names)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]

LIST = (
    Column("name", "topic"),
    Column("partitions", right=True),
    Column("replicas", right=True),
    Column("size_bytes", "size", size_text, right=True),
    Column("internal"),
)
PARTITIONS = (
    Column("partition", right=True),
    Column("leader", right=True),
    Column("replicas"),
    Column("isr"),
    Column("start_offset", "start", right=True),
    Column("end_offset", "end", right=True),
    Column("records", right=True),
)


def _timeout_ms(kafka: Kafka) -> int:
    return round(kafka.profile.timeout_s * 1_000)


@command(
    app,
    "create",
    examples=(
        "tidegate topic create orders",
        "tidegate topic create orders --partitions 6 --config retention.ms=3600000",
        "tidegate topic create jobs --config priority.enable=true",
        "tidegate topic create customers -c cleanup.policy=compact --if-not-exists",
        "tidegate topic create orders payments refunds --partitions 3",
    ),
)
def create(
    context: typer.Context,
    names: Names,
    partitions: Annotated[
        int, typer.Option("--partitions", "-p", help="How many; -1 is the broker's num.partitions.")
    ] = -1,
    replicas: Annotated[int, typer.Option("--replicas", "-r", help="Copies of each; -1 is as the broker says.")] = -1,
    config: Annotated[list[str] | None, typer.Option("--config", "-c", metavar="KEY=VALUE", help="A setting.")] = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="It is fine if it is there already.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Make topics, one or several alike."""
    at = session(context)
    configs = [CreatableTopicConfig(key, value) for key, value in settings.assignments(config or ()).items()]

    outcome = Several()

    async def work() -> list[dict[str, Any]]:
        async with connected(at.profile) as kafka:
            wanted = [CreatableTopic(name, partitions, replicas, [], configs) for name in names]
            request = CreateTopicsRequest(topics=wanted, timeout_ms=_timeout_ms(kafka), validate_only=dry_run)
            results = (await kafka.call(request)).topics
        made = []
        for each in results:
            if each.error_code and (each.error_code != TOPIC_EXISTS or not if_not_exists):
                outcome.refused[each.name] = refusal(each.error_code, repr(each.name), each.error_message)
                continue
            made.append({"topic": each.name, "created": not each.error_code, "partitions": each.num_partitions})
        return made

    for each in (made := run(work())):
        if at.output.is_for_people:
            happened = ("would be made" if dry_run else "made") if each["created"] else "is there already"
            at.output.done(f"topic {each['topic']} {happened}")
    if not at.output.is_for_people and (made or not outcome.refused):
        at.output.value(made)
    outcome.end(at.output)


@command(
    app,
    "list",
    examples=(
        "tidegate topic list",
        "tidegate topic list 'order.*'",
        "tidegate topic list --internal",
        "tidegate topic list -o json | jq -r '.[].name'",
    ),
)
def list_topics(
    context: typer.Context,
    pattern: Annotated[str, typer.Argument(metavar="[REGEX]", help="Only topics whose whole names match.")] = ".*",
    internal: Annotated[bool, typer.Option("--internal", "-i", help="The broker's own topics too.")] = False,
) -> None:
    """List topics with their sizes."""
    at = session(context)
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise UsageMistake(f"{pattern!r} is no regular expression: {error}", "quote it for the shell") from None

    async def work() -> list[dict[str, Any]]:
        async with connected(at.profile) as kafka:
            sizes = await _sizes(kafka)
            return [
                {
                    "name": topic.name,
                    "partitions": len(topic.partitions),
                    "replicas": max((len(each.replica_nodes) for each in topic.partitions), default=0),
                    "size_bytes": None if sizes is None else sizes.get(topic.name or "", 0),
                    "internal": topic.is_internal,
                }
                for topic in sorted((await kafka.metadata()).topics, key=lambda each: each.name or "")
                if wanted.fullmatch(topic.name or "") and (internal or not topic.is_internal)
            ]

    empty = "no topics; 'tidegate topic create NAME' makes one" if pattern == ".*" else f"no topic matches {pattern!r}"
    at.output.rows(run(work()), LIST, empty=empty)


async def _sizes(kafka: Kafka) -> dict[str, int] | None:
    """Bytes on disk of every topic, over all nodes; None for who may not know that."""
    sizes: dict[str, int] = {}
    for node in kafka.nodes:
        try:
            answer = await kafka.call(DescribeLogDirsRequest(topics=None), node=node)
        except NotOffered:
            return None
        if answer.error_code == NOT_FOR_THIS_USER:
            return None
        for folder in answer.results:
            for topic in folder.topics:
                sizes[topic.name] = sizes.get(topic.name, 0) + sum(each.partition_size for each in topic.partitions)
    return sizes


@command(
    app,
    "describe",
    examples=(
        "tidegate topic describe orders",
        "tidegate topic describe orders --all",
        "tidegate topic describe orders -o json | jq '[.partitions[].records] | add'",
    ),
)
def describe(
    context: typer.Context,
    name: Name,
    everything: Annotated[bool, typer.Option("--all", help="Settings that nobody has set, too.")] = False,
) -> None:
    """One topic: partitions with offsets, and settings."""
    at = session(context)

    async def work() -> dict[str, Any]:
        async with connected(at.profile) as kafka:
            topic = await kafka.topic(name)
            found = await bounds(kafka, [name])
            configs = await settings.read(kafka, Kind.TOPIC, name)
        return {
            "name": name,
            "topic_id": id_text(bytes(topic.topic_id)),
            "internal": topic.is_internal,
            "partitions": [
                {
                    "partition": each.partition_index,
                    "leader": each.leader_id,
                    "replicas": list(each.replica_nodes),
                    "isr": list(each.isr_nodes),
                    "start_offset": found[name, each.partition_index][0],
                    "end_offset": found[name, each.partition_index][1],
                    "records": found[name, each.partition_index][1] - found[name, each.partition_index][0],
                }
                for each in sorted(topic.partitions, key=lambda each: each.partition_index)
            ],
            "configs": [each for each in configs if everything or each["source"] != DEFAULT_SOURCE],
        }

    found = run(work())
    if not at.output.is_for_people:
        at.output.value(found)
        return
    at.output.heading(f"topic {name}, id {found['topic_id']}\n")
    at.output.rows(found["partitions"], PARTITIONS)
    if found["configs"]:
        at.output.heading("")
        at.output.rows(found["configs"], settings.COLUMNS)


@command(
    app,
    "alter",
    examples=(
        "tidegate topic alter orders --set retention.ms=86400000",
        "tidegate topic alter orders --unset retention.ms --dry-run",
    ),
)
def alter(
    context: typer.Context,
    name: Name,
    assigned: Annotated[list[str] | None, typer.Option("--set", "-s", metavar="KEY=VALUE", help="Set this.")] = None,
    removed: Annotated[list[str] | None, typer.Option("--unset", "-u", metavar="KEY", help="Back to default.")] = None,
    dry_run: DryRun = False,
) -> None:
    """Set or unset settings of a topic; they are in force at once."""
    at = session(context)
    values, gone = settings.assignments(assigned or ()), list(removed or ())
    if not values and not gone:
        raise UsageMistake("nothing to alter", "give --set KEY=VALUE or --unset KEY")

    async def work() -> None:
        async with connected(at.profile) as kafka:
            await settings.change(kafka, Kind.TOPIC, name, values, gone, dry_run=dry_run)

    run(work())
    said = "could be altered so" if dry_run else "altered"
    at.output.done(f"topic {name} {said}", topic=name, set=values, unset=gone, dry_run=dry_run)


@command(app, "delete", examples=("tidegate topic delete orders", "tidegate topic delete orders payments --yes"))
def delete(context: typer.Context, names: Names, yes: Yes = False) -> None:
    """Delete topics with all their records."""
    at = session(context)

    async def look() -> None:
        async with connected(at.profile) as kafka:
            await kafka.topics(names)

    async def work() -> Several:
        outcome = Several()
        async with connected(at.profile) as kafka:
            states = [DeleteTopicState(name=name) for name in names]
            request = DeleteTopicsRequest(topics=states, topic_names=names, timeout_ms=_timeout_ms(kafka))
            for each in (await kafka.call(request)).responses:
                name = each.name or ""
                if each.error_code:
                    outcome.refused[name] = refusal(each.error_code, repr(name), each.error_message)
                else:
                    outcome.done.append(name)
        return outcome

    run(look())
    confirm(f"Delete {', '.join(names)} with all records?", yes=yes)
    run(work()).tell(at.output, "deleted")


@command(
    app, "partitions", examples=("tidegate topic partitions orders 12 --dry-run", "tidegate topic partitions orders 12")
)
def partitions(
    context: typer.Context,
    name: Name,
    count: Annotated[int, typer.Argument(help="How many there are to be in all.", min=1)],
    dry_run: DryRun = False,
) -> None:
    """Give a topic more partitions. Keys then go to other partitions than before."""
    at = session(context)

    async def work() -> None:
        async with connected(at.profile) as kafka:
            wanted = CreatePartitionsTopic(name=name, count=count, assignments=None)
            request = CreatePartitionsRequest(topics=[wanted], timeout_ms=_timeout_ms(kafka), validate_only=dry_run)
            for each in (await kafka.call(request)).results:
                check(each.error_code, each.name, each.error_message)

    run(work())
    said = "could have" if dry_run else "has"
    at.output.done(f"topic {name} {said} {count} partitions", topic=name, partitions=count, dry_run=dry_run)


@command(
    app,
    "purge",
    examples=(
        "tidegate topic purge orders --dry-run",
        "tidegate topic purge orders --before -7d --yes",
        "tidegate topic purge orders --partition 0 --offset 1000",
    ),
)
def purge(
    context: typer.Context,
    name: Name,
    partition: Annotated[int | None, typer.Option("--partition", "-p", help="Of this partition alone.")] = None,
    offset: Annotated[int | None, typer.Option("--offset", help="Only records before this offset.", min=0)] = None,
    before: Annotated[str | None, typer.Option("--before", metavar="TIME", help="Only records before then.")] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Delete the records of a topic, all or the older ones; the topic stays. Delayed records stay too."""
    at = session(context)
    if offset is not None and before is not None:
        raise UsageMistake("--offset and --before exclude each other", "give one of them")
    plan = run(_purge_plan(at, name, partition, offset, before))
    records = sum(each["records"] for each in plan)
    if not dry_run:
        confirm(f"Delete {records} records of {name}?", yes=yes)
        run(_purge(at, name, {each["partition"]: each["new_start"] for each in plan}))
    if not at.output.is_for_people:
        at.output.value({"topic": name, "records": records, "dry_run": dry_run, "partitions": plan})
        return
    columns = (
        Column("partition", right=True),
        Column("start_offset", "start", right=True),
        Column("new_start", "new start", right=True),
        Column("records", right=True),
    )
    at.output.rows(plan, columns)
    at.output.heading(f"\n{records} records {'would be' if dry_run else 'were'} deleted")


async def _purge_plan(
    at: Session, name: str, partition: int | None, offset: int | None, before: str | None
) -> list[dict[str, int]]:
    async with connected(at.profile) as kafka:
        found = {place: each for place, each in (await bounds(kafka, [name])).items() if partition in (None, place[1])}
        if not found:
            raise UsageMistake(f"topic {name!r} has no partition {partition}", f"see 'tidegate topic describe {name}'")
        times: dict[Place, int] = {}
        if before is not None:
            times = await at_time(kafka, found, moment_ms(before, at.now_ms()))
    plan = []
    for place, (start, end) in found.items():
        target = offset if offset is not None else times.get(place, end)
        stop = max(start, min(target, end))
        plan.append({"partition": place[1], "start_offset": start, "new_start": stop, "records": stop - start})
    return plan


async def _purge(at: Session, name: str, starts: dict[int, int]) -> None:
    async with connected(at.profile) as kafka:
        led = await leaders(kafka, [name])
        for node in sorted({led[name, partition] for partition in starts}):
            wanted = [DeleteRecordsPartition(each, to) for each, to in starts.items() if led[name, each] == node]
            topics = [DeleteRecordsTopic(name=name, partitions=wanted)]
            request = DeleteRecordsRequest(topics=topics, timeout_ms=_timeout_ms(kafka))
            for topic in (await kafka.call(request, node=node)).topics:
                for each in topic.partitions:
                    check(each.error_code, f"{name}-{each.partition_index}")
