"""The commands on the pipelines' pages are commands that the code knows."""

import importlib.util
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from tools.pipelines import PIPELINES
from tools.pipelines.__main__ import _parser
from tools.reference.spark import MORE, packages

ROOT = Path(__file__).resolve().parents[3]
PAGES = ROOT / "docs" / "pipelines"
BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
WRITTEN = re.compile(r"\b(?:org\.apache\.(?:spark|iceberg)|io\.delta):[\w.-]+:[\d.]*\d")


def commands() -> list[list[str]]:
    """Every command of every page, as a shell takes it apart."""
    found = []
    for page in sorted(PAGES.glob("*.md")):
        for block in BLOCK.findall(page.read_text()):
            lines = block.replace("\\\n", " ").splitlines()
            found += [shlex.split(line.removeprefix("$ "), comments=True) for line in lines]
    return [words for words in found if words]


def pipelines() -> list[list[str]]:
    """What follows the word that runs a pipeline: its name and its options."""
    found = []
    for words in commands():
        starts = [at for at, word in enumerate(words) if word.endswith("pipeline.py")]
        if words[:2] == ["tidegate", "pipeline"]:
            starts = [1]
        found += [words[start + 1 :] for start in starts if words[start + 1] in PIPELINES]
    return found


@pytest.mark.parametrize("words", pipelines(), ids=lambda words: words[0])
def test_a_pipeline_is_told_what_it_knows(words: list[str]) -> None:
    if "--help" in words:
        return
    given = vars(_parser().parse_args(words))
    pipeline = PIPELINES[given.pop("pipeline")]
    if given.pop("config") is None:
        pipeline.values(given)


def test_pages_show_every_pipeline() -> None:
    assert {words[0] for words in pipelines()} == set(PIPELINES)


def test_jars_are_named_as_the_code_has_them() -> None:
    written = {each for page in PAGES.glob("*.md") for each in WRITTEN.findall(page.read_text())}
    assert written == set(packages(MORE))


def test_modules_and_files_are_there() -> None:
    for words in commands():
        for before, word in pairwise(words):
            if before == "-m":
                assert importlib.util.find_spec(word) is not None, word
            if word.startswith(("deploy/", "tools/")):
                assert (ROOT / word).exists(), word
