"""Pipelines from the command line: found by name, told where the broker is."""

from typing import Any

import pytest

from tests.tools.cli.conftest import run
from tools.pipelines import PIPELINES


def test_pipelines_are_listed() -> None:
    assert [row["name"] for row in run("pipeline", "-o", "json").data] == list(PIPELINES)


def test_a_pipeline_that_is_not_there_is_status_4() -> None:
    ended = run("pipeline", "dance")
    assert ended.code == 4
    assert "archive" in ended.err


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        (["--archive", "lake"], ["--archive", "lake", "--bootstrap", "10.0.0.1:9092"]),
        (["--bootstrap", "b:1"], ["--bootstrap", "b:1"]),
        (["--bootstrap=b:1", "--follow"], ["--bootstrap=b:1", "--follow"]),
        (["--help"], ["--help", "--bootstrap", "10.0.0.1:9092"]),
    ],
)
def test_its_own_options_are_passed_on(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], passed: list[str]
) -> None:
    given: list[Any] = []

    def main(all_of_them: list[str]) -> int:
        given.extend(all_of_them)
        return 3

    monkeypatch.setattr("tools.pipelines.__main__.main", main)
    assert run("-b", "10.0.0.1:9092", "pipeline", "archive", *arguments).code == 3
    assert given == ["archive", *passed]


def test_without_spark_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def main(_: list[str]) -> int:
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")

    monkeypatch.setattr("tools.pipelines.__main__.main", main)
    ended = run("pipeline", "archive")
    assert ended.code == 1
    assert "pip install 'tidegate[spark]'" in ended.err
