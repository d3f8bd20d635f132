"""What callers send: a schema, with what belongs to it."""

from typing import Annotated, Any

import msgspec

from coordinators.schemas.rows import AVRO, Reference, SchemaContent
from wire.registry.answers import ReferenceShown
from wire.registry.calls import INT32_MAX

MOST_REFERENCES = 1000
Int32 = Annotated[int, msgspec.Meta(ge=-1, le=INT32_MAX)]


class RuleGiven(msgspec.Struct, omit_defaults=True, rename="camel"):
    """A rule."""

    name: str
    doc: str | None = None
    kind: str | None = None
    mode: str | None = None
    type: str | None = None
    tags: list[str] | None = None
    params: dict[str, str] | None = None
    expr: str | None = None
    on_success: str | None = None
    on_failure: str | None = None
    disabled: bool = False


class MetadataGiven(msgspec.Struct, omit_defaults=True):
    """What is told of a schema besides what it says."""

    tags: dict[str, list[str]] | None = None
    properties: dict[str, str] | None = None
    sensitive: list[str] | None = None


class RulesGiven(msgspec.Struct, omit_defaults=True, rename="camel"):
    """Rules, which clients carry out: they are kept and given back."""

    migration_rules: list[RuleGiven] | None = None
    domain_rules: list[RuleGiven] | None = None
    encoding_rules: list[RuleGiven] | None = None


class SchemaGiven(msgspec.Struct, kw_only=True, rename="camel"):
    """A schema as it comes in; members that are not known are passed over."""

    schema: str | None = None
    schema_type: str | None = None
    references: Annotated[list[ReferenceShown], msgspec.Meta(max_length=MOST_REFERENCES)] | None = None
    metadata: MetadataGiven | None = None
    rule_set: dict[str, Any] | None = None
    id: Int32 | None = None
    version: Int32 | None = None

    @property
    def content(self) -> SchemaContent:
        """The schema itself."""
        references = tuple(Reference(each.name, each.subject, each.version) for each in self.references or ())
        metadata = None if self.metadata is None else msgspec.to_builtins(self.metadata)
        return SchemaContent((self.schema_type or AVRO).upper(), self.schema or "", references, metadata, self.rule_set)

    @property
    def given_id(self) -> int | None:
        """-1 is none."""
        return self.id if self.id is not None and self.id > 0 else None

    @property
    def given_version(self) -> int | None:
        """-1 and 0 are none."""
        return self.version if self.version is not None and self.version > 0 else None
