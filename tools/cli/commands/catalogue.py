"""`tidegate catalogue`: the broker's own database of topics, for a broker that is stopped."""

import re
from pathlib import Path
from typing import Annotated

import typer
from attrs import asdict

from engine.catalogue.rebuild import UnknownTopics, rebuild
from engine.catalogue.sqlite import FILE_NAME
from engine.errors import BrokerError
from engine.files.files import OsFiles
from tidegate.data_directory import DataDirectory, DataDirectoryInUse, DataDirectoryUnusable
from tools.cli.errors import CliError, NotFound, UsageMistake
from tools.cli.framework import OfflineCommand, command, group, session

app = group("The broker's own list of topics, without a broker: make it anew.")
_NAMED = re.compile(r"([0-9a-f]{32})=(.+)")


@command(
    app,
    "rebuild",
    cls=OfflineCommand,
    examples=(
        "tidegate catalogue rebuild --data-dir data",
        "tidegate catalogue rebuild --data-dir data --name 6d3f9c1e2b7a4f0d8e5c1a2b3c4d5e6f=orders",
        "tidegate catalogue rebuild --data-dir data --adopt",
    ),
)
def rebuild_(
    context: typer.Context,
    data_dir: Annotated[Path, typer.Option("--data-dir", metavar="DIR", help="The broker's data directory.")],
    names: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="ID=NAME", help="What a topic was called that nothing else tells; repeatable."),
    ] = None,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Call other topics that nothing tells 'recovered-ID'.")
    ] = False,
    node_id: Annotated[int, typer.Option("--node-id", min=0, help="Of the node that holds what is adopted.")] = 1,
) -> None:
    """Restore a catalogue that is lost or damaged, from its second copy beside the topics' data.

    The broker must be stopped. Topics keep ids, partitions and configs; producer ids go on above all that were given.
    The old database is set aside. Where the copy is lost too, what the database still tells is used, and the files."""
    out = session(context).output
    named = dict(_named(each) for each in names or ())
    if not (data_dir / "topics").is_dir() and not (data_dir / FILE_NAME).exists():
        raise NotFound(f"{data_dir} is no data directory of a broker", "it has neither topics nor a catalogue")
    try:
        with DataDirectory(data_dir):
            made = rebuild(str(data_dir), OsFiles(), node_id=node_id, names=named, adopt=adopt)
    except DataDirectoryInUse as error:
        raise CliError(str(error), "stop it first") from error
    except DataDirectoryUnusable as error:
        raise CliError(str(error)) from error
    except UnknownTopics as error:
        hint = "name them with --name ID=NAME, or give --adopt; 'tidegate log dump FILE' shows their records"
        raise CliError(str(error), hint) from error
    except BrokerError as error:
        raise CliError(str(error)) from error
    if not out.is_for_people:
        out.value(asdict(made))
        return
    source = "from its second copy" if made.from_copy else "from what could still be read"
    topics = "1 topic" if made.topics == 1 else f"{made.topics} topics"
    out.heading(f"the catalogue was made anew {source}: {topics}, revision {made.revision}")
    if made.adopted:
        out.heading(f"taken in: {', '.join(made.adopted)}")
    if made.set_aside:
        out.heading(f"set aside: {', '.join(made.set_aside)}")


def _named(given: str) -> tuple[str, str]:
    match = _NAMED.fullmatch(given)
    if match is None:
        raise UsageMistake(f"--name {given}: no id of a topic and its name", "as in --name <32 hex digits>=orders")
    return match.group(1), match.group(2)
