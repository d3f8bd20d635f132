"""`tidegate schema`: the schema registry from the command line, ours or another that speaks Confluent's API."""

import difflib
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tools.cli.errors import CliError, Exit, UsageMistake
from tools.cli.framework import command, confirm, group, session
from tools.cli.output import Column, printable
from tools.cli.schema_door import registry_of
from tools.cli.schema_records import SchemaTopic, exported, imported

app = group("Schemas: what records hold. Register, look at, compare, delete; move them.")

Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="Such as orders-value.")]
File = Annotated[str, typer.Argument(metavar="FILE", help="With the schema's text; - is standard input.")]
At = Annotated[
    str | None,
    typer.Option("--registry", metavar="URL", help="A registry's address, instead of the broker's operations door."),
]
Kind = Annotated[
    str | None, typer.Option("--type", metavar="TYPE", help="avro, json or protobuf; else by FILE's name.")
]
References = Annotated[
    list[str] | None,
    typer.Option("--reference", metavar="NAME=SUBJECT:VERSION", help="A schema that this one refers to, by NAME."),
]
Normalize = Annotated[bool, typer.Option("--normalize", help="Put in order first what means nothing.")]
Version = Annotated[str, typer.Option("--version", metavar="N", help="This one; else the latest.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

ENDINGS = {".avsc": "AVRO", ".json": "JSON", ".proto": "PROTOBUF"}
MODE = "mode"
LIST = (Column("subject"), Column("versions"), Column("id", right=True), Column("type"))


@command(
    app,
    "register",
    examples=(
        "tidegate schema register orders-value order.avsc",
        "tidegate schema register orders-value order.proto --reference lines.proto=lines:1",
    ),
)
def register(
    context: typer.Context,
    subject: Subject,
    file: File,
    kind: Kind = None,
    references: References = None,
    normalize: Normalize = False,
    registry: At = None,
) -> None:
    """Register a schema as the next version of a subject, or find it registered."""
    at = session(context)
    body = _body(file, kind, references)
    door = registry_of(at.profile, registry)
    known = door.ask("POST", "subjects", subject, "versions", body=body, normalize=normalize)
    told = f" as version {known['version']}" if "version" in known else ""
    at.output.done(f"{subject} has it{told}, under the id {known['id']}", subject=subject, **known)


@command(app, "list", examples=("tidegate schema list", "tidegate schema list --prefix orders --deleted -o json"))
def list_subjects(
    context: typer.Context,
    prefix: Annotated[str | None, typer.Option("--prefix", metavar="TEXT", help="Whose names begin so.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Those that are deleted softly, too.")] = False,
    registry: At = None,
) -> None:
    """List subjects, with their versions and the latest schema's id and type."""
    at = session(context)
    door = registry_of(at.profile, registry)
    found = door.ask("GET", "schemas", deleted=deleted, subjectPrefix=prefix)
    rows: dict[str, dict[str, Any]] = {}
    for each in found:
        row = rows.setdefault(each["subject"], {"subject": each["subject"], "versions": []})
        row["versions"].append(each["version"])
        row |= {"id": each["id"], "type": each.get("schemaType", "AVRO")}
    shown = [{**row, "versions": _ranges(row["versions"])} for row in rows.values()]
    empty = "there are no schemas; 'tidegate schema register SUBJECT FILE' makes one"
    at.output.rows(shown if at.output.is_for_people else list(rows.values()), LIST, empty=empty)


@command(
    app,
    "show",
    examples=("tidegate schema show orders-value", "tidegate schema show orders-value --version 1 -o json"),
)
def show(context: typer.Context, subject: Subject, version: Version = "latest", registry: At = None) -> None:
    """A schema's text, by a version of its subject, or by its id where SUBJECT is a number."""
    at = session(context)
    door = registry_of(at.profile, registry)
    found = door.schema(int(subject)) if subject.isdecimal() else door.version(subject, version)
    if not at.output.is_for_people:
        at.output.value(found)
        return
    if "version" in found:
        kind = found.get("schemaType", "AVRO")
        at.output.note(f"{found['subject']}, version {found['version']}, id {found['id']}, {kind}")
    _print(_pretty(found["schema"]))


@command(
    app,
    "check",
    examples=(
        "tidegate schema check orders-value order.avsc",
        "tidegate schema check orders-value new.avsc --version 1",
    ),
)
def check(
    context: typer.Context,
    subject: Subject,
    file: File,
    kind: Kind = None,
    references: References = None,
    version: Annotated[
        str | None, typer.Option("--version", metavar="N", help="Against this one alone; else as the level wants it.")
    ] = None,
    registry: At = None,
) -> None:
    """Whether a schema could be registered, without registering it; the exit status is 1 if not."""
    at = session(context)
    path = ["compatibility", "subjects", subject, "versions", *([] if version is None else [version])]
    door = registry_of(at.profile, registry)
    found = door.ask("POST", *path, body=_body(file, kind, references), verbose=True)
    if not found["is_compatible"]:
        if not at.output.is_for_people:
            at.output.value(found)
        reasons = "; ".join(found.get("messages", ())) or "the registry does not say why"
        raise CliError(f"it does not fit {subject}: {reasons}", status=Exit.FAILED)
    at.output.done(f"it fits {subject}", **found)


@command(app, "diff", examples=("tidegate schema diff orders-value 1 2",))
def diff(
    context: typer.Context,
    subject: Subject,
    before: Annotated[str, typer.Argument(metavar="VERSION", help="The older one.")],
    after: Annotated[str, typer.Argument(metavar="[VERSION]", help="The newer one; else the latest.")] = "latest",
    registry: At = None,
) -> None:
    """What has changed between two versions, line by line."""
    at = session(context)
    door = registry_of(at.profile, registry)
    found = [door.version(subject, each) for each in (before, after)]
    texts = [_pretty(each["schema"]).splitlines() for each in found]
    names = [f"{subject} version {each['version']}" for each in found]
    lines = list(difflib.unified_diff(texts[0], texts[1], names[0], names[1], lineterm=""))
    if at.output.is_for_people:
        _print("\n".join(lines) if lines else f"{names[0]} and {names[1]} are the same")
    else:
        at.output.value({"subject": subject, "versions": [each["version"] for each in found], "lines": lines})


@command(
    app,
    "delete",
    examples=(
        "tidegate schema delete orders-value --version 2",
        "tidegate schema delete orders-value --permanent --yes",
    ),
)
def delete(
    context: typer.Context,
    subject: Subject,
    version: Annotated[str | None, typer.Option("--version", metavar="N", help="This one; else all of them.")] = None,
    permanent: Annotated[
        bool, typer.Option("--permanent", help="For good, what was deleted before; its ids are answered no more.")
    ] = False,
    yes: Yes = False,
    registry: At = None,
) -> None:
    """Delete a subject or a version: softly, so that it is still found by its id, or for good."""
    at = session(context)
    what = subject if version is None else f"version {version} of {subject}"
    if permanent:
        confirm(f"Delete {what} for good? Records that were written with it can then not be read any more.", yes=yes)
    path = ["subjects", subject, *([] if version is None else ["versions", version])]
    door = registry_of(at.profile, registry)
    gone = door.ask("DELETE", *path, permanent=permanent)
    numbers = gone if isinstance(gone, list) else [gone]
    at.output.done(f"deleted of {subject}: {_ranges(numbers)}", subject=subject, versions=numbers)


@command(
    app,
    "config",
    examples=(
        "tidegate schema config",
        "tidegate schema config orders-value --level FULL_TRANSITIVE",
        "tidegate schema config orders-value --mode READONLY",
        "tidegate schema config old-orders-value --set alias=orders-value",
        "tidegate schema config orders-value --set normalize=true --unset compatibility",
    ),
)
def config(
    context: typer.Context,
    subject: Annotated[str | None, typer.Argument(metavar="[SUBJECT]", help="Else of all.")] = None,
    level: Annotated[
        str | None, typer.Option("--level", metavar="LEVEL", help="NONE, BACKWARD, FORWARD, FULL, or ..._TRANSITIVE.")
    ] = None,
    mode: Annotated[str | None, typer.Option("--mode", metavar="MODE", help="READWRITE, READONLY or IMPORT.")] = None,
    force: Annotated[bool, typer.Option("--force", help="IMPORT though there are schemas.")] = False,
    members: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="What else /config takes; a value is JSON or a word."),
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="NAME", help="One of those, compatibility, or mode.")
    ] = None,
    registry: At = None,
) -> None:
    """What holds for a subject, or for all: the compatibility level, the mode and what else is set; options set it."""
    at = session(context)
    scope = [] if subject is None else [subject]
    given = {name: None for name in unset or () if name != MODE} | dict(map(_member, members or ()))
    given |= {} if level is None else {"compatibility": level}
    door = registry_of(at.profile, registry)
    if given:
        door.ask("PUT", "config", *scope, body=given)
    if mode is not None:
        door.ask("PUT", "mode", *scope, body={"mode": mode}, force=force or None)
    elif MODE in (unset or ()):
        door.ask("DELETE", "mode", *scope)
    found = {
        # Of a subject that stands for another one only its own config tells.
        **({} if subject is None else door.or_nothing("config", subject) or {}),
        **door.ask("GET", "config", *scope, defaultToGlobal=True),
        **door.ask("GET", "mode", *scope, defaultToGlobal=True),
    }
    whose = "all subjects" if subject is None else subject
    others = [f", {name} {_said(each)}" for name, each in found.items() if name not in ("compatibilityLevel", MODE)]
    told = f"{whose}: level {found['compatibilityLevel']}, mode {found['mode']}{''.join(others)}"
    at.output.done(told, **found)


def _member(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise UsageMistake(f"{text!r} sets nothing", "write it like normalize=true")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@command(
    app,
    "export",
    examples=(
        "tidegate schema export > schemas.tsv",
        r"tidegate schema export | tidegate produce _schemas -f '%k\t%v' -b other:9092",
    ),
)
def export(context: typer.Context, registry: At = None) -> None:
    """Write all schemas and settings as records of Confluent's topic _schemas: a key, a tab, a value a line."""
    at = session(context)
    door = registry_of(at.profile, registry)
    topic = exported(door)
    for line in topic.lines():
        sys.stdout.write(line + "\n")


@command(
    app,
    "import",
    examples=(
        "tidegate schema import schemas.tsv",
        r"tidegate consume _schemas -e -f '%k\t%v\n' -b old:9092 | tidegate schema import -",
    ),
)
def import_(context: typer.Context, file: File, registry: At = None) -> None:
    """Take schemas under the ids and versions that they had, from records of the topic _schemas (see export)."""
    at = session(context)
    topic = SchemaTopic()
    topic.read(_text(file).splitlines())
    door = registry_of(at.profile, registry)
    count = imported(door, topic)
    if topic.passed_over:
        at.output.note(f"passed over, for there are no such settings here: {', '.join(sorted(topic.passed_over))}")
    at.output.done(f"{count} versions are there", versions=count)


def _text(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageMistake(f"{file} cannot be read: {error}", "give a file of text, or - for standard input") from None


def _body(file: str, kind: str | None, references: list[str] | None) -> dict[str, Any]:
    named = ENDINGS.get(Path(file).suffix, "AVRO") if kind is None else kind.upper()
    body: dict[str, Any] = {"schema": _text(file), "schemaType": named}
    if references:
        body["references"] = [_reference(each) for each in references]
    return body


def _reference(text: str) -> dict[str, Any]:
    name, equals, place = text.partition("=")
    subject, colon, version = place.rpartition(":")
    if not (name and equals and subject and colon and version.lstrip("-").isdecimal()):
        raise UsageMistake(f"{text!r} names no schema", "write it like Line=lines-value:1")
    return {"name": name, "subject": subject, "version": int(version)}


def _pretty(text: str) -> str:
    """JSON over several lines; what is none, as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text.rstrip("\n")


def _print(text: str) -> None:
    """Over several lines; what somebody has registered must not steer the terminal."""
    sys.stdout.write(printable(text, keeps_lines=True) + "\n")


def _ranges(numbers: list[int]) -> str:
    """1, 2, 3, 7 as 1-3, 7."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(str(each[0]) if len(each) == 1 else f"{each[0]}-{each[-1]}" for each in found)
