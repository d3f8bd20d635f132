"""Writes docs/cli.md from the commands themselves: `python -m tools.generate_cli_docs`."""

import inspect
from collections.abc import Iterator, Sequence
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

_TASKS = (
    (
        "see whether all is well",
        "`tidegate status`",
    ),
    (
        "read what a topic holds, and end",
        "`tidegate consume orders --exit`",
    ),
    (
        "follow a topic from now on",
        "`tidegate consume orders --from latest`",
    ),
    (
        "read the last ten records of each partition",
        "`tidegate consume orders --from -10 --exit`",
    ),
    (
        "read an hour of yesterday",
        "`tidegate consume orders --since 2026-11-15T12:00 --until 2026-11-15T13:00`",
    ),
    (
        "find a record",
        "`tidegate consume orders --exit --value 'ice cream' -f '%p/%o %D %v\\n'`",
    ),
    (
        "send a file, a record per line, all of it or nothing",
        "`tidegate produce orders --file orders.txt --transactional-id import-1`",
    ),
    (
        "send a picture",
        "`tidegate produce pictures --key cat --file cat.jpg --whole`",
    ),
    (
        "delete a key from a compacted topic",
        "`tidegate produce customers --key 17 --null ''`",
    ),
    (
        "copy a topic, with keys, headers and times",
        "`tidegate consume orders -e -o json | tidegate produce copies --json`",
    ),
    (
        "read everything again in a group",
        "`tidegate group reset kitchen --to earliest --dry-run`, then with `--yes`",
    ),
    (
        "alert when a group falls behind",
        "`tidegate group lag kitchen --max 1000 || alert`",
    ),
    (
        "free what an abandoned transaction keeps from readers",
        "`tidegate txn hanging`, then `tidegate txn abort`",
    ),
    (
        "look into files after a crash, without a broker",
        "`tidegate log verify data`, `tidegate log dump data --topic orders --records`",
    ),
    (
        "look for damage on the disk of a running broker",
        "`tidegate scrub --start --wait`",
    ),
    (
        "bring back a catalogue that was lost or damaged",
        "`tidegate catalogue rebuild --data-dir data`",
    ),
)
_ELSEWHERE = (
    (
        "`kcat -b B -P -t T -K : -l FILE`",
        "`tidegate produce T -b B -K : --file FILE`",
    ),
    (
        "`kcat -b B -P -t T PICTURE`",
        "`tidegate produce T -b B --file PICTURE --whole`",
    ),
    (
        "`kcat -b B -C -t T -e -f '%o %k %s\\n'`",
        "`tidegate consume T -b B -e -f '%o %k %s\\n'`",
    ),
    (
        "`kcat -b B -C -t T -o -10 -e`",
        "`tidegate consume T -b B --from -10 -e`",
    ),
    (
        "`kcat -b B -C -t T -o s@T1 -o e@T2`",
        "`tidegate consume T -b B --since T1 --until T2`",
    ),
    (
        "`kcat -b B -G GROUP T`",
        "`tidegate consume T -b B --group GROUP`",
    ),
    (
        "`kcat -b B -L -J`",
        "`tidegate cluster info -b B -o json`, `tidegate topic list -b B -o json`",
    ),
    (
        "`rpk topic produce T -f '%k %v{base64}\\n'`",
        "`tidegate produce T -f '%k %v{base64}'`",
    ),
    (
        "`rpk topic consume T -o @-1h:end -f '%d{strftime[%T]} %v\\n'`",
        "`tidegate consume T --since -1h -e -f '%d{strftime[%T]} %v\\n'`",
    ),
    (
        "`rpk group seek G --to start`",
        "`tidegate group reset G --to earliest`",
    ),
    (
        "`kafka-topics.sh --create --topic T --partitions 3`",
        "`tidegate topic create T --partitions 3`",
    ),
    (
        "`kafka-consumer-groups.sh --describe --group G`",
        "`tidegate group describe G`",
    ),
    (
        "`kafka-configs.sh --entity-type topics --entity-name T --alter --add-config K=V`",
        "`tidegate topic alter T --set K=V`",
    ),
    (
        "`kafka-delete-records.sh`",
        "`tidegate topic purge T --offset 1000`",
    ),
    (
        "`kafka-transactions.sh find-hanging`, `abort`",
        "`tidegate txn hanging`, `tidegate txn abort`",
    ),
    (
        "`kafka-dump-log.sh --print-data-log`, `--transaction-log-decoder`, `--offsets-decoder`",
        "`tidegate log dump data --topic T --records`",
    ),
)

_INTRODUCTION = """\
# The command line

`tidegate` runs a broker and talks to it. Commands for topics, records, groups, settings and transactions work with any
broker that speaks Kafka's protocol; those for delayed records, lanes and traces need Tidegate's operations door.
This page is written by `python -m tools.generate_cli_docs` from the commands; each also has `--help`.

```console
$ tidegate topic create orders --partitions 3
topic orders made
$ printf 'table-4:one coffee\\ntable-7:one tea\\n' | tidegate produce orders --key-separator :
2 records to orders: partition 0 at 0, partition 1 at 0
$ tidegate produce orders --key table-4 --delay 15m --schedule-id dessert 'one ice cream'
1 record to orders; 1 held back for 15m
$ tidegate consume orders --exit --format '%p/%o %k: %v\\n'
1/0 table-4: one coffee
0/0 table-7: one tea
$ tidegate pending list orders
partition   id        due (UTC)                      in   priority   state     key       size
─────────────────────────────────────────────────────────────────────────────────────────────
        1   dessert   2026-11-16 09:35:52.762Z   14m57s   normal     waiting   table-4   71 B
$ tidegate group lag kitchn
tidegate: no group 'kitchn'; 'tidegate group list' shows those that there are
$ tidegate topic list -o json | jq -c '.[]'
{"name":"orders","partitions":3,"replicas":1,"size_bytes":167,"internal":false}
```

"""

_WHERE = """\
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

[profiles.production]
bootstrap = "kafka-1:9093,kafka-2:9093"
http = "https://tidegate.example.org"
token_file = "token.txt"                  # beside this file; or token = "..."
security_protocol = "SASL_SSL"            # or PLAINTEXT, SSL, SASL_PLAINTEXT
sasl_mechanism = "SCRAM-SHA-512"          # or PLAIN, SCRAM-SHA-256, OAUTHBEARER
sasl_username = "tools"
sasl_password_file = "password.txt"       # or sasl_password = "..."; for OAUTHBEARER sasl_token_file
ssl_cafile = "ca.pem"                     # also ssl_certfile, ssl_keyfile, ssl_check_hostname
timeout_s = 30
```

Every key is also a variable: `{ENVIRONMENT_PREFIX}SASL_USERNAME` and so on, for secrets also with the name of a file:
`{ENVIRONMENT_PREFIX}SASL_PASSWORD_FILE`. No secret is an option, for others see those in the list of processes.
A door with `https` is shown the token, else the user and password of SASL, or the certificate of `ssl_certfile`.

## What is printed

`--output table` is for people; `json` and `yaml` are for programs, with every field and plain numbers.
`consume -o json` prints a line per record, which `produce --json` takes. Bytes that are no text are in base64, in a
field such as `value_base64`. On a terminal, what takes over a second shows a bar or a spinner, and a table that does
not fit becomes a block for each row; a pipe gets neither, nor colours (`NO_COLOR` takes them away everywhere).

Errors are one line on standard error, with the next step; `TIDEGATE_CLI_DEBUG=1` shows the traceback of one that should
not happen. Where something would be lost, a person is asked first; a script says `--yes`. Scripts may rely on these:

| exit status | meaning |
|---|---|
"""

_TIMES = """
## Times, spans, format strings

Spans: `500ms`, `90s`, `15m`, `1h30m`, `2d`, `1w`; a number alone is milliseconds. Times: `2026-11-16T12:00` (local),
`2026-11-16T12:00:00Z`, `+10m` and `-1h` from now, `now`, or milliseconds since 1970.

Records are written by `consume -f` and `log dump -f` with these letters, which kcat and rpk have too; `\\n`, `\\t`,
`\\0` and `\\x1f` are characters. `produce -f` takes lines apart with `%k`, `%v`, `%p`, `%T` and `%h`;
`%k{hex}` and `%v{base64}` are decoded, `%k{8}` is eight bytes.

| letter | meaning |
|---|---|
"""

_COMPLETION = """
## Completion

`tidegate --install-completion` teaches bash, zsh or fish the commands and options, and the names of topics, groups and
transactional ids of the broker that variables and the profile name; `--show-completion` prints what it adds.

## Commands
"""


def document() -> str:
    """The whole page."""
    root = whole()
    parts = [_INTRODUCTION, _table("How do I ...", ("wanted", "command"), _TASKS)]
    parts += [_table("Coming from other tools", ("there", "here"), _ELSEWHERE)]
    parts += [_WHERE + _lines(_shared_rows(root)) + _AFTER_OPTIONS]
    parts.append(_lines(f"| {status.value} | {meaning} |" for status, meaning in EXIT_MEANINGS.items()) + _TIMES)
    parts.append(_lines(f"| {letter} | {meaning} |" for letter, meaning in LETTERS_MEAN.items()) + _COMPLETION)
    for path, command in commands(root):
        parts.append(_section(path, command))
        if path[-1] == PIPELINE:
            parts.append(_pipelines())
    return "".join(parts).rstrip("\n") + "\n"


def _table(title: str, heads: tuple[str, str], rows: Sequence[tuple[str, str]]) -> str:
    lines = [f"## {title}\n", f"| {heads[0]} | {heads[1]} |", "|---|---|"]
    lines += [f"| {_cell(first)} | {_cell(second)} |" for first, second in rows]
    return _lines(lines) + "\n"


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
