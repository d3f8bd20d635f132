"""What the catalogue holds of schemas, typed.

Keys:
  schemas/contexts/<context>        the next id of a context; every change in it is compared with this row and writes it
  schemas/ids/<context>/<id>        a schema
  schemas/subjects/<subject>        the versions of a subject
  schemas/settings/<scope>          level, mode and defaults of a subject, of a context (`:.ctx:`), or of all (nothing)

Values are JSON; a reader ignores members that it does not know.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from coordinators.schemas.names import DEFAULT_CONTEXT, Subject, split

SCHEMAS = "schemas/"
CONTEXTS = "schemas/contexts/"
IDS = "schemas/ids/"
SUBJECTS = "schemas/subjects/"
SETTINGS = "schemas/settings/"

AVRO = "AVRO"
Members = Mapping[str, Any]


@frozen
class Reference:
    """Another schema by the name that the text calls it, found under a subject."""

    name: str
    subject: str
    version: int


@frozen
class SchemaContent:
    """What a schema is, wherever it is registered."""

    type: str
    text: str
    references: tuple[Reference, ...] = ()
    metadata: Members | None = None
    rule_set: Members | None = None

    def guid(self, text: str) -> str:
        """The same for the same schema in every registry: made of a text of it, its references, metadata and rules."""
        import uuid  # here: a broker without schemas need not wait for it

        digest = hashlib.md5(text.encode(), usedforsecurity=False)
        for reference in self.references:
            digest.update(reference.name.encode() + reference.subject.encode())
            digest.update(reference.version.to_bytes(4, "big", signed=True))
        for members in (self.metadata, self.rule_set):
            if members is not None:
                digest.update(_encoded(members))
        return str(uuid.UUID(bytes=digest.digest()))


@frozen
class SchemaRow:
    """A schema under its id. It never changes."""

    context: str
    id: int
    content: SchemaContent
    guid: str
    """Of its canonical text: what has the same is the same schema."""
    normal: str
    """The same of its normalised text."""

    @property
    def key(self) -> str:
        return f"{IDS}{self.context}/{self.id}"

    @property
    def type(self) -> str:
        return self.content.type

    @property
    def text(self) -> str:
        return self.content.text

    def encode(self) -> bytes:
        content = self.content
        row: dict[str, Any] = {"type": content.type, "schema": content.text, "guid": self.guid}
        if content.references:
            row["references"] = [[each.name, each.subject, each.version] for each in content.references]
        optional = {"metadata": content.metadata, "ruleSet": content.rule_set}
        if self.normal != self.guid:
            row["normal"] = self.normal
        return _encoded(row | {name: value for name, value in optional.items() if value is not None})

    @classmethod
    def decode(cls, key: str, value: bytes) -> "SchemaRow":
        context, _, number = key.removeprefix(IDS).rpartition("/")
        row = json.loads(value)
        references = tuple(Reference(*each) for each in row.get("references", ()))
        content = SchemaContent(row["type"], row["schema"], references, row.get("metadata"), row.get("ruleSet"))
        return cls(context, int(number), content, row["guid"], row.get("normal", row["guid"]))


@frozen
class Version:
    """One of a subject."""

    number: int
    id: int
    deleted: bool = False


@frozen
class SubjectRow:
    """A subject and its versions, the oldest first."""

    subject: Subject
    versions: tuple[Version, ...]

    @property
    def key(self) -> str:
        return SUBJECTS + str(self.subject)

    def encode(self) -> bytes:
        return _encoded({"versions": [[each.number, each.id, int(each.deleted)] for each in self.versions]})

    @classmethod
    def decode(cls, key: str, value: bytes) -> "SubjectRow":
        versions = tuple(Version(number, schema_id, bool(gone)) for number, schema_id, gone in _versions(value))
        return cls(split(key.removeprefix(SUBJECTS)), versions)

    # -- what it tells

    def live(self) -> tuple[Version, ...]:
        """Those that are not deleted."""
        return tuple(each for each in self.versions if not each.deleted)

    def find(self, number: int, *, deleted: bool = False) -> Version | None:
        """The version of this number, if it is there; a deleted one only if those count."""
        found = next((each for each in self.versions if each.number == number), None)
        return None if found is None or (found.deleted and not deleted) else found

    @property
    def latest(self) -> Version | None:
        return next((each for each in reversed(self.versions) if not each.deleted), None)

    @property
    def next_version(self) -> int:
        """Above all that there are, deleted ones too."""
        return 1 + max((each.number for each in self.versions), default=0)


def _versions(value: bytes) -> list[list[int]]:
    found: list[list[int]] = json.loads(value)["versions"]
    return found


@frozen
class ContextRow:
    """Where a context's next id is. Each change of the context writes it, so that no two are planned side by side."""

    context: str
    next_id: int = 1

    @property
    def key(self) -> str:
        return CONTEXTS + self.context

    def encode(self) -> bytes:
        return _encoded({"next_id": self.next_id})

    @classmethod
    def decode(cls, key: str, value: bytes) -> "ContextRow":
        return cls(key.removeprefix(CONTEXTS), json.loads(value)["next_id"])


@frozen
class SettingsRow:
    """What is set for a scope; None is not set. `config` has the members that clients gave."""

    scope: Subject
    config: Members | None = None
    mode: str | None = None

    @property
    def key(self) -> str:
        return SETTINGS + str(self.scope)

    @property
    def is_empty(self) -> bool:
        return self.config is None and self.mode is None

    def encode(self) -> bytes:
        return _encoded({"config": self.config, "mode": self.mode})

    @classmethod
    def decode(cls, key: str, value: bytes) -> "SettingsRow":
        row = json.loads(value)
        return cls(split(key.removeprefix(SETTINGS)), row.get("config"), row.get("mode"))


def context_key(context: str = DEFAULT_CONTEXT) -> str:
    """The key of a context's row."""
    return CONTEXTS + context


def _encoded(value: Any) -> bytes:
    """The same bytes for the same value; text as it is, which rows of the cluster's etcd have little room for."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
