"""The command line: `tidegate topic ...`, `produce`, `consume`, `group`, `pending` and the rest, with typer and rich.

`tidegate/__main__.py` runs `tidegate serve` itself, since its start-up time counts, and hands all else to `main`.
"""

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit status."""
    # Imported here: whoever only asks for the name of this package does not load typer.
    from tools.cli.app import run

    return run(arguments)
