"""The walk over records: what is sound, what is wrong where it is not, and that both forms judge the same."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidRecord
from engine.records import walk as record_walk
from engine.records.layout import pack_record, varint, walk_records
from tools import compile as compiling

Unsound = tuple[int, int] | None
Form = Callable[[bytes, int, int], Unsound]

FORMS = [pytest.param(record_walk._first_unsound, id="python")]
if record_walk.is_compiled:
    FORMS.append(pytest.param(record_walk.first_unsound, id="compiled"))

HEADERS = [(b"name", b"value"), (b"", None), (b"\xff", b"\xff\x80")]


def section(*records: bytes) -> bytes:
    return b"".join(records)


def plain(index: int, value: bytes | None = b"value", key: bytes | None = None) -> bytes:
    return pack_record(index, 0, key, value)


def record(body: bytes) -> bytes:
    return varint(len(body)) + body


def overlong(value: int, size: int) -> bytes:
    """A number in more bytes than it needs."""
    raw, out = value << 1, []
    for _ in range(size - 1):
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes([*out, raw])


SOUND = {
    "one": section(plain(0)),
    "many": section(*(plain(index) for index in range(300))),
    "nulls": section(pack_record(0, 0, None, None), pack_record(1, 0, b"", b"")),
    "headers": section(pack_record(0, 5, b"key", b"value", HEADERS), pack_record(1, -5, None, b"x" * 20_000, HEADERS)),
    "far-times": section(pack_record(0, 2**62, None, b""), pack_record(1, -(2**62), None, b"")),
    "attributes-of-any-value": record(b"\xff\x00\x00\x01\x02v\x00"),
    "five-bytes-for-a-number": record(b"\x00\x00" + overlong(0, 5) + b"\x01\x02v\x00"),
}
COUNTS = {"many": 300, "nulls": 2, "headers": 2, "far-times": 2}

GOOD = plain(0)
UNSOUND = {
    "garbage": (b"\xde\xad\xbe\xef" * 20, 1, 0, "does not end"),
    "nothing": (b"", 1, 0, "does not end"),
    "too-few": (GOOD, 2, 1, "does not end"),
    "too-many": (section(GOOD, plain(1)), 1, 1, "bytes follow the last of 1 records"),
    "trailing-byte": (GOOD + b"\0", 1, 1, "1 bytes follow"),
    "repeated-delta": (section(GOOD, plain(0)), 2, 1, "offset delta is 0"),
    "gap": (section(GOOD, plain(2)), 2, 1, "offset delta is 2"),
    "starts-at-one": (plain(1), 1, 0, "offset delta is 1"),
    "empty-record": (b"\0" + GOOD, 2, 0, "claims 0 bytes"),
    "negative-size": (varint(-4) + GOOD, 1, 0, "claims -4 bytes"),
    "longer-than-its-fields": (record(b"\0\0\0\x01\x02v\0\0"), 1, 0, "1 bytes follow its headers"),
    "shorter-than-its-fields": (section(record(b"\0\0\0\x01\x06v\0"), plain(1)), 2, 0, "value claims 3 bytes"),
    "key-below-null": (record(b"\0\0\0\x03\x02v\0"), 1, 0, "key claims -2 bytes"),
    "header-without-name": (record(b"\0\0\0\x01\x01\x02\x01\x01"), 1, 0, "no name"),
    "negative-headers": (record(b"\0\0\0\x01\x01\x01"), 1, 0, "-1 headers"),
    "a-million-headers": (record(b"\0\0\0\x01\x01" + varint(1_000_000)), 1, 0, "1000000 headers"),
    # The reader of Kafka's Java clients takes five bytes for a number of 32 bits, and no sixth.
    "six-bytes-for-a-number": (record(b"\0\0" + overlong(0, 6) + b"\x01\x01\0"), 1, 0, "32 bits"),
    "delta-beyond-32-bits": (record(b"\0\0" + varint(2**31) + b"\x01\x01\0"), 1, 0, "32 bits"),
    "time-beyond-64-bits": (record(b"\0" + b"\xff" * 9 + b"\x02" + b"\0\x01\x01\0"), 1, 0, "64 bits"),
    # Read as a longer number, as some readers do, these attributes make a sound record of it.
    "attributes-taken-for-a-number": (record(b"\x80\x00" + b"\0\0\x01\x02a\0"), 1, 0, "claims"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SOUND)
def test_what_every_client_reads_is_sound(form: Form, name: str) -> None:
    assert form(SOUND[name], 0, COUNTS.get(name, 1)) is None
    assert form(b"prefix" + SOUND[name], 6, COUNTS.get(name, 1)) is None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", UNSOUND)
def test_what_is_unsound_is_found_and_said(form: Form, name: str) -> None:
    data, count, index, reason = UNSOUND[name]
    unsound = form(data, 0, count)
    assert unsound is not None
    assert unsound[0] == index
    with pytest.raises(InvalidRecord, match=reason) as refusal:
        record_walk.refuse(data, unsound, count)
    assert [number for number, _ in refusal.value.record_errors] == ([index] if index < count else [])


@pytest.mark.parametrize("form", FORMS)
def test_a_section_cut_anywhere_is_unsound(form: Form) -> None:
    whole = SOUND["headers"]
    for end in range(len(whole) - 19_900):
        assert form(whole[:end], 0, 2) is not None


@pytest.mark.skipif(not record_walk.is_compiled, reason="there is no compiled form here")
@given(st.binary(max_size=80), st.integers(-1, 5))
def test_both_forms_judge_any_bytes_the_same(data: bytes, count: int) -> None:
    assert record_walk.first_unsound(data, 0, count) == record_walk._first_unsound(data, 0, count)
    assert record_walk.without_key(data, 0, count, 3) == record_walk._without_key(data, 0, count, 3)


@pytest.mark.skipif(not record_walk.is_compiled, reason="there is no compiled form here")
@given(st.sampled_from(sorted(SOUND)), st.integers(0, 5000), st.integers(0, 255), st.booleans())
def test_both_forms_judge_damage_the_same(name: str, place: int, byte: int, inserted: bool) -> None:
    data, count = bytearray(SOUND[name]), COUNTS.get(name, 1)
    place %= len(data)
    data[place : place + (not inserted)] = bytes([byte])
    damaged = bytes(data)
    unsound = record_walk.first_unsound(damaged, 0, count)
    assert unsound == record_walk._first_unsound(damaged, 0, count)
    assert record_walk.without_key(damaged, 0, count, 3) == record_walk._without_key(damaged, 0, count, 3)
    if unsound is None:
        # Whatever passes, the reader that opens records takes too.
        assert len(list(walk_records(damaged, count))) == count


@pytest.mark.parametrize(
    "without_key", [record_walk._without_key, record_walk.without_key], ids=["python", "the-one-in-use"]
)
def test_records_without_a_key_are_counted_and_the_first_named(without_key: Callable[..., object]) -> None:
    data = section(*(plain(index, key=None if index % 2 else b"k") for index in range(10)))
    assert without_key(data, 0, 10, 3) == (5, [1, 3, 5])


@pytest.mark.skipif(not record_walk.is_compiled, reason="there is no compiled form here")
def test_the_compiled_form_refuses_a_start_outside() -> None:
    for start in (-1, 3):
        with pytest.raises(ValueError, match="outside"):
            record_walk.first_unsound(b"ab", start, 1)


def test_where_there_is_a_compiler_the_compiled_form_is_the_one_in_use() -> None:
    """An object that was left behind, or none although there could be one, would cost every produce request."""
    try:
        subprocess.run(["cc", "--version"], capture_output=True, check=True)
    except OSError:
        pytest.skip("no compiler")
    assert Path(record_walk.__file__).parent in {path.parent for path in compiling.compiled()}
    program = "from engine.records.walk import is_compiled; print(is_compiled)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=compiling.ROOT, check=True
    )
    assert done.stdout.strip() == "True"


# -- what all values begin with

BEGINNINGS = [pytest.param(record_walk._common_beginning, id="python")]
if record_walk.is_compiled:
    BEGINNINGS.append(pytest.param(record_walk.common_beginning, id="compiled"))
_VALUE = st.none() | st.builds(
    lambda beginning, rest: beginning + rest, st.sampled_from([b"abc", b"abc", b"abd", b"ab"]), st.binary(max_size=80)
)


@pytest.mark.parametrize("form", BEGINNINGS)
@pytest.mark.parametrize("of_keys", [False, True])
@given(st.lists(st.tuples(st.none() | st.binary(max_size=70), _VALUE), max_size=6))
def test_what_all_values_or_keys_begin_with_is_found(
    of_keys: bool, form: Callable[..., Unsound], records: list[tuple[bytes | None, bytes | None]]
) -> None:
    """The pairs are keys and values, or the other way round."""
    packed = [pair[::-1] if of_keys else pair for pair in records]
    data = b"??" + section(*(plain(index, value, key) for index, (key, value) in enumerate(packed)))
    values = [value for _, value in records if value is not None]
    found = form(data, 2, len(records), 3, of_keys)
    is_common = bool(values) and all(len(value) >= 3 and value[:3] == values[0][:3] for value in values)
    if found is not None:
        index, position = found
        assert is_common
        assert records[index][1] == values[0]
        assert data[position:].startswith(values[0])
    elif form is not record_walk._common_beginning:
        assert not is_common, "only the form in Python may leave it open"


VALUES = [pytest.param(record_walk._values, id="python")]
if record_walk.is_compiled:
    VALUES.append(pytest.param(record_walk.values, id="compiled"))


@pytest.mark.parametrize("form", VALUES)
@given(st.lists(st.tuples(st.none() | st.binary(max_size=70), st.none() | st.binary(max_size=200)), max_size=6))
def test_all_values_are_found(
    form: Callable[[bytes, int, int], Any], records: list[tuple[bytes | None, bytes | None]]
) -> None:
    data = b"??" + section(*(pack_record(index, -5, key, value, HEADERS) for index, (key, value) in enumerate(records)))
    found = form(data, 2, len(records))
    assert [(index, data[begin:end]) for index, begin, end in found] == [
        (index, value) for index, (_, value) in enumerate(records) if value is not None
    ]
    assert not records or form(data[:-1], 2, len(records)) is None
    assert form(data, 2, len(records) + 1) is None


@pytest.mark.skipif(not record_walk.is_compiled, reason="there is no compiled form here")
@given(st.binary(max_size=80), st.integers(-1, 5))
def test_both_forms_find_the_same_values_in_any_bytes(data: bytes, count: int) -> None:
    assert record_walk.values(data, 0, count) == record_walk._values(data, 0, count)


def test_the_compiled_form_reads_nothing_outside_of_the_section() -> None:
    if not record_walk.is_compiled:
        pytest.skip("there is no compiled form")
    whole = plain(0, b"abc")
    for size in range(len(whole)):
        assert record_walk.common_beginning(whole[:size], 0, 1, 3, False) is None
    with pytest.raises(ValueError, match="outside"):
        record_walk.common_beginning(whole, len(whole) + 1, 1, 3, False)
    with pytest.raises(ValueError, match="at least 0"):
        record_walk.common_beginning(whole, 0, 1, -1, False)
