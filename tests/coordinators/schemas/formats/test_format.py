"""What all kinds of schemas share: how they are found, the order of references, and reasons that say where."""

import subprocess
import sys

import pytest

from coordinators.schemas import formats
from coordinators.schemas.formats.format import InvalidPayload, InvalidSchema, ResolvedReference, in_order


def test_references_come_before_those_who_need_them_and_once_each() -> None:
    base = ResolvedReference("base", "base", 1, "")
    left = ResolvedReference("left", "left", 1, "", (base,))
    right = ResolvedReference("right", "right", 1, "", (base, left))
    assert [each.name for each in in_order([right, left])] == ["base", "left", "right"]


def test_references_are_counted() -> None:
    many = [ResolvedReference(f"r{number}", "s", number, "") for number in range(1001)]
    with pytest.raises(InvalidSchema, match="more than 1000 references"):
        in_order(many)


def test_a_reason_says_where() -> None:
    reason = InvalidPayload("is no number").within("price").within("[2]").within("lines").within("order")
    assert str(reason) == "order.lines[2].price: is no number"


def test_every_kind_is_found_by_its_name() -> None:
    for name in formats.TYPES:
        assert hasattr(formats.by_name(name), "parse")
    with pytest.raises(KeyError):
        formats.by_name("XML")


def test_no_library_is_loaded_before_a_kind_is_asked_for() -> None:
    program = (
        "import sys; import coordinators.schemas.formats;"
        "sys.exit(any(name in sys.modules for name in ('fastavro', 'jsonschema_rs', 'google.protobuf')))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
