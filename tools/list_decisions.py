"""Writes docs/adr/index.md, the list of decisions: `python -m tools.list_decisions`."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "adr"
HEAD = """# Decisions

What was decided, why, and what else was tried. A new one begins as a copy of [the template](0000-template.md).

"""


def listed() -> str:
    """What the page should say."""
    found = sorted(page for page in FOLDER.glob("0*.md") if not page.name.startswith("0000"))
    titles = (page.read_text().split("\n", 1)[0].removeprefix("# ") for page in found)
    return HEAD + "".join(f"- [{title}]({page.name})\n" for title, page in zip(titles, found, strict=True))


if __name__ == "__main__":
    (FOLDER / "index.md").write_text(listed())
