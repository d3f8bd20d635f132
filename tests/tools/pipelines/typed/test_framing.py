"""Which schema a value names, and how it is made to name another."""

import pytest

from tools.pipelines.typed.framing import HEADER, apart, framing_named, name_of, reframed

BY_ID = b"\0\0\0\0\x07"
GUID = "00112233-4455-6677-8899-aabbccddeeff"
BY_GUID = b"\1" + bytes.fromhex(GUID.replace("-", ""))


@pytest.mark.parametrize(("framing", "name"), [(BY_ID, "ids/7"), (BY_GUID, f"guids/{GUID}")])
def test_framings_have_names(framing: bytes, name: str) -> None:
    assert name_of(framing) == name
    assert framing_named(name) == framing


def test_a_header_comes_before_what_stands_in_front() -> None:
    assert apart(BY_ID + b"x", None) == (BY_ID, b"x")
    assert apart(b"x", BY_GUID + b"\0") == (BY_GUID, b"\0x")
    assert apart(BY_ID + b"x", b"?") == (b"", b"?" + BY_ID + b"x")


@pytest.mark.parametrize("value", [b"", b"\0\0", b"plain", BY_GUID[:9]])
def test_what_names_no_schema_is_all_payload(value: bytes) -> None:
    assert apart(value, None) == (b"", value)


def test_a_value_names_another_schema_where_that_is_known() -> None:
    other = b"\0\0\0\0\x09"
    framings = {BY_ID: other}
    assert reframed(framings, BY_ID + b"x", [("a", None)]) == (other + b"x", [("a", None)])
    assert reframed(framings, BY_ID + b"x", [(HEADER, BY_ID)]) == (BY_ID + b"x", [(HEADER, other)])
    assert reframed(framings, BY_GUID + b"x", []) == (BY_GUID + b"x", [])
    assert reframed(framings, b"plain", []) == (b"plain", [])
