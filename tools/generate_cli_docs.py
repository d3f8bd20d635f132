"""Writes docs/cli.md from the commands themselves: `python -m tools.generate_cli_docs`."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from tools.cli.app import app
from tools.cli.errors import EXIT_MEANINGS
from tools.cli.formats import LETTERS_MEAN
from tools.cli.framework import DEFAULTS, SHARED, Command
from tools.cli.profiles import ENVIRONMENT_PREFIX
from tools.pipelines import PIPELINES
from tools.pipelines.__main__ import metavar
from tools.pipelines.running import SHARED as COMMON

PIPELINE = "pipeline"
DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "cli.md"

_INTRODUCTION = """\
# The command line

`tidegate` runs a broker and talks to it. Commands for topics, records, groups, settings and transactions work with any
broker that speaks Kafka's protocol; those for delayed records, lanes and traces need Tidegate's operations door.
This page is written by `python -m tools.generate_cli_docs` from the commands; each also has `--help`.

```console
$ tidegate serve &
$ tidegate topic create orders --partitions 3
$ tidegate produce orders --key table-4 'one coffee'
$ tidegate produce orders --key table-4 --delay 15m --schedule-id dessert 'one ice cream'
$ tidegate pending list orders
$ tidegate consume orders -e -f '%k: %v\\n'
$ tidegate group describe kitchen
```

## Where the broker is

Every command that talks to a broker takes these, before or after its name. A variable sets one for good; an option goes
before a variable, a variable before the profile.

| option | variable | default | meaning |
|---|---|---|---|
"""

_AFTER_OPTIONS = f"""
The token of the operations door is read from `{ENVIRONMENT_PREFIX}TOKEN`, `TIDEGATE_HTTP_TOKEN` or the profile.

### Profiles

`~/.config/tidegate/cli.toml`, or the file that `{ENVIRONMENT_PREFIX}CONFIG` names. `--profile production` or
`{ENVIRONMENT_PREFIX}PROFILE` chooses one, else `default` does.

```toml
default = "local"

[profiles.local]
bootstrap = "127.0.0.1:9092"
http = "http://127.0.0.1:8080"

[profiles.production]
bootstrap = "kafka-1:9093,kafka-2:9093"
http = "https://tidegate.example.org"
token_file = "token.txt"                  # beside this file; or token = "..."
security_protocol = "SASL_SSL"            # or PLAINTEXT, SSL, SASL_PLAINTEXT
sasl_mechanism = "SCRAM-SHA-512"          # or PLAIN, SCRAM-SHA-256
sasl_username = "tools"
sasl_password_file = "password.txt"       # or sasl_password = "..."
ssl_cafile = "ca.pem"                     # also ssl_certfile, ssl_keyfile, ssl_check_hostname
timeout_s = 30
```

Every key is also a variable: `{ENVIRONMENT_PREFIX}SASL_USERNAME` and so on.

## What is printed

`--output table` is for people; `json` and `yaml` are for programs, with every field and plain numbers.
`consume -o json` prints a line per record, which `produce --json` takes. Bytes that are no text are in base64, in a
field such as `value_base64`. Errors are one line on standard error, with the next step.

| exit status | meaning |
|---|---|
"""

_TIMES = """
## Times, spans, format strings

Spans: `500ms`, `90s`, `15m`, `1h30m`, `2d`, `1w`; a number alone is milliseconds. Times: `2026-11-16T12:00` (local),
`2026-11-16T12:00:00Z`, `+10m` and `-1h` from now, `now`, or milliseconds since 1970.

Records are written by `consume -f` and `log dump -f` with these letters, which kcat and rpk have too; `\\n`, `\\t`,
`\\0` and `\\x1f` are characters. `produce -f` takes lines apart with `%k`, `%v`, `%p`, `%T` and `%h`.

| letter | meaning |
|---|---|
"""

_COMPLETION = """
## Completion

`tidegate --install-completion` teaches bash, zsh or fish the commands and options, and the names of topics and
groups of the broker that variables and the profile name; `--show-completion` prints what it adds.

## Commands
"""


def document() -> str:
    """The whole page."""
    root = whole()
    parts = [_INTRODUCTION + _lines(_shared_rows(root)) + _AFTER_OPTIONS]
    parts.append(_lines(f"| {status.value} | {meaning} |" for status, meaning in EXIT_MEANINGS.items()) + _TIMES)
    parts.append(_lines(f"| {letter} | {meaning} |" for letter, meaning in LETTERS_MEAN.items()) + _COMPLETION)
    for path, command in commands(root):
        parts.append(_section(path, command))
        if path[-1] == PIPELINE:
            parts.append(_pipelines())
    return "".join(parts).rstrip("\n") + "\n"


def whole() -> Any:
    """The program with all of its commands loaded."""
    root: Any = typer.main.get_command(app)
    root.load_all()
    return root


def commands(root: Any, path: tuple[str, ...] = ("tidegate",)) -> Iterator[tuple[tuple[str, ...], Command]]:
    """Every command with its full name, in the order of the help."""
    for name in root.list_commands(None):
        each = root.commands[name]
        if hasattr(each, "commands"):
            yield from commands(each, (*path, name))
        else:
            yield (*path, name), each


def _shared_rows(root: Any) -> Iterator[str]:
    for param in root.params:
        if param.name in SHARED:
            variable = f"{ENVIRONMENT_PREFIX}{'TIMEOUT_S' if param.name == 'timeout' else param.name.upper()}"
            default = DEFAULTS.get(param.name, "the file's `default`")
            yield f"| {_option(param)} | `{variable}` | {default} | {param.help} |"


def _section(path: tuple[str, ...], command: Command) -> str:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options: list[Any] = [
        param for param in command.params if param.param_type_name == "option" and param.name not in (*SHARED, "help")
    ]
    usage = " ".join([*path, "[OPTIONS]", *map(_argument, arguments)])
    text = f"\n### {' '.join(path)}\n\n{inspect.cleandoc(command.help or '').strip()}\n\n```\n{usage}\n```\n"
    rows = [f"| {_option(param)} | {_default(param)} | {_cell(param.help or '')} |" for param in options]
    if rows:
        text += "\n| option | default | meaning |\n|---|---|---|\n" + _lines(rows)
    return text + "\n```sh\n" + _lines(command.examples) + "```\n"


def _pipelines() -> str:
    """The pipelines, whose options are not typer's."""
    of_all = [option.name for option in COMMON]
    text = "\nEvery pipeline takes these, and `--config FILE`, a TOML file with the same options:\n" + _own_options(
        COMMON
    )
    for pipeline in PIPELINES.values():
        own = [option for option in pipeline.options if option.name not in of_all]
        page = f"[docs/pipelines/{pipeline.name}.md](pipelines/{pipeline.name}.md)"
        summary = pipeline.summary[0].upper() + pipeline.summary[1:]
        text += f"\n#### tidegate pipeline {pipeline.name}\n\n{summary}. See {page}.\n{_own_options(own)}"
    return text


def _own_options(options: Any) -> str:
    rows = []
    for option in options:
        taken = "" if option.kind == "flag" else f" {metavar(option)}"
        shown = "required" if option.required else "" if option.empty in (None, False, [], {}) else f"`{option.empty}`"
        rows.append(f"| {_cell(f'`--{option.name}{taken}`')} | {_cell(shown)} | {_cell(option.help)} |")
    return "\n| option | default | meaning |\n|---|---|---|\n" + _lines(rows)


def _argument(param: Any) -> str:
    name = str(param.metavar or param.name.upper())
    return name + ("..." if param.nargs == -1 else "")


def _option(param: Any) -> str:
    names = [*param.opts, *param.secondary_opts]
    taken = f" {param.metavar}" if param.metavar else ""
    return _cell(", ".join(f"`{name}{taken if name.startswith('--') else ''}`" for name in names))


def _default(param: Any) -> str:
    value = getattr(param.default, "value", param.default)
    if value in (None, False, (), []):
        return ""
    return f"`{_cell(str(value))}`" if value is not True else "on"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _lines(rows: Any) -> str:
    return "".join(f"{row}\n" for row in rows)


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
