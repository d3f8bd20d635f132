"""`tidegate cluster info`, `tidegate cluster run` and `tidegate status`: the nodes, and whether all is well."""

import os
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from tools.cli.commands import cluster_moves, cluster_nodes
from tools.cli.door import door_at, spoken
from tools.cli.door_address import Broker, ask, compare, door_of
from tools.cli.errors import CliError, Exit
from tools.cli.framework import OfflineCommand, ServeCommand, Session, command, group, session
from tools.cli.kafka import connected, run
from tools.cli.output import Column, size_text
from tools.cli.profiles import DEFAULT_HTTP, Profile
from tools.cli.progress import progress
from tools.cli.times import span_text
from wire.kafka.messages.describe_cluster import DescribeClusterRequest

app = group("The cluster: its nodes and partitions, moves and elections; run one on this machine.")
cluster_nodes.register(app)
cluster_moves.register(app)
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


RUN_EXAMPLES = (
    "tidegate cluster run",
    "tidegate cluster run --nodes 5 --data-dir /tmp/five --set default.replication.factor=3",
    "tidegate cluster run --nodes 4 --etcd http://a:2379,http://b:2379 --rack machine-a --host 10.0.0.1 "
    "--set listener.allow.anonymous=true",
)


@command(app, "run", examples=RUN_EXAMPLES, cls=ServeCommand)
def run_cluster(
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", min=1, help="How many nodes.")] = 3,
    etcd: Annotated[
        str | None,
        typer.Option("--etcd", metavar="URL[,URL]", help="An etcd that runs; without it one is run here."),
    ] = None,
    data_dir: Annotated[
        Path, typer.Option("--data-dir", metavar="DIR", help="Where data and logs of all of them are kept.")
    ] = Path("cluster-data"),
    rack: Annotated[str | None, typer.Option("--rack", metavar="RACK", help="Where all these nodes stand.")] = None,
    first_node_id: Annotated[
        int, typer.Option("--first-node-id", metavar="N", min=0, help="The number of the first node.")
    ] = 1,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", help="Of the first node, others follow; 0 takes free ones.")
    ] = 9092,
    http_port: Annotated[
        int,
        typer.Option("--http-port", metavar="PORT", help="The same of operations doors; 0: none, -1 takes free ones."),
    ] = 8080,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set a broker key of all nodes; may be repeated."),
    ] = None,
) -> None:
    """Run an etcd and some nodes on this machine until told to stop."""
    from tidegate.cluster_run import ClusterPlan, run, settings_of
    from tidegate.etcd import EtcdDidNotStart, EtcdMissing
    from tidegate.testing import BrokerDidNotStart, BrokerDidNotStop, BrokerEnded

    try:
        settings = settings_of(assignments or ())
    except ValueError as error:
        raise CliError(str(error), "", Exit.USAGE) from error
    plan = ClusterPlan(nodes, data_dir, etcd, rack, first_node_id, host, port, http_port, settings)
    try:
        raise typer.Exit(run(plan))
    except (EtcdMissing, EtcdDidNotStart, BrokerDidNotStart, BrokerDidNotStop, BrokerEnded) as error:
        raise CliError(str(error)) from error


ADOPT_EXAMPLES = (
    "tidegate cluster adopt --etcd http://a:2379,http://b:2379,http://c:2379 --data-dir /var/lib/tidegate",
    "tidegate cluster adopt --etcd http://127.0.0.1:2379 --data-dir data --node-id 1 --prefix /orders",
)


@command(app, "adopt", examples=ADOPT_EXAMPLES, cls=OfflineCommand)
def adopt(
    context: typer.Context,
    etcd: Annotated[str, typer.Option("--etcd", metavar="URL[,URL]", help="The etcd of the cluster that is to be.")],
    data_dir: Annotated[Path, typer.Option("--data-dir", metavar="DIR", help="The broker's data directory.")],
    node_id: Annotated[int, typer.Option("--node-id", metavar="N", min=0, help="The number that it had.")] = 1,
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="PATH", help="Where in etcd, if not the usual etcd.prefix.")
    ] = None,
    config_file: Annotated[
        str | None,
        typer.Option("--config", metavar="FILE", help="A TOML file with broker keys, such as etcd.user."),
    ] = None,
) -> None:
    """Make a broker that ran by itself the first node of a cluster; none of its data is lost.

    The broker must be stopped. Its catalogue (topics, settings, ids) moves to etcd, to a prefix where nothing is yet;
    its records stay where they are. Then start it with 'tidegate serve --node-id 1 --etcd ...', start the others, and
    raise the number of replicas with 'tidegate cluster reassign plan --replication-factor 3'. If something cuts it
    short, do it again."""
    from attrs import asdict

    from engine.clock import SystemClock
    from engine.errors import BrokerError
    from tidegate import adopting
    from tidegate.catalogues import etcd_catalogue
    from tidegate.config import BrokerConfig
    from tidegate.data_directory import DataDirectoryInUse, DataDirectoryUnusable

    at = session(context)
    values: dict[str, object] = {"etcd.endpoints": etcd, "log.dirs": str(data_dir), "node.id": node_id}
    try:
        given = values if prefix is None else {**values, "etcd.prefix": prefix}
        config = BrokerConfig.load(file=config_file, environment=os.environ, values=given)
        shared = etcd_catalogue(config.settings, SystemClock(), lambda: True)
        try:
            with progress("moving the catalogue, rows") as bar:
                done = adopting.adopt(data_dir, node_id, shared, bar.advance)
        finally:
            shared.close()
    except (BrokerError, DataDirectoryInUse, DataDirectoryUnusable, ValueError) as error:
        raise CliError(str(error)) from error
    more = ["--config", config_file] if config_file is not None else []
    more += ["--set", f"etcd.prefix={prefix}"] if prefix is not None else []
    start = shlex.join(
        ["tidegate", "serve", "--data-dir", str(data_dir), "--node-id", str(done.node_id), "--etcd", etcd, *more]
    )
    at.output.done(
        f"{data_dir} is node {done.node_id} of the cluster {done.cluster_id}: {done.topics} topics were moved; "
        f"start it with '{start}'",
        **asdict(done),
        start=start,
    )


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
    """Whether the broker serves clients and all its partitions, and has room on its disk.

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
    is_healthy = (health or {}).get("status", "healthy") in ("healthy", "ok")
    well = broker is not None and is_healthy and refused in (Exit.OK, Exit.UNREACHABLE)
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
        with spoken(door_at(url, profile)) as door:
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
    if isinstance(health.get("cluster"), dict) and health["cluster"].get("session") is not None:
        at.output.heading(f"cluster  {_standing(health['cluster'])}")


def _standing(cluster: dict[str, Any]) -> str:
    """How many nodes there are, and what the partitions of all of them lack."""
    told = [f"{cluster['nodes']} nodes"]
    for key, meaning in (
        ("leaderless_partitions", "have no leader"),
        ("under_min_isr_partitions", "refuse acks=all"),
        ("under_replicated_partitions", "lack replicas in sync"),
    ):
        if cluster[key]:
            told.append(f"{cluster[key]} partitions {meaning} ('tidegate cluster partitions --lacking' names them)")
    session = cluster["session"]
    if session["lost"] or session["silent"]:
        told.append(f"this node's session in etcd is {'lost' if session['lost'] else 'not confirmed'}")
    return ", ".join(told)


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
