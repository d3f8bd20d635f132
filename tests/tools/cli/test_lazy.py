"""Commands that are loaded when they are called."""

import inspect

import pytest

from tools.cli.app import COMMANDS
from tools.generate_cli_docs import whole

ROOT = whole()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_the_command_says(name: str) -> None:
    command = ROOT.commands[name]
    said = inspect.cleandoc(command.help).split("\n")[0]
    assert said.startswith(COMMANDS[name].help), f"{said!r} is listed as {COMMANDS[name].help!r}"


def test_everything_is_listed_in_its_order() -> None:
    assert list(ROOT.commands) == list(COMMANDS)
    assert ROOT.commands["topic"].name == "topic"
    assert "create" in ROOT.commands["topic"].commands
