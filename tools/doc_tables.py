"""Tables of the pages that are written from the code."""

from collections.abc import Iterable


def table(head: tuple[str, ...], rows: Iterable[Iterable[str]]) -> list[str]:
    """Its lines."""
    return [line(head), line(("---",) * len(head)), *(line(row) for row in rows)]


def line(cells: Iterable[str]) -> str:
    """One of them."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
