"""All commands put together, in the order in which a newcomer needs them."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from tools.cli.commands import (
    bench,
    cluster,
    config,
    consume,
    group,
    log,
    pending,
    pipeline,
    priority,
    produce,
    serve,
    topic,
    trace,
    txn,
)
from tools.cli.framework import Group, ServeCommand, command

HELP = """Run a broker, and talk to it or to any other that speaks Kafka's protocol.

Records may be held back (produce --delay), overtake others (--priority) and expire (--ttl).

Every command takes --bootstrap, --http, --profile, --output and --timeout. Variables (TIDEGATE_CLI_BOOTSTRAP, ...) \
and profiles in ~/.config/tidegate/cli.toml set them for good."""

app = typer.Typer(cls=Group, help=HELP, no_args_is_help=True, rich_markup_mode="rich")
command(app, "serve", examples=serve.EXAMPLES, cls=ServeCommand)(serve.serve)
app.add_typer(topic.app, name="topic")
command(app, "produce", examples=produce.EXAMPLES)(produce.produce)
command(app, "consume", examples=consume.EXAMPLES)(consume.consume)
app.add_typer(group.app, name="group")
app.add_typer(pending.app, name="pending")
app.add_typer(priority.app, name="priority")
app.add_typer(trace.app, name="trace")
app.add_typer(config.app, name="config")
command(app, "status", examples=cluster.STATUS_EXAMPLES)(cluster.status)
app.add_typer(cluster.app, name="cluster")
app.add_typer(txn.app, name="txn")
command(app, "pipeline", examples=pipeline.EXAMPLES, context_settings=pipeline.SETTINGS)(pipeline.pipeline)
command(app, "bench", examples=bench.EXAMPLES)(bench.bench)
app.add_typer(log.app, name="log")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"tidegate {version('tidegate')}")
        raise typer.Exit


@app.callback()
def root(
    _version_: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """See HELP."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit status."""
    try:
        app(list(sys.argv[1:] if arguments is None else arguments), prog_name="tidegate")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
