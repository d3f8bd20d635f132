"""Every command that a message tells to type can be typed."""

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.tidegate.processes import ROOT
from tools.cli.app import app

QUOTED = re.compile(r"'(tidegate [^'\n]+)'")
PLACES = ("tools/cli", "tidegate", "engine", "coordinators", "wire", "tools/pipelines")


def texts(file: Path) -> list[str]:
    """The texts of a module; what is put into one stands as 1."""
    found: list[str] = []
    source = file.read_text()
    if "'tidegate " not in source:
        return found
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(each.value) if isinstance(each, ast.Constant) else "1" for each in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return found


def hints() -> list[str]:
    files = [file for place in PLACES for file in (ROOT / place).rglob("*.py")]
    return sorted({hint for file in files for text in texts(file) for hint in QUOTED.findall(text)})


def problem(line: str) -> str | None:
    """What the program would say of a command before it does anything."""
    words = [re.sub("^[A-Z]+$", "1", word) for word in shlex.split(line)[1:]]
    group: Any = typer.main.get_command(app)
    context = group.make_context("tidegate", [], resilient_parsing=True)
    try:
        while hasattr(group, "resolve_command"):
            name, group, words = group.resolve_command(context, words)
            context = group.make_context(
                name, list(words), parent=context, resilient_parsing=hasattr(group, "commands")
            )
    except Exception as error:
        # A kind that the message fills in is one of those that there are.
        return None if "is not one of" in str(error) else f"{line}: {error}"
    return None


def test_there_are_hints() -> None:
    assert len(hints()) > 15


@pytest.mark.parametrize("line", hints())
def test_a_command_in_a_message_can_be_typed(line: str) -> None:
    assert problem(line) is None


@pytest.mark.parametrize("line", ["tidegate group describe", "tidegate topic dance", "tidegate status --nonsense"])
def test_one_that_cannot_is_found(line: str) -> None:
    assert problem(line) is not None
