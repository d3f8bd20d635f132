"""The page about the command line is current and complete."""

import itertools
import re
import shlex
from collections.abc import Iterator

from tools.generate_cli_docs import DOCUMENT, commands, document, whole
from tools.pipelines import PIPELINES

ROOT = whole()


def test_the_page_is_what_the_commands_say() -> None:
    assert DOCUMENT.read_text() == document(), "run: python -m tools.generate_cli_docs"


def test_every_command_has_a_section_help_and_examples() -> None:
    page = document()
    for path, command in commands(ROOT):
        name = " ".join(path)
        assert f"\n### {name}\n" in page
        assert command.help, name
        assert command.examples, name
        for example in command.examples:
            assert name in example, f"{example!r} shows another command than {name}"


def test_the_paragraphs_of_help_are_broken_by_the_terminal() -> None:
    for path, command in commands(ROOT):
        assert "\n" not in command.help.replace("\n\n", ""), (
            f"the help of {' '.join(path)} has ends of lines of its own"
        )


def test_every_pipeline_has_a_section_with_its_options() -> None:
    page = document()
    for name, pipeline in PIPELINES.items():
        assert f"\n#### tidegate pipeline {name}\n" in page
        assert [option.name for option in pipeline.options if f"`--{option.name}" not in page] == []


def test_every_option_and_argument_says_what_it_is_for() -> None:
    silent = [
        f"{' '.join(path)} {param.name}"
        for path, command in commands(ROOT)
        for param in command.params
        if not getattr(param, "help", None)
    ]
    assert silent == []


def shown() -> Iterator[list[str]]:
    """Every command line that the page shows, up to a pipe."""
    snippets = re.findall(r"`(tidegate [^`]+)`", document().replace("\\|", "|"))
    blocks = re.findall(r"^(?:[$] )?([^#\n]*\btidegate .*)$", document(), re.MULTILINE)
    for line in snippets + [line for line in blocks if not line.startswith(("|", "`", "#"))]:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:
            continue
        if "tidegate" in words:
            words = words[words.index("tidegate") + 1 :]
            yield list(itertools.takewhile(lambda word: word[:1] not in "|&;<>" or not word, words))


def test_every_command_line_on_the_page_can_be_typed() -> None:
    count = 0
    for words in shown():
        command, name = ROOT, "tidegate"
        while words and hasattr(command, "commands") and words[0] in command.commands:
            name, words = words[0], words[1:]
            command = command.commands[name]
        if hasattr(command, "commands") or "[OPTIONS]" in words or not words:
            continue
        # Refuses options that there are not, and arguments that are missing or too many.
        command.make_context(name, list(words), resilient_parsing=False)
        count += 1
    assert count > 100


def test_serve_takes_here_what_it_takes_without_typer() -> None:
    from tidegate.__main__ import _parser

    quick = {option for action in _parser()._actions for option in action.option_strings}
    told = {option for param in ROOT.commands["serve"].params for option in param.opts}
    assert told | {"-h", "--help"} == quick
