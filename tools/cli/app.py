"""All commands put together, in the order in which a newcomer needs them."""

import os
import sys
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from typing import Annotated, ClassVar

import typer

from tools.cli.framework import ServeCommand
from tools.cli.lazy import Later, Root

HELP = """Run a broker, and talk to it or to any other that speaks Kafka's protocol.

Records may be held back (produce --delay), overtake others (--priority) and expire (--ttl).

Every command takes --bootstrap, --http, --profile, --output and --timeout. Variables (TIDEGATE_CLI_BOOTSTRAP, ...) \
and profiles in ~/.config/tidegate/cli.toml set them for good."""

BROKER, ANY, OURS, FURTHER = "Run it", "With any Kafka broker", "With Tidegate", "Further"
COMMANDS: Mapping[str, Later] = {
    "serve": Later("Run a broker until it is told to stop.", BROKER, "serve", "serve", ServeCommand),
    "status": Later(
        "Whether the broker serves clients and all its partitions, and has room on its disk.",
        BROKER,
        "cluster",
        "status",
    ),
    "topic": Later("Topics: make, list, look at, alter, delete, empty.", ANY, "topic"),
    "produce": Later(
        "Send records: those on the command line, else one for each line of the input.", ANY, "produce", "produce"
    ),
    "consume": Later("Read records, from and up to wherever you like.", ANY, "consume", "consume"),
    "group": Later("Groups of consumers: state, members, lag; move their offsets.", ANY, "group"),
    "share": Later(
        "Share groups: work queues over topics. Members, lag, what is in hand; begin elsewhere.", ANY, "share"
    ),
    "txn": Later("Transactions: list, look at, find those that hang, abort.", ANY, "txn"),
    "dlq": Later("Dead letters: list, look at, send again, discard.", ANY, "dlq"),
    "config": Later("Settings of topics, nodes and groups.", ANY, "config"),
    "quota": Later("Quotas: how much users, client ids and addresses may. List, set, remove.", ANY, "quota"),
    "cluster": Later(
        "The cluster: its nodes and partitions, moves and elections; run one on this machine.", ANY, "cluster"
    ),
    "user": Later("Users: who may log in with a password.", ANY, "user"),
    "acl": Later("Rules: who may do what to which resource, and why.", ANY, "acl"),
    "pending": Later("Delayed records: list, look at, cancel, move, release now.", OURS, "pending"),
    "priority": Later("Priorities: what waits in the lanes.", OURS, "priority"),
    "trace": Later("Timelines of records.", OURS, "trace"),
    "schema": Later("Schemas: what records hold. Register, look at, compare, delete; move them.", OURS, "schema"),
    "tenant": Later("Tenants: namespaces with users and limits of their own.", OURS, "tenant"),
    "scrub": Later(
        "What is known to be damaged on a broker's disk, and when everything was last checked.",
        OURS,
        "scrub",
        "scrub",
    ),
    "cert": Later("Certificates for trying TLS out.", OURS, "cert"),
    "log": Later("Files on disk, without a broker: dump, verify.", OURS, "log"),
    "catalogue": Later("The broker's own list of topics, without a broker: make it anew.", OURS, "catalogue"),
    "pipeline": Later("Run a Spark pipeline over topics: archive, backfill, reports.", FURTHER, "pipeline", "pipeline"),
    "bench": Later("How fast a broker takes records and gives them back, from here.", FURTHER, "bench", "bench"),
}


class App(Root):
    """The program."""

    later: ClassVar[Mapping[str, Later]] = COMMANDS


app = typer.Typer(
    cls=App,
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


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
    _ready_streams()
    try:
        app(list(sys.argv[1:] if arguments is None else arguments), prog_name="tidegate")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def _ready_streams() -> None:
    """Streams that were closed before we came are empty ones, and any letter can be written."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - open until the end
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
        sys.stdout.reconfigure(errors="backslashreplace")
