"""`tidegate cluster info` and `tidegate status`: the nodes, and whether all is well."""

from typing import Any

import typer

from tools.cli.door import Door, spoken
from tools.cli.door_address import Broker, ask, compare, door_of
from tools.cli.errors import CliError, Exit
from tools.cli.framework import Session, command, group, session
from tools.cli.kafka import connected, run
from tools.cli.output import Column, size_text
from tools.cli.profiles import DEFAULT_HTTP, Profile
from tools.cli.times import span_text
from wire.kafka.messages.describe_cluster import DescribeClusterRequest

app = group("The cluster: its nodes.")
NODES = (Column("node", right=True), Column("host"), Column("port", right=True), Column("rack"), Column("controller"))
NO_DOOR = "no operations door is known; --http names one"
STATUS_EXAMPLES = ("tidegate status", "tidegate status -o json | jq .health.status")


@command(app, "info", examples=("tidegate cluster info", "tidegate cluster info -b kafka-1:9092 -o yaml"))
def info(context: typer.Context) -> None:
    """The cluster's id and nodes, and how much it holds; of any Kafka broker."""
    at = session(context)
    found = run(_cluster(at))
    if not at.output.is_for_people:
        at.output.value(found)
        return
    at.output.heading(f"cluster {found['cluster_id']}: {found['topics']} topics, {found['partitions']} partitions\n")
    at.output.rows(found["nodes"], NODES)


async def _cluster(at: Session) -> dict[str, Any]:
    async with connected(at.profile) as kafka:
        answer = await kafka.call(DescribeClusterRequest())
        metadata = await kafka.metadata()
    return {
        "cluster_id": answer.cluster_id,
        "topics": len(metadata.topics),
        "partitions": sum(len(topic.partitions) for topic in metadata.topics),
        "nodes": [
            {
                "node": each.broker_id,
                "host": each.host,
                "port": each.port,
                "rack": each.rack,
                "controller": each.broker_id == answer.controller_id,
            }
            for each in sorted(answer.brokers, key=lambda each: each.broker_id)
        ],
    }


def status(context: typer.Context) -> None:
    """Whether the broker serves Kafka's clients and all its partitions, and has room on its disk.

    Ends with status 1 if not, and with 3 if nobody answers."""
    at = session(context)
    broker, kafka_error = _kafka(at)
    url = _door(at.profile, broker)
    health, door_error = (None, NO_DOOR) if url is None else _health(at.profile, url, broker)
    refused = door_error.status if isinstance(door_error, CliError) else Exit.OK
    facts: dict[str, Any] = {
        "kafka": at.profile.bootstrap,
        "http": url,
        "serves_kafka": broker is not None,
        "kafka_error": kafka_error,
        "health": health,
        "http_error": None if door_error is None else str(door_error),
    }
    # A broker without a door is no less well.
    well = broker is not None and (health or {}).get("status", "ok") == "ok" and refused in (Exit.OK, Exit.UNREACHABLE)
    if at.output.is_for_people:
        _tell(at, facts, door_error)
    else:
        at.output.value({"ok": well, **facts})
    if broker is None and health is None:
        raise typer.Exit(Exit.UNREACHABLE)
    if not well:
        raise typer.Exit(Exit.REFUSED if refused is Exit.REFUSED else Exit.FAILED)


def _kafka(at: Session) -> tuple[Broker | None, str | None]:
    try:
        return ask(at.profile), None
    except CliError as error:
        return None, str(error)


def _door(profile: Profile, broker: Broker | None) -> str | None:
    """Where to ask how the broker is: a broker that is starting answers there first."""
    if profile.http is not None or broker is None:
        return profile.http or (None if profile.names_bootstrap else DEFAULT_HTTP)
    return None if broker.door is None else door_of(profile, broker)


def _health(profile: Profile, url: str, broker: Broker | None) -> tuple[dict[str, Any] | None, CliError | None]:
    """What the door says."""
    try:
        with spoken(Door(url, profile.token, profile.timeout_s)) as door:
            found = door.health()
            if broker is not None and found["status"] not in ("starting", "stopping"):
                compare(broker, door.read("cluster")["cluster_id"], url, profile.bootstrap)
            return found, None
    except CliError as error:
        return None, error


def _tell(at: Session, facts: dict[str, Any], door_error: CliError | str | None) -> None:
    at.output.heading(f"kafka    {facts['kafka']}  {facts['kafka_error'] or 'serves clients'}")
    health = facts["health"]
    if health is None:
        where = f"{facts['http']}  " if facts["http"] else ""
        said = str(door_error).removeprefix(f"{facts['http']} ")
        hint = f"; {door_error.hint}" if isinstance(door_error, CliError) and door_error.hint else ""
        at.output.heading(f"door     {where}{said}{hint}")
        return
    up = span_text(round(health["uptime_seconds"] * 1_000))
    offline = health["offline_partitions"]
    partitions = f"{health['partitions']} partitions" + (f", {offline} offline" if offline else "")
    if damages := health.get("damages"):
        partitions += f", {damages} damaged places on disk ('tidegate scrub' names them)"
    at.output.heading(f"health   {facts['http']}  {health['status']}, up {up}, {partitions}")
    if isinstance(health.get("storage"), dict):
        at.output.heading(f"disk     {_storage(health['storage'])}")


def _storage(storage: dict[str, Any]) -> str:
    """The room on the broker's disk, and what it refuses for lack of it."""
    size, free = storage.get("size_bytes"), storage.get("free_bytes")
    text = f"{size_text(free)} free" + (f" of {size_text(size)}" if size is not None else "")
    if storage.get("refused"):
        text += f"; refused: {storage['refused']}"
    if storage.get("set_aside_files"):
        text += (
            f"; {storage['set_aside_files']} files of {size_text(storage.get('set_aside_bytes'))} were set aside in "
            "recovery and wait for somebody to look at them"
        )
    return text
