"""`tidegate serve`: told here to help and completion; `tidegate/__main__.py` runs it without loading any of this."""

from typing import Annotated

import typer

from tidegate.__main__ import main

EXAMPLES = (
    "tidegate serve",
    "tidegate serve --data-dir /var/lib/tidegate --kafka-port 9092 --http-port 8080",
    "tidegate serve --node-id 2 --etcd http://a:2379,http://b:2379,http://c:2379 --rack r2",
    "tidegate serve --set num.partitions=6 --set log.retention.hours=24",
)


def serve(
    config: Annotated[
        str | None, typer.Option("--config", metavar="FILE", help="A TOML or JSON file with broker keys.")
    ] = None,
    data_dir: Annotated[str | None, typer.Option("--data-dir", metavar="DIR", help="Where data is kept.")] = None,
    host: Annotated[str | None, typer.Option("--host", metavar="HOST", help="The address to listen on.")] = None,
    kafka_port: Annotated[
        int | None, typer.Option("--kafka-port", metavar="PORT", help="The port, 9092 by default; 0 takes a free one.")
    ] = None,
    http_port: Annotated[
        int | None,
        typer.Option("--http-port", metavar="PORT", help="Of the operations door, 8080 by default; 0: none."),
    ] = None,
    grpc_port: Annotated[
        int | None,
        typer.Option("--grpc-port", metavar="PORT", help="Of the gRPC door, by custom 9095; none by default."),
    ] = None,
    text_port: Annotated[
        int | None,
        typer.Option("--text-port", metavar="PORT", help="Of the text door, by custom 9094; none by default."),
    ] = None,
    registry_port: Annotated[
        int | None,
        typer.Option(
            "--registry-port", metavar="PORT", help="Of the schema registry, by custom 8081; none by default."
        ),
    ] = None,
    node_id: Annotated[
        int | None, typer.Option("--node-id", metavar="N", help="The number of this node, 1 by default.")
    ] = None,
    etcd: Annotated[
        str | None, typer.Option("--etcd", metavar="URL[,URL]", help="Where the etcd of the cluster is.")
    ] = None,
    rack: Annotated[str | None, typer.Option("--rack", metavar="RACK", help="Where this node stands.")] = None,
    allow_anonymous: Annotated[
        bool,
        typer.Option("--allow-anonymous", help="Serve clients beyond this machine without asking who they are."),
    ] = False,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a broker key; may be repeated.")
    ] = None,
) -> None:
    """Run a broker until it is told to stop."""
    arguments = ["serve"]
    for option, value in (
        ("--config", config),
        ("--data-dir", data_dir),
        ("--host", host),
        ("--kafka-port", kafka_port),
        ("--http-port", http_port),
        ("--grpc-port", grpc_port),
        ("--text-port", text_port),
        ("--registry-port", registry_port),
        ("--node-id", node_id),
        ("--etcd", etcd),
        ("--rack", rack),
        *(("--set", each) for each in assignments or ()),
    ):
        if value is not None:
            arguments += [option, str(value)]
    if allow_anonymous:
        arguments.append("--allow-anonymous")
    raise typer.Exit(main(arguments))
