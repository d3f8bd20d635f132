"""`serve` as the command line tells it: it passes everything on."""

import pytest

from tests.tools.cli.conftest import run


def test_options_are_passed_to_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []

    def main(arguments: list[str]) -> int:
        calls.append(arguments)
        return 7

    monkeypatch.setattr("tools.cli.commands.serve.main", main)
    ended = run("serve", "--data-dir", "d", "--kafka-port", "0", "--set", "a=1", "--set", "b=2")
    assert ended.code == 7
    assert calls == [["serve", "--data-dir", "d", "--kafka-port", "0", "--set", "a=1", "--set", "b=2"]]
