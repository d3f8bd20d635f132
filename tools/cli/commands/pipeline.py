"""`tidegate pipeline`: the Spark jobs of `tools/pipelines`, which know their own options."""

from typing import Annotated

import typer

from tools.cli.errors import CliError, NotFound
from tools.cli.framework import session
from tools.cli.output import Column

EXAMPLES = (
    "tidegate pipeline",
    "tidegate pipeline archive --help",
    "tidegate pipeline archive --topics orders --archive lake/orders",
)
BOOTSTRAP = "--bootstrap"
# Everything after the name is the pipeline's own, `--help` too.
SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}


def pipeline(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Which one; without it they are listed.")] = None,
) -> None:
    """Run a Spark pipeline over topics: archive, backfill, reports. 'pipeline NAME --help' tells its options."""
    from tools.pipelines import PIPELINES

    at = session(context)
    if name is None:
        rows = [{"name": each.name, "summary": each.summary} for each in PIPELINES.values()]
        at.output.rows(rows, (Column("name", "pipeline"), Column("summary")))
        return
    if name not in PIPELINES:
        raise NotFound(f"no pipeline {name!r}", f"there are {', '.join(PIPELINES)}")
    arguments = list(context.args)
    knows = any(option.name == BOOTSTRAP.removeprefix("--") for option in PIPELINES[name].options)
    if knows and not any(each.split("=")[0] == BOOTSTRAP for each in arguments):
        arguments += [BOOTSTRAP, at.profile.bootstrap]
    try:
        from tools.pipelines.__main__ import main

        status = main([name, *arguments])
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pyspark", "py4j"):
            raise
        raise CliError("pipelines need Spark, which is not installed", "pip install 'tidegate[spark]'") from None
    raise typer.Exit(status)
