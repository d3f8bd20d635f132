"""Bytes in JSON."""

import pytest

from wire.http.texts import as_base64, as_text


@pytest.mark.parametrize(
    ("data", "text", "base64"), [(b"key", "key", None), (b"", "", None), (b"\xff\0", None, "/wA="), (None, None, None)]
)
def test_text_is_text_and_the_rest_is_base64(data: bytes | None, text: str | None, base64: str | None) -> None:
    assert (as_text(data), as_base64(data)) == (text, base64)
