"""Names that a shell completes."""

import os
import subprocess
import sys

import pytest

from tests.tidegate.processes import ROOT
from tests.tools.cli.conftest import Tidegate
from tools.cli.completion import group_names, topic_names


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
