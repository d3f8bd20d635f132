"""The sessions that the README and the tutorial show, typed for real: one after the other, on one broker, with the same
answers."""

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from compat_tests import brokers
from compat_tests.waiting import eventually
from tidegate import testing

pytestmark = pytest.mark.skipif(brokers.target() == "kafka", reason="they show what Kafka has not")
ROOT = Path(__file__).parents[2]
ADDRESS, DOOR = "127.0.0.1:9092", "127.0.0.1:8080"
# What is another each time: members of groups, times, and how long until then.
VARIABLE = (
    (r"rdkafka-[0-9a-f-]{36}", "rdkafka-ID"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z", "TIME"),
    (r" +\d+m(\d+s)?(?= )", " SPAN"),
    (r"─+", "LINE"),
)


def sessions(text: str) -> list[tuple[str, list[str]]]:
    """Each command, with the lines that it is shown to print."""
    found: list[tuple[str, list[str]]] = []
    for line in "\n".join(re.findall(r"```console\n(.*?)```", text, re.DOTALL)).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line:
            found[-1][1].append(line)
    return found


def plain(lines: list[str]) -> list[str]:
    """Lines without what is another each time; what goes to two streams may come in either order."""
    for pattern, name in VARIABLE:
        lines = [re.sub(pattern, name, line) for line in lines]
    return sorted(lines)


def test_the_readme_shows_what_happens(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text().split("## Try it")[1].split("In a test,")[0]
    (first, ready), *rest = sessions(text)
    assert first == "make serve"
    assert ready == [f"tidegate ready kafka={ADDRESS} http={DOOR}"]
    assert len(rest) > 12
    type_all(rest, tmp_path)


def test_the_tutorial_shows_what_happens(tmp_path: Path) -> None:
    shown = sessions((ROOT / "docs" / "tutorial.md").read_text())
    assert len(shown) > 10
    type_all(shown, tmp_path)


def type_all(typed: list[tuple[str, list[str]]], tmp_path: Path) -> None:
    """Run the commands on a broker of their own; each prints what is shown."""
    (tmp_path / "tidegate").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tidegate "$@"\n')
    (tmp_path / "tidegate").chmod(0o755)
    with testing.broker(timeout_s=60) as broker:
        environment = {
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "TIDEGATE_CLI_BOOTSTRAP": broker.bootstrap,
            "TIDEGATE_CLI_CONFIG": str(tmp_path / "none.toml"),
        }
        for command, shown in typed:
            moved = command.replace(ADDRESS, broker.bootstrap).replace(DOOR, broker.http_url.removeprefix("http://"))
            # A reader who waits for something waits as long as it takes on his machine.
            eventually(partial(_typed, moved, environment, tmp_path), plain(shown), 60 if "sleep " in command else 0)


def _typed(command: str, environment: dict[str, str], folder: Path) -> list[str]:
    """What it prints."""
    done = subprocess.run(
        command,
        shell=True,
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}"
    return plain(done.stdout.splitlines())
