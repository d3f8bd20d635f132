"""`tidegate cluster info` and `tidegate status`: the nodes, and whether all is well."""

from typing import Any

import typer

from tools.cli.door import opened
from tools.cli.errors import CannotReach, CliError, Exit
from tools.cli.framework import Session, command, group, session
from tools.cli.kafka import connected, run
from tools.cli.output import Column
from tools.cli.times import span_text
from wire.kafka.messages.describe_cluster import DescribeClusterRequest

app = group("The cluster: its nodes.")
NODES = (Column("node", right=True), Column("host"), Column("port", right=True), Column("rack"), Column("controller"))
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
    """Whether the broker serves Kafka's clients and all its partitions.

    Ends with status 1 if not, and with 3 if nobody answers."""
    at = session(context)
    facts: dict[str, Any] = {"kafka": at.profile.bootstrap, "http": at.profile.http}
    facts["serves_kafka"], facts["kafka_error"] = _kafka(at)
    facts["health"], facts["http_error"] = _health(at)
    health = facts["health"] or {}
    well = facts["serves_kafka"] and health.get("status", "ok") == "ok"
    if at.output.is_for_people:
        _tell(at, facts)
    else:
        at.output.value({"ok": well, **facts})
    if not facts["serves_kafka"] and facts["health"] is None:
        raise typer.Exit(Exit.UNREACHABLE)
    if not well:
        raise typer.Exit(Exit.FAILED)


def _kafka(at: Session) -> tuple[bool, str | None]:
    try:
        run(_cluster(at))
    except CliError as error:
        return False, str(error)
    return True, None


def _health(at: Session) -> tuple[dict[str, Any] | None, str | None]:
    """What the door says; a broker without one is no less well."""
    try:
        with opened(at.profile) as door:
            return door.health(), None
    except CannotReach as error:
        return None, str(error)


def _tell(at: Session, facts: dict[str, Any]) -> None:
    at.output.heading(f"kafka   {facts['kafka']}  {facts['kafka_error'] or 'serves clients'}")
    health = facts["health"]
    if health is None:
        at.output.heading(f"door    {facts['http']}  {str(facts['http_error']).removeprefix(facts['http'] + ' ')}")
        return
    up = span_text(round(health["uptime_seconds"] * 1_000))
    offline = health["offline_partitions"]
    partitions = f"{health['partitions']} partitions" + (f", {offline} offline" if offline else "")
    at.output.heading(f"health  {facts['http']}  {health['status']}, up {up}, {partitions}")
