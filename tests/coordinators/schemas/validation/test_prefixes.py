"""The short way agrees with the long one wherever it says anything."""

from hypothesis import given, settings
from hypothesis import strategies as st

from coordinators.schemas.validation.prefixes import only_framing
from coordinators.schemas.validation.spans import record_spans
from engine.records.layout import pack_record

IDS = [b"\x00\x00\x00\x00\x07", b"\x00\x00\x00\x00\x08"]
_VALUES = st.none() | st.builds(
    lambda beginning, rest: beginning + rest,
    st.sampled_from([*IDS, IDS[0], IDS[0], b"", b"\x00\x00", b"\x01" + bytes(16)]),
    st.sampled_from([b"", b"x", b"y" * 59, b"z" * 60, b"w" * 9_000, b"v" * 1_100_000]),
)
_RECORDS = st.lists(
    st.tuples(
        st.sampled_from([None, b"", b"key", b"k" * 63, b"k" * 64]),
        _VALUES,
        st.sampled_from([0, 1, 70, 100_000, -5]),
        st.sampled_from([(), ((b"name", b"value"),)]),
    ),
    max_size=5,
)


@settings(max_examples=200, deadline=None)
@given(_RECORDS)
def test_what_it_finds_all_values_begin_with(records: list[tuple[bytes | None, bytes | None, int, tuple[()]]]) -> None:
    section = b"".join(
        pack_record(index, time, key, value, headers) for index, (key, value, time, headers) in enumerate(records)
    )
    spans = list(record_spans(section, len(records)))
    assert [section[each.value_start : each.value_end] if each.value_end >= 0 else None for each in spans] == [
        value for _, value, _, _ in records
    ]
    framing, first = only_framing(section, len(records))
    values = [value for _, value, _, _ in records if value is not None]
    if framing:
        assert (len(framing), framing[0]) == (5, 0)
        assert all(value is None for _, value, _, _ in records[:first])
        assert values[0] == records[first][1]
        assert all(value.startswith(framing) for value in values)


def test_it_finds_what_is_there() -> None:
    section = b"".join(pack_record(index, 0, b"key", IDS[0] + b"x" * 1_000) for index in range(300))
    assert only_framing(section, 300) == (IDS[0], 0)
