"""The command line: `tidegate topic ...`, `produce`, `consume`, `group`, `pending` and the rest, with typer and rich.

`tidegate/__main__.py` runs `tidegate serve` itself, since its start-up time counts, and hands all else to `main`.
"""

from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit status."""
    try:
        # Imported here: whoever only asks for the name of this package does not load typer.
        from tools.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:
        # Ctrl-C while modules are still being loaded; later the framework takes care of it.
        return INTERRUPTED
