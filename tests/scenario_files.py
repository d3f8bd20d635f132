"""Scenario files: commands and what they are expected to say, as text that documents behaviour.

    # a comment
    command key=value key=value word
    ----
    expected output

Blocks are separated by blank lines. The stage that a file plays on is `tests/scenarios/<kind>_stage.py`, where <kind>
is the file's name up to its first underscore; the stage's class `Stage` has `run(command, words, options)`, which
returns text. With SCENARIOS=rewrite in the environment the files are brought in line with what was said.
"""

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from attrs import define

FOLDER = Path(__file__).parent / "scenarios"
SEPARATOR = "----"


class Stage(Protocol):
    """Where a scenario is played."""

    def run(self, command: str, words: list[str], options: dict[str, str]) -> str:
        """Carry a command out and say what happened."""


@define
class Block:
    """Comments, a command, and what it is expected to say."""

    comments: list[str]
    command: str
    expected: str

    def text(self) -> str:
        lines = [*self.comments]
        if self.command:
            lines += [self.command, SEPARATOR]
        if self.expected:
            lines.append(self.expected)
        return "\n".join(lines)


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))


def stage_of(file: Path) -> Stage:
    kind = file.stem.split("_")[0]
    stage: Any = import_module(f"tests.scenarios.{kind}_stage").Stage
    made: Stage = stage()
    return made


def parse(text: str) -> list[Block]:
    blocks = []
    for part in re.split(r"\n\s*\n", text.strip()):
        lines = part.split("\n")
        comments = [line for line in lines if line.startswith("#")]
        rest = [line for line in lines if not line.startswith("#")]
        assert len(rest) < 2 or rest[1] == SEPARATOR, f"a command is followed by {SEPARATOR}: {rest}"
        blocks.append(Block(comments, rest[0] if rest else "", "\n".join(rest[2:])))
    return blocks


def play(file: Path) -> None:
    """Run every command of a file and compare what it says."""
    stage, blocks = stage_of(file), parse(file.read_text())
    said = [_said(stage, block) for block in blocks]
    if os.environ.get("SCENARIOS") == "rewrite":
        for block, output in zip(blocks, said, strict=True):
            block.expected = output
        file.write_text("\n\n".join(block.text() for block in blocks) + "\n")
    for block, output in zip(blocks, said, strict=True):
        assert output == block.expected, f"{file.name}: {block.command}\nsaid:\n{output}\nexpected:\n{block.expected}"


def _said(stage: Stage, block: Block) -> str:
    if not block.command:
        return ""
    command, *rest = block.command.split()
    options = dict(word.split("=", 1) for word in rest if "=" in word)
    return stage.run(command, [word for word in rest if "=" not in word], options).strip()
