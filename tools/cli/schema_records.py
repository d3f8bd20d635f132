r"""Schemas as records of the topic `_schemas`, in which Confluent's registry keeps them: a line is key, tab, value.

So `kafka-console-consumer --topic _schemas --property print.key=true` writes what `tidegate schema import` reads, and
what `tidegate schema export` writes goes into such a topic by `tidegate produce _schemas -f '%k\t%v'`.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from attrs import define, field

from tools.cli.errors import CliError, NotFound, UsageMistake
from tools.cli.schema_door import SchemaDoor

Json = dict[str, Any]
Version = tuple[str, int]
Settings = tuple[str | None, Json, str | None]
"""Of a subject, a context, or None for all: its config and its mode."""
CONTENT = ("schema", "schemaType", "references", "metadata", "ruleSet", "id")
MEMBERS = (
    "compatibilityLevel",
    "compatibilityPolicy",
    "compatibilityGroup",
    "normalize",
    "alias",
    "defaultMetadata",
    "overrideMetadata",
    "defaultRuleSet",
    "overrideRuleSet",
)
"""Of what `/config` takes, in the order in which they are written."""


@define(eq=False)
class SchemaTopic:
    """What the records of the topic come to, read from the first to the last."""

    versions: dict[Version, Json] = field(factory=dict)
    configs: dict[str | None, Json] = field(factory=dict)
    """By subject or context (`:.ctx:`), None for all: the members that are set there, as `/config` tells them."""
    modes: dict[str | None, str] = field(factory=dict)
    passed_over: set[str] = field(factory=set)
    """Members that were set and that no registry of ours takes."""

    # -- reading

    def read(self, lines: Iterable[str]) -> None:
        """Take records in their order; what they say later counts."""
        for number, line in enumerate(lines, 1):
            if line.strip():
                key, tab, value = line.rstrip("\r\n").partition("\t")
                try:
                    self._take(json.loads(key), json.loads(value) if tab and value not in ("", "NULL") else None)
                except (ValueError, KeyError, TypeError, AttributeError):
                    raise UsageMistake(
                        f"line {number} is no record of _schemas", "a line is a key, a tab and a value, both of JSON"
                    ) from None

    def _take(self, key: Json, value: Json | None) -> None:
        kind, subject = key["keytype"], key.get("subject")
        if kind == "SCHEMA":
            place = key["subject"], int(key["version"])
            self.versions.pop(place, None)
            if value is not None:
                self.versions[place] = {**value, "id": int(value["id"]), "schema": str(value["schema"])}
        elif kind == "DELETE_SUBJECT" and value is not None:
            for (name, number), each in self.versions.items():
                if name == value["subject"] and number <= int(value["version"]):
                    each["deleted"] = True
        elif kind == "CLEAR_SUBJECT" and value is not None:
            for place in [each for each in self.versions if each[0] == value["subject"]]:
                del self.versions[place]
        elif kind == "CONFIG":
            self.set_config(subject, value or {})
        elif kind == "MODE":
            self.set_mode(subject, (value or {}).get("mode"))

    def set_config(self, scope: str | None, given: Json) -> None:
        """What a scope has from now on, which may be nothing."""
        self.passed_over |= {name for name, each in given.items() if each} - {*MEMBERS, "subject"}
        members = {name: given[name] for name in MEMBERS if given.get(name) not in (None, "")}
        self.configs.pop(scope, None)
        self.configs |= {scope: members} if members else {}

    def set_mode(self, scope: str | None, mode: str | None) -> None:
        """The same of its mode."""
        self.modes.pop(scope, None)
        self.modes |= {scope: mode} if mode else {}

    # -- writing

    def lines(self) -> Iterator[str]:
        """The records that say all of it."""
        for subject, members in self.configs.items():
            yield _line({"keytype": "CONFIG", "subject": subject, "magic": 0}, {**_named(subject), **members})
        for subject, mode in self.modes.items():
            yield _line({"keytype": "MODE", "subject": subject, "magic": 0}, {**_named(subject), "mode": mode})
        for (subject, version), value in sorted(self.versions.items(), key=lambda each: (each[1]["id"], each[0])):
            key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
            yield _line(key, {**value, "subject": subject, "version": version, "deleted": bool(value.get("deleted"))})


def _named(scope: str | None) -> Json:
    """What a value says of the subject, as Confluent's does, besides its key."""
    return {} if scope is None else {"subject": scope}


def _line(key: Json, value: Json) -> str:
    compact = (",", ":")
    return json.dumps(key, separators=compact) + "\t" + json.dumps(value, separators=compact, ensure_ascii=False)


def exported(registry: SchemaDoor) -> SchemaTopic:
    """All that a registry holds: schemas, those that are deleted softly too, and what `/config` and `/mode` set."""
    topic = SchemaTopic()
    for each in registry.ask("GET", "schemas", deleted=True):
        topic.versions[each["subject"], each["version"]] = each
    subjects = dict.fromkeys(subject for subject, _ in topic.versions)
    # What holds without a setting is told, too: elsewhere something else may hold then.
    topic.set_config(None, registry.ask("GET", "config"))
    for scope, config, mode in _settings(registry, subjects):
        if scope is not None:
            topic.set_config(scope, config)
        topic.set_mode(scope, mode)
    return topic


def _settings(registry: SchemaDoor, subjects: Iterable[str]) -> Iterator[Settings]:
    """Scopes with what they have of their own. Ours lists them; another registry tells only of whom it is asked for."""
    listed = registry.or_nothing("settings")
    if listed is not None:
        yield from ((each.get("subject"), each.get("config", {}), each.get("mode")) for each in listed)
        return
    mode = registry.ask("GET", "mode").get("mode")
    yield None, {}, None if mode == "READWRITE" else mode
    contexts = [f":{name}:" for name in registry.or_nothing("contexts") or () if name != "." and name[:1] == "."]
    for scope in (*contexts, *subjects):
        config, held = registry.or_nothing("config", scope) or {}, registry.or_nothing("mode", scope) or {}
        yield scope, config, held.get("mode")


def imported(registry: SchemaDoor, topic: SchemaTopic) -> int:
    """Put schemas into a registry under the ids and versions that they had; how many. What is there already stays."""
    with _open_for(registry, list(dict.fromkeys(subject for subject, _ in topic.versions))):
        _register(registry, topic)
    for scope, members in topic.configs.items():
        body = {("compatibility" if name == "compatibilityLevel" else name): each for name, each in members.items()}
        registry.ask("PUT", "config", *([] if scope is None else [scope]), body=body)
    for scope, mode in topic.modes.items():
        registry.ask("PUT", "mode", *([] if scope is None else [scope]), body={"mode": mode}, force=True)
    return len(topic.versions)


@contextmanager
def _open_for(registry: SchemaDoor, subjects: list[str]) -> Iterator[None]:
    """Meanwhile subjects take ids and versions, and stand for themselves; then they are what they were."""
    known = {scope: (config.get("alias"), mode) for scope, config, mode in _settings(registry, subjects)}
    held = [(subject, *known.get(subject, (None, None))) for subject in subjects]
    try:
        for subject, alias, _ in held:
            registry.ask("PUT", "mode", subject, body={"mode": "IMPORT"}, force=True)
            if alias:
                registry.ask("PUT", "config", subject, body={"alias": ""})
        yield
    finally:
        for subject, alias, mode in held:
            if alias:
                registry.ask("PUT", "config", subject, body={"alias": alias})
            if mode:
                registry.ask("PUT", "mode", subject, body={"mode": mode}, force=True)
            else:
                _forget_mode(registry, subject)


def _forget_mode(registry: SchemaDoor, subject: str) -> None:
    with suppress(NotFound):
        registry.ask("DELETE", "mode", subject)


def _register(registry: SchemaDoor, topic: SchemaTopic) -> None:
    waiting = sorted(topic.versions.items(), key=lambda each: each[1]["id"])
    deleted = []
    while waiting:
        later = []
        names = {place for place, _ in waiting}
        for (subject, version), value in waiting:
            references = value.get("references") or ()
            if any((each["subject"], each["version"]) in names for each in references):
                later.append(((subject, version), value))
                continue
            body = {name: value[name] for name in CONTENT if value.get(name) is not None}
            registry.ask("POST", "subjects", subject, "versions", body={**body, "version": version})
            deleted += [(subject, version)] if value.get("deleted") else []
        if len(later) == len(waiting):
            raise CliError(f"{len(later)} schemas refer to each other in circles, or to some that are not there")
        waiting = later
    for subject, version in reversed(deleted):
        registry.ask("DELETE", "subjects", subject, "versions", str(version))
