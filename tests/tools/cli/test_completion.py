"""Names that a shell completes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tidegate.processes import ROOT
from tests.tools.cli.conftest import Tidegate
from tools.cli.completion import group_names, priority_names, topic_names, transaction_names


def test_topics_and_groups_of_the_broker_are_completed(tidegate: Tidegate, topic: str) -> None:
    tidegate("produce", topic, "x")
    tidegate("consume", topic, "-g", f"g-{topic}", "-e")
    assert topic_names(topic[:-2]) == [topic]
    assert group_names(f"g-{topic}") == [f"g-{topic}"]
    assert topic_names("__consumer") == []


def test_a_broker_that_is_not_there_completes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEGATE_CLI_BOOTSTRAP", "127.0.0.1:1")
    assert topic_names("") == group_names("") == []
    monkeypatch.setenv("TIDEGATE_CLI_BOOTSTRAP", "nonsense")
    assert topic_names("") == []
    assert capsys.readouterr() == ("", "")


def test_the_shell_is_given_them(tidegate: Tidegate, topic: str) -> None:
    words = f"tidegate topic describe {topic[:-2]}"
    environment = {"COMP_WORDS": words, "COMP_CWORD": "3", "_TIDEGATE_COMPLETE": "complete_bash"}
    done = subprocess.run(
        [sys.executable, "-m", "tidegate"],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [topic]


COMPLETED = r"""
source <(_TIDEGATE_COMPLETE=source_bash tidegate)
for words in "topic describe $1" "produce --pri" "produce t --priority cr" "topic list -o j"; do
    COMP_WORDS=(tidegate $words); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _tidegate_completion tidegate
    echo "${COMPREPLY[@]}"
done
"""


def in_shell(tmp_path: Path, *command: str) -> list[str]:
    """What a shell says to a script in which `tidegate` is this program."""
    program = tmp_path / "tidegate"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tidegate "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_bash_completes(tidegate: Tidegate, topic: str, tmp_path: Path) -> None:
    assert tidegate("produce", topic, "x").code == 0
    found = in_shell(tmp_path, "bash", "--norc", "-c", COMPLETED, "bash", topic[:-2])
    assert found == [topic, "--priority", "critical", "json"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish here")
def test_fish_completes(tidegate: Tidegate, topic: str, tmp_path: Path) -> None:
    assert tidegate("produce", topic, "x").code == 0
    script = f"_TIDEGATE_COMPLETE=source_fish tidegate | source; complete -C 'tidegate topic describe {topic[:-2]}'"
    assert in_shell(tmp_path, "fish", "--no-config", "-c", script) == [topic]


def test_priorities_and_transactional_ids_are_completed(tidegate: Tidegate, topic: str) -> None:
    assert priority_names("") == ["critical", "high", "normal", "low", "background"]
    tidegate("produce", topic, "x", "--transactional-id", f"id-{topic}")
    assert transaction_names(f"id-{topic}") == [f"id-{topic}"]


def test_a_name_of_two_lines_is_not_offered_as_two(tidegate: Tidegate, topic: str) -> None:
    forged = f"{topic}\nrm"
    assert tidegate("produce", topic, "x").code == 0
    assert tidegate("consume", topic, "--group", forged, "--exit").code == 0
    assert [each["group"] for each in tidegate("group", "list", "-o", "json").data if each["group"] == forged]
    assert group_names(topic) == []
    assert forged.replace("\n", "\\n") in tidegate("group", "list").out
    assert not [line for line in tidegate("group", "list").out.splitlines() if line.startswith("rm")]
