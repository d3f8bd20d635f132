"""Values go into columns if they fit, and nothing else does."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from tools.pipelines.typed.types import FROM_TEXT, array, decimal, fitted, mapping, struct


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("long", 7, 7),
        ("long", "9223372036854775807", 2**63 - 1),
        ("long", 2**63, None),
        ("long", 2.5, None),
        ("long", True, None),
        ("double", 7, 7.0),
        ("double", "x", None),
        ("string", "tea", "tea"),
        ("string", {"a": 1}, '{"a":1}'),
        ("boolean", 1, None),
        ("date", "2026-11-16", date(2026, 11, 16)),
        ("timestamp", "2026-11-16T05:00:00Z", datetime(2026, 11, 16, 5, tzinfo=UTC)),
        ("timestamp", 253402300800000, None),
        ("decimal(5,2)", "123.45", Decimal("123.45")),
        ("decimal(5,2)", "1234.5", None),
        ("binary", "\x00ÿ", b"\x00\xff"),
        ("binary", "\u20ac", None),
        ("long", None, None),
    ],
)
def test_a_value_fits_or_is_null(kind: str, given: Any, expected: Any) -> None:
    found = fitted(given, kind, FROM_TEXT["AVRO"])
    assert found == expected
    assert type(found) is type(expected)


def test_what_lies_inside_is_fitted_too() -> None:
    kind = struct([("id", "long"), ("lines", array(struct([("raw", "binary")]))), ("by", mapping("double"))])
    given = {"id": "x", "lines": [{"raw": "/w=="}, "none"], "by": {"a": 1}, "unknown": 1}
    assert fitted(given, kind, FROM_TEXT["PROTOBUF"]) == {
        "id": None,
        "lines": [{"raw": b"\xff"}, None],
        "by": {"a": 1.0},
    }


def test_an_object_has_no_two_fields_that_differ_in_case_alone() -> None:
    found = struct([("id", "long"), ("ID", "string")])
    assert isinstance(found, dict)
    assert [each["name"] for each in found["fields"]] == ["id"]


def test_what_a_table_cannot_hold_is_text() -> None:
    assert struct([]) == "string"
    assert decimal(39, 2) == "string"
    assert decimal(38, 2) == "decimal(38,2)"
