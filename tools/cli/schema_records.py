r"""Schemas as records of the topic `_schemas`, in which Confluent's registry keeps them: a line is key, tab, value.

So `kafka-console-consumer --topic _schemas --property print.key=true` writes what `tidegate schema import` reads, and
what `tidegate schema export` writes goes into such a topic by `tidegate produce _schemas -f '%k\t%v'`.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import define, field

from tools.cli.errors import CliError, NotFound, UsageMistake
from tools.cli.schema_door import SchemaDoor

Json = dict[str, Any]
Version = tuple[str, int]


@define(eq=False)
class SchemaTopic:
    """What the records of the topic come to, read from the first to the last."""

    versions: dict[Version, Json] = field(factory=dict)
    levels: dict[str | None, str] = field(factory=dict)
    modes: dict[str | None, str] = field(factory=dict)

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
        elif kind in ("CONFIG", "MODE"):
            known, member = (self.levels, "compatibilityLevel") if kind == "CONFIG" else (self.modes, "mode")
            known.pop(subject, None)
            if value is not None and value.get(member):
                known[subject] = value[member]

    # -- writing

    def lines(self) -> Iterator[str]:
        """The records that say all of it."""
        for subject, level in self.levels.items():
            yield _line({"keytype": "CONFIG", "subject": subject, "magic": 0}, {"compatibilityLevel": level})
        for subject, mode in self.modes.items():
            yield _line({"keytype": "MODE", "subject": subject, "magic": 0}, {"mode": mode})
        for (subject, version), value in sorted(self.versions.items(), key=lambda each: (each[1]["id"], each[0])):
            key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
            yield _line(key, {**value, "subject": subject, "version": version, "deleted": bool(value.get("deleted"))})


def _line(key: Json, value: Json) -> str:
    compact = (",", ":")
    return json.dumps(key, separators=compact) + "\t" + json.dumps(value, separators=compact, ensure_ascii=False)


def exported(registry: SchemaDoor) -> SchemaTopic:
    """All that a registry holds: schemas, those that are deleted softly too, levels and modes."""
    topic = SchemaTopic()
    topic.levels[None] = registry.ask("GET", "config")["compatibilityLevel"]
    for each in registry.ask("GET", "schemas", deleted=True):
        topic.versions[each["subject"], each["version"]] = each
    for subject in dict.fromkeys(subject for subject, _ in topic.versions):
        level = _own(registry, "config", subject).get("compatibilityLevel")
        mode = _own(registry, "mode", subject).get("mode")
        topic.levels |= {subject: level} if level else {}
        topic.modes |= {subject: mode} if mode else {}
    return topic


def _own(registry: SchemaDoor, kind: str, subject: str) -> Json:
    """What a subject has of its own, or nothing."""
    try:
        found: Json = registry.ask("GET", kind, subject)
    except NotFound:
        return {}
    return found


def imported(registry: SchemaDoor, topic: SchemaTopic) -> int:
    """Put schemas into a registry under the ids and versions that they had; how many. What is there already stays."""
    subjects = list(dict.fromkeys(subject for subject, _ in topic.versions))
    for subject in subjects:
        registry.ask("PUT", "mode", subject, body={"mode": "IMPORT"}, force=True)
    try:
        _register(registry, topic)
    finally:
        for subject in subjects:
            registry.ask("DELETE", "mode", subject)
    for scope, level in topic.levels.items():
        registry.ask("PUT", "config", *([] if scope is None else [scope]), body={"compatibility": level})
    for scope, mode in topic.modes.items():
        registry.ask("PUT", "mode", *([] if scope is None else [scope]), body={"mode": mode}, force=True)
    return len(topic.versions)


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


CONTENT = ("schema", "schemaType", "references", "metadata", "ruleSet", "id")
