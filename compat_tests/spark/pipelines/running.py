"""Runs a pipeline as the command does, in the session that all scenarios share."""

from typing import Any

from tools.pipelines import PIPELINES


def run(name: str, bootstrap: str, /, **options: Any) -> int:
    """The exit status; options by their names, as in a configuration file."""
    pipeline = PIPELINES[name]
    return pipeline.run(pipeline.values({"bootstrap": bootstrap, "quiet": True, **options}))
