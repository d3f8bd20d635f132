"""What all commands share: options anywhere, errors in one line, help with examples."""

import pytest

from tests.tools.cli.conftest import Tidegate, run
from tools.cli.errors import CliError
from tools.cli.framework import confirm


def test_shared_options_stand_before_or_after_the_command(tidegate: Tidegate) -> None:
    before, after = tidegate("-o", "json", "topic", "list"), tidegate("topic", "list", "-o", "json")
    assert before.code == after.code == 0
    assert before.data == after.data


def test_what_stands_further_right_wins(tidegate: Tidegate) -> None:
    assert tidegate("-o", "yaml", "topic", "-o", "table", "list", "-o", "json").out.startswith("[")


def test_a_variable_chooses_the_output(tidegate: Tidegate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_CLI_OUTPUT", "json")
    assert tidegate("cluster", "info").data["nodes"]
    monkeypatch.setenv("TIDEGATE_CLI_OUTPUT", "xml")
    assert "'xml'" in tidegate("cluster", "info").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dance"], "dance"),
        (["topic", "lst"], "list"),
        (["topic", "describe"], "TOPIC"),
        (["topic", "create", "x", "--partitions", "many"], "--partitions"),
        (["topic", "list", "--colour"], "--colour"),
        (["-o", "xml", "topic", "list"], "xml"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(arguments: list[str], said: str) -> None:
    ended = run(*arguments)
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.startswith("tidegate: ")
    assert said in line
    assert "--help" in line


def test_help_teaches_by_examples() -> None:
    ended = run("produce", "--help")
    assert ended.code == 0
    assert "--delay" in ended.out
    assert "tidegate produce reminders --delay 15m" in ended.out


@pytest.mark.parametrize("arguments", [["topic", "list"], ["produce", "t", "v"], ["consume", "t", "-e"]])
def test_a_broker_that_is_not_there_is_status_3_and_says_what_to_do(arguments: list[str]) -> None:
    ended = run("-b", "127.0.0.1:1", *arguments)
    assert (ended.code, ended.out) == (3, "")
    (line,) = ended.err.splitlines()
    assert "no Kafka broker answers at 127.0.0.1:1" in line
    assert "tidegate serve" in line


def test_a_door_that_is_not_there_is_status_3() -> None:
    ended = run("--http", "http://127.0.0.1:1", "pending", "list", "t")
    assert ended.code == 3
    assert "--http" in ended.err


def test_where_nobody_can_be_asked_yes_must_be_said() -> None:
    confirm("Sure?", yes=True)
    with pytest.raises(CliError, match="Nobody can be asked") as refused:
        confirm("Sure?", yes=False)
    assert "--yes" in refused.value.hint
