"""How records say which schema they were written with."""

from itertools import product
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.schemas.validation import framing
from coordinators.schemas.validation.framing import schema_named, survey
from coordinators.schemas.validation.rules import PartRules, SchemaRules
from engine.records.layout import pack_record

ID, GUID = b"\x00\x00\x00\x00\x07", b"\x01" + bytes(range(16))
KEYS = PartRules("key", is_full=False, strategy="TopicNameStrategy")
VALUES = PartRules("value", is_full=True, strategy="TopicNameStrategy")


def _section(*records: tuple[bytes | None, bytes | None, tuple[tuple[bytes, bytes], ...]]) -> bytes:
    return b"".join(
        pack_record(index, 1_000 * index, key, value, headers) for index, (key, value, headers) in enumerate(records)
    )


def test_ids_and_guids_stand_in_front_or_in_headers() -> None:
    header = ((b"other", b""), (b"__value_schema_id", GUID + b"\x02\x02"))
    section = _section((None, ID + b"one", ()), (None, GUID + b"two", ()), (None, b"three", header), (b"k", None, ()))
    found = survey(section, 4, SchemaRules(None, VALUES))
    payloads = [(each.record, each.framing, each.numbers, section[each.start : each.end]) for each in found.framed]
    assert payloads == [(0, ID, b"", b"one"), (1, GUID, b"", b"two"), (2, GUID, b"\x02\x02", b"three")]
    assert found.unframed == []


def test_where_payloads_are_not_looked_into_each_framing_counts_once() -> None:
    section = _section(*([(ID + bytes([number]), None, ()) for number in range(200)]))
    found = survey(section, 200, SchemaRules(KEYS, None))
    assert len(found.framed) == 1
    assert list(found.wanted) == [("key", ID)]


@pytest.mark.parametrize("value", [b"", b"\x00", ID[:4], b"\x01" + bytes(15), b"\x02" + bytes(20), b'{"a": 1}'])
def test_what_is_no_framing_is_named(value: bytes) -> None:
    for rules in (SchemaRules(None, VALUES), SchemaRules(None, PartRules("value", is_full=False, strategy=""))):
        found = survey(_section((None, ID, ()), (None, value, ())), 2, rules)
        assert found.unframed == [(1, "value")]


def test_a_short_value_is_not_taken_for_the_one_before() -> None:
    """Behind it lie the bytes that would make it whole."""
    section = _section((None, ID, ()), (None, ID[:4], ()))
    found = survey(section + b"\x07" * 5, 2, SchemaRules(None, PartRules("value", is_full=False, strategy="")))
    assert found.unframed == [(1, "value")]


def test_a_framing_names_an_id_or_a_guid() -> None:
    assert schema_named(ID) == 7
    assert schema_named(b"\x00\xff\xff\xff\xff") == -1
    assert schema_named(GUID) == "00010203-0405-0607-0809-0a0b0c0d0e0f"


_PART = st.none() | st.builds(
    lambda framing, rest: framing + rest,
    st.sampled_from([b"\0\0\0\0\7", b"\0\0\0\0\7", b"\0\0\0\0\7", b"\0\0\0\0\x08", b"\0\0", b"\2", b"\1" + bytes(16)]),
    st.binary(max_size=70),
)


@pytest.mark.parametrize("levels", list(product([None, False, True], repeat=2))[1:])
@given(st.lists(st.tuples(_PART, _PART), max_size=5))
def test_the_short_way_sees_what_the_long_one_sees(
    levels: tuple[bool | None, bool | None], records: list[tuple[bytes | None, bytes | None]]
) -> None:
    key, value = (
        None if is_full is None else PartRules(part, is_full, "TopicNameStrategy")
        for part, is_full in zip(("key", "value"), levels, strict=True)
    )
    rules, count = SchemaRules(key, value), len(records)
    data = b"".join(pack_record(index, 0, *pair) for index, pair in enumerate(records))
    short = survey(data, count, rules)
    with patch.object(framing, "_are_alike", lambda *_: False):
        long = survey(data, count, rules)
    assert (short.wanted.keys(), short.unframed) == (long.wanted.keys(), long.unframed)
    full = [part for part, is_full in zip(("key", "value"), levels, strict=True) if is_full]
    assert [each for each in short.framed if each.part in full] == [each for each in long.framed if each.part in full]
    named = [{(each.record, each.part, each.framing) for each in seen.framed} for seen in (short, long)]
    assert named[0] == named[1]
