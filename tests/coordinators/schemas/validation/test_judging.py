"""One batch judged: which records are at fault, and how often schemas are looked up for it."""

from typing import Any

import pytest
from attrs import define, field

from coordinators.schemas.rows import SchemaContent, SchemaRow
from coordinators.schemas.validation.judging import MOST_NAMED, Judging
from coordinators.schemas.validation.rules import PartRules, SchemaRules
from coordinators.schemas.validation.validators import Validators
from engine.records.layout import pack_record

FULL = SchemaRules(None, PartRules("value", is_full=True, strategy="TopicNameStrategy"))
NUMBER, TEXT = b"\0\0\0\0\1", b"\0\0\0\0\2"


@define(eq=False)
class Registry:
    """Under the id 1 numbers, under 2 texts, both of the topic `t`."""

    revision: int = 1
    asked: list[int] = field(factory=list)

    def by_id(self, schema_id: int, _context: str = ".") -> SchemaRow | None:
        self.asked.append(schema_id)
        known = {1: '"int"', 2: '"string"'}
        text = known.get(schema_id)
        return text and SchemaRow(".", schema_id, SchemaContent("AVRO", text), f"guid{schema_id}", "")  # type: ignore[return-value]

    def is_registered(self, subject: str, schema_id: int) -> bool:
        return subject == "t-value" and schema_id in (1, 2)


def judged(*values: bytes | None) -> tuple[Any, Registry]:
    """The refusal, and who was asked."""
    registry: Any = Registry()
    judging = Judging(Validators(registry), "t", FULL, len(values))
    judging.look(b"".join(pack_record(index, 0, None, value) for index, value in enumerate(values)))
    judging.find()
    return judging.verdict(), registry


def test_a_sound_batch_is_taken_and_its_schema_looked_up_once() -> None:
    verdict, registry = judged(*[NUMBER + b"\x02"] * 50, None)
    assert verdict is None
    assert registry.asked == [1]


@pytest.mark.parametrize("others", [(), (TEXT + b"\x02a",)], ids=["of one schema", "of two"])
def test_each_record_at_fault_is_named_with_its_reason(others: tuple[bytes, ...]) -> None:
    verdict, _ = judged(NUMBER + b"\x02", None, NUMBER + b"\x02\x02", NUMBER, *others)
    assert [index for index, _ in verdict.record_errors] == [2, 3]
    assert str(verdict).startswith("record 2: its value does not fit schema id 1: 1 bytes are left over")
    assert f"and 1 more of {4 + len(others)}" in str(verdict)


def test_an_id_that_is_not_known_is_a_fault_of_each_record_that_names_it() -> None:
    verdict, registry = judged(*[b"\0\0\0\0\7x"] * 3)
    assert [index for index, _ in verdict.record_errors] == [0, 1, 2]
    assert "names schema id 7, which is not registered" in str(verdict)
    assert registry.asked == [7]


def test_no_more_records_are_named_than_an_answer_has_room_for() -> None:
    verdict, _ = judged(*[b"nothing"] * (MOST_NAMED + 5))
    assert len(verdict.record_errors) == MOST_NAMED
    assert f"and {MOST_NAMED + 4} more of {MOST_NAMED + 5}" in str(verdict)
