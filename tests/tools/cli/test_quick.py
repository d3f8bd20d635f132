"""Options without pydantic."""

import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from tests.tidegate.processes import ROOT
from tools.cli.quick import quickened


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def program(seen: dict[str, Any]) -> Any:
    app = typer.Typer(add_completion=False)

    @app.command()
    def paint(
        names: Annotated[list[str], typer.Argument()],
        colour: Annotated[Colour, typer.Option()] = Colour.RED,
        count: Annotated[int, typer.Option(min=1, max=9)] = 1,
        width: Annotated[float | None, typer.Option()] = None,
        place: Annotated[Path | None, typer.Option()] = None,
        numbers: Annotated[list[int] | None, typer.Option()] = None,
        wet: Annotated[bool, typer.Option("--wet/--dry")] = False,
    ) -> None:
        seen.update(locals())

    command = typer.main.get_command(app)
    quickened(command.params)
    return command


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("a", {"names": ["a"], "colour": Colour.RED, "count": 1, "width": None, "numbers": None, "wet": False}),
        ("a b --colour blue --count 3", {"names": ["a", "b"], "colour": Colour.BLUE, "count": 3}),
        ("a --width 2.5 --place x/y --wet", {"width": 2.5, "place": Path("x/y"), "wet": True}),
        ("a --numbers 1 --numbers 2", {"numbers": [1, 2]}),
    ],
)
def test_values_are_taken_as_typer_takes_them(given: str, taken: dict[str, Any]) -> None:
    seen: dict[str, Any] = {}
    program(seen)(given.split(), standalone_mode=False)
    assert {name: seen[name] for name in taken} == taken
    assert {name: type(seen[name]) for name in taken} == {name: type(value) for name, value in taken.items()}


@pytest.mark.parametrize(
    "given", ["", "a --count x", "a --count 0", "a --count 10", "a --colour green", "a --numbers x", "a --width wide"]
)
def test_what_is_wrong_is_refused_as_ever(given: str) -> None:
    seen: dict[str, Any] = {}
    with pytest.raises(typer.BadParameter.__mro__[1]):
        program(seen)(given.split(), standalone_mode=False)
    assert seen == {}


def test_a_command_loads_neither_pydantic_nor_the_other_commands() -> None:
    code = (
        "import sys; from tools.cli import main; main(['-o', 'json', 'topic', 'list', '-b', '127.0.0.1:1']);"
        "print([name for name in ('pydantic', 'tools.cli.commands.log', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert "no Kafka broker answers" in done.stderr


def test_help_needs_no_command_to_be_loaded() -> None:
    code = (
        "import sys; from tools.cli import main; main(['--help']);"
        "print([name for name in sys.modules if name.startswith(('tools.cli.commands.', 'aiokafka'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")
    assert " produce " in done.stdout
