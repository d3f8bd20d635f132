"""The code blocks of the pages can be read: programs compile, documents parse, commands and their options exist."""

import ast
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
PRINTED = ("tidegate ready ", "tidegate cluster ready ", "tidegate: ")
ENDS = {"|", "||", "&&", ";", "&", ">", "<"}
EVERYWHERE = {"--bootstrap", "-b", "--http", "--profile", "--output", "-o", "--timeout", "--help", "-h"}
PIPELINES = "tidegate pipeline"


def blocks(*languages: str) -> Iterator[tuple[str, str]]:
    """Page and text of each."""
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        if page.parent.name != "adr":
            for _, language, text in BLOCK.findall(page.read_text()):
                if language in languages:
                    yield page.name, text


def test_programs_compile() -> None:
    found = list(blocks("python"))
    assert len(found) > 10
    for page, text in found:
        # Some stand in the middle of a program: await, async with.
        compile(text, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_documents_parse() -> None:
    for _, text in blocks("yaml"):
        list(yaml.safe_load_all(text))
    for _, text in blocks("toml"):
        tomllib.loads(text)
    for _, text in blocks("json"):
        json.loads(text)


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every call of `tidegate` in a shell block, with the page that it stands on."""
    for page, text in blocks("sh", "console", ""):
        for line in text.replace("\\\n", " ").splitlines():
            if line.startswith(PRINTED):
                continue
            try:
                words = shlex.split(line.removeprefix("$ "), comments=True)
            except ValueError:
                continue  # in the middle of a text of several lines
            for index, word in enumerate(words):
                following = words[index + 1 : index + 2]
                # Timelines of traces begin a line with the name, too.
                is_call = following and following[0].isascii() and (index == 0 or words[index - 1] in ENDS)
                if word == "tidegate" and is_call:
                    yield page, words[index + 1 :]


@pytest.fixture(scope="module")
def options() -> dict[str, set[str]]:
    """By command, the options that docs/cli.md has, which is made from the command itself."""
    parts = re.split(r"^### (tidegate [\w -]+)$", (ROOT / "docs" / "cli.md").read_text(), flags=re.MULTILINE)
    names = (name.strip() for name in parts[1::2])
    return {
        name: set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text)) for name, text in zip(names, parts[2::2], strict=True)
    }


def test_every_command_and_option_exists(options: dict[str, set[str]]) -> None:
    wrong = []
    seen = 0
    for page, words in commands():
        asked = [word for word in _own(words) if not word.startswith("{")]
        name = _name(asked, options)
        if name is None or name.startswith(PIPELINES):
            wrong += [] if name else [f"{page}: tidegate {' '.join(asked)}"]
            continue
        seen += 1
        given = {word.split("=")[0] for word in asked if re.match(r"--?[a-z]", word)}
        wrong += [f"{page}: {name} {option}" for option in given - options[name] - EVERYWHERE]
    assert wrong == []
    assert seen > 100


def _own(words: list[str]) -> list[str]:
    """Up to where the shell goes on with something else."""
    ends = (index for index, word in enumerate(words) if word in ENDS or word.startswith(("2>", ">")))
    return words[: next(ends, len(words))]


def _name(words: list[str], options: dict[str, set[str]]) -> str | None:
    plain = [word for word in words if not word.startswith("-")]
    for length in (3, 2, 1):
        name = " ".join(["tidegate", *plain[:length]])
        if name in options:
            return name
    return "tidegate pipeline" if plain[:1] == ["pipeline"] else None
