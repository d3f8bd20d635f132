"""Values of logical types as people write them."""

from typing import Any

import pytest

from tests.coordinators.schemas.formats.avro.orders import parsed, written


def shown(number: bytes, scale: int = 2) -> Any:
    schema = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": scale}
    return parsed(schema).to_json(written("bytes", number))


@pytest.mark.parametrize(
    ("number", "scale", "text"),
    [
        (12345678901234567890123456789012345678, 2, "123456789012345678901234567890123456.78"),
        (-5, 2, "-0.05"),
        (0, 3, "0.000"),
        (-1200, 0, "-1200"),
    ],
)
def test_every_digit_of_a_decimal_is_shown(number: int, scale: int, text: str) -> None:
    assert shown(number.to_bytes(20, "big", signed=True), scale) == text


def test_a_decimal_that_would_take_minutes_is_shown_as_bytes() -> None:
    assert shown(b"\x7f" * 500_000) == "\x7f" * 500_000
