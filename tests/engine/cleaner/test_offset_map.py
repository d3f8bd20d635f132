"""The map of latest offsets."""

from hypothesis import given
from hypothesis import strategies as st

from engine.cleaner.keyed_records import KeyedRecord
from engine.cleaner.offset_map import ENTRY_OVERHEAD, LONG_KEY, OffsetMap


def records(*keys: bytes | None) -> list[KeyedRecord]:
    return [(0, 0, delta, key, True) for delta, key in enumerate(keys)]


def kept(offsets: OffsetMap, base_offset: int, *keys: bytes | None) -> list[int]:
    return [record[2] for record in offsets.latest(base_offset, records(*keys))]


def test_only_the_latest_of_a_key_stays() -> None:
    offsets = OffsetMap()
    offsets.note(0, records(b"a", b"b", b"a"))
    assert kept(offsets, 0, b"a", b"b", b"a") == [1, 2]


def test_a_key_that_was_not_noted_stays() -> None:
    assert kept(OffsetMap(), 0, b"a") == [0]


def test_a_record_without_key_goes() -> None:
    offsets = OffsetMap()
    offsets.note(0, records(None))
    assert kept(offsets, 0, None) == []
    assert len(offsets) == 0


def test_the_empty_key_is_a_key() -> None:
    offsets = OffsetMap()
    offsets.note(0, records(b"", b""))
    assert kept(offsets, 0, b"", b"") == [1]


@given(st.lists(st.binary(min_size=LONG_KEY - 2, max_size=LONG_KEY + 2), max_size=30))
def test_long_keys_are_told_apart(keys: list[bytes]) -> None:
    offsets = OffsetMap()
    offsets.note(7, records(*keys))
    assert {keys[delta]: delta for delta in kept(offsets, 7, *keys)} == {key: n for n, key in enumerate(keys)}


def test_it_is_full_at_its_bound() -> None:
    offsets = OffsetMap(2 * ENTRY_OVERHEAD)
    offsets.note(0, records(b"a", b"a", b"a"))
    assert not offsets.full
    offsets.note(3, records(b"b"))
    assert offsets.full
