"""Validators: made once, pushed out by others, and facts that are forgotten when the registry changes."""

import json
from types import SimpleNamespace
from typing import Any

from attrs import define, field

from coordinators.schemas.rows import SchemaContent, SchemaRow
from coordinators.schemas.validation.rules import PartRules
from coordinators.schemas.validation.validators import Compiled, NamedSchema, Validators

VALUES = PartRules("value", is_full=True, strategy="TopicNameStrategy")


@define(eq=False)
class _Registry:
    """What is registered, and how often it was asked."""

    revision: int = 1
    rows: dict[int, SchemaRow] = field(factory=dict)
    asked: int = 0

    def add(self, schema_id: int, text: str) -> None:
        self.rows[schema_id] = SchemaRow(".", schema_id, SchemaContent("AVRO", text), f"guid{schema_id}", "")
        self.revision += 1

    def by_id(self, schema_id: int, _context: str = ".") -> SchemaRow | None:
        self.asked += 1
        return self.rows.get(schema_id)

    def is_registered(self, subject: str, schema_id: int) -> bool:
        return subject == "t-value" and schema_id in self.rows


def _framing(schema_id: int) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big")


def _validators(most: int = 10) -> tuple[_Registry, Validators]:
    registry: Any = _Registry()
    return registry, Validators(registry, most)


def test_a_fact_is_looked_up_once_while_nothing_changes() -> None:
    registry, validators = _validators()
    for _ in range(3):
        assert validators.candidate("t", VALUES, _framing(1)) == "names schema id 1, which is not registered"
    assert registry.asked == 1
    registry.add(1, '"int"')
    assert isinstance(validators.candidate("t", VALUES, _framing(1)), NamedSchema)
    refused = validators.candidate("u", VALUES, _framing(1))
    assert refused == "names schema id 1, which is not registered under the subject u-value"


def test_no_more_validators_are_kept_than_that() -> None:
    registry, validators = _validators(most=2)
    found = []
    for number in (1, 2, 3):
        registry.add(number, json.dumps({"type": "fixed", "name": "F", "size": number}))
    for number in (1, 2, 3):
        candidate = validators.candidate("t", VALUES, _framing(number))
        assert isinstance(candidate, NamedSchema)
        assert isinstance(validators.compiled(candidate), Compiled)
        found.append(candidate)
    assert [validators.is_ready(each) for each in found] == [False, True, True]
    assert validators.complaint(found[0], VALUES)(b"x") is None
    assert validators.is_ready(found[0])


def test_a_schema_that_cannot_be_read_is_a_reason() -> None:
    registry, validators = _validators()
    registry.add(1, "{")
    candidate = validators.candidate("t", VALUES, _framing(1))
    assert isinstance(candidate, NamedSchema)
    reason = validators.complaint(candidate, VALUES)(b"")
    assert reason is not None
    assert reason.startswith("names schema id 1, which cannot be read")


def test_the_latest_of_a_subject_that_is_not_there_is_none() -> None:
    registry: Any = SimpleNamespace(latest=lambda _: None)
    assert Validators(registry).latest("s") is None
