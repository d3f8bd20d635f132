"""Records of `__share_group_state`: what is written is read, and Kafka's own classes read it too."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.record_fields import UnknownFormat
from coordinators.share.ports import DeliveryState, LetterProducer, ShareChange, SharePlace, ShareState, StateBatch
from coordinators.share.record_formats import (
    SNAPSHOT,
    UPDATE,
    ShareSnapshot,
    ShareUpdate,
    decode_key,
    decode_snapshot,
    decode_update,
    snapshot_record,
    tombstone,
    update_record,
    written_ms,
)

longs = st.integers(0, 2**63 - 1)
epochs = st.integers(0, 2**31 - 1)
places = st.builds(SharePlace, st.text(max_size=20), st.binary(min_size=16, max_size=16), epochs)
batches = st.lists(
    st.builds(
        StateBatch,
        longs,
        longs,
        st.sampled_from([state for state in DeliveryState if state is not DeliveryState.ACQUIRED]),
        st.integers(0, 2**15 - 1),
        st.sampled_from([0, 0, 2**62]),
        st.sampled_from([0, 0, 1]),
        st.sampled_from([0, 0, 7]),
        st.sampled_from(["", "", "no such address"]),
        st.sampled_from(["", "", "member-1"]),
    ),
    max_size=5,
).map(tuple)
ranges = st.lists(st.tuples(longs, longs), max_size=3).map(tuple)
letters = st.none() | st.builds(LetterProducer, longs, longs, st.sampled_from(["", "jobs.dlq"]), ranges)
states = st.builds(ShareState, epochs, epochs, st.integers(-1, 2**63 - 1), epochs, batches, letters)
changes = st.builds(ShareChange, st.integers(-1, 2**63 - 1), epochs, batches, letters)


@given(places, st.builds(ShareSnapshot, epochs, states, longs, longs, st.integers(-1, 2**63 - 1)))
def test_a_snapshot_that_is_written_is_read(place: SharePlace, snapshot: ShareSnapshot) -> None:
    key, value = snapshot_record(place, snapshot)
    assert value is not None
    assert decode_key(key) == (SNAPSHOT, place)
    assert decode_snapshot(value) == snapshot
    assert written_ms(value) == snapshot.written_ms


@given(places, st.builds(ShareUpdate, epochs, epochs, changes))
def test_an_update_that_is_written_is_read(place: SharePlace, update: ShareUpdate) -> None:
    key, value = update_record(place, update)
    assert value is not None
    assert decode_key(key) == (UPDATE, place)
    assert decode_update(value) == update


def test_what_kafka_wrote_is_read() -> None:
    """Without the count, as before it was added, and with a tag of a later version."""
    fixed = struct.pack(">hiiiqqq", 0, 4, 3, 2, 100, 11, 22)
    batch = struct.pack(">qqbh", 100, 105, 2, 1) + b"\0"
    expected = ShareState(3, 2, 100, 0, (StateBatch(100, 105, DeliveryState.ACKNOWLEDGED, 1),))
    assert decode_snapshot(fixed + b"\2" + batch + b"\0") == ShareSnapshot(4, expected, 11, 22)
    assert decode_snapshot(fixed + b"\2" + batch + b"\1\5\2??") == ShareSnapshot(4, expected, 11, 22)


def test_a_tombstone_has_the_key_of_a_snapshot() -> None:
    place = SharePlace("g", bytes(16), 3)
    assert tombstone(place) == (snapshot_record(place, ShareSnapshot(0, ShareState(), 0, 0)).key, None)


def test_later_formats_are_not_guessed() -> None:
    assert decode_key(b"\0\2\0\1a") is None
    for decode in (decode_snapshot, decode_update):
        with pytest.raises(UnknownFormat):
            decode(b"\0\1" + bytes(60))
    with pytest.raises(UnknownFormat):
        decode_update(struct.pack(">hiiq", 0, 0, 0, 0) + b"\2" + struct.pack(">qqbh", 1, 1, 9, 0) + b"\0\0")


GOLDEN = (
    "000000046d61696c000102030405060708090a0b0c0d0e0f00000003",
    "00000000000900000007000000040000000000000064000000000000006f00000000000000de04000000000000006400000000000000680000"
    "0201e80718000000000000232800000000000003e80000000000001f400000000000000069000000000000006903000501e9070b0972656a65"
    "63746564026d000000000000006a000000000000006d0200010003000400000004e8071000000000000000370000000000000006e907080000"
    "00000000005a",
    "000100046d61696c000102030405060708090a0b0c0d0e0f00000003",
    "000000000009000000040000000000000065030000000000000069000000000000006903000501e9070b0972656a6563746564026d00000000"
    "0000006a000000000000006d0200010002000400000005e8071000000000000000370000000000000007",
)
"""Read by ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey and ShareUpdateValue of Kafka 4.3.0, every field of
Kafka's was found in its place; written by them again, the bytes were the same."""


def golden() -> tuple[SharePlace, ShareSnapshot, ShareUpdate]:
    """One of each, with every field in use."""
    place = SharePlace("mail", bytes(range(16)), 3)
    waiting = StateBatch(100, 104, DeliveryState.AVAILABLE, 2, 9_000, 1_000, 8_000)
    letter = StateBatch(105, 105, DeliveryState.ARCHIVING, 5, reason="rejected", member_id="m")
    plain = StateBatch(106, 109, DeliveryState.ACKNOWLEDGED, 1)
    state = ShareState(7, 4, 100, 4, (waiting, letter, plain), LetterProducer(55, 6))
    change = ShareChange(101, 5, (letter, plain), LetterProducer(55, 7))
    return place, ShareSnapshot(9, state, 111, 222, 90), ShareUpdate(9, 4, change)


def test_the_bytes_are_those_that_kafkas_classes_have_read() -> None:
    place, snapshot, update = golden()
    made = *snapshot_record(place, snapshot), *update_record(place, update)
    assert tuple((each or b"").hex() for each in made) == GOLDEN
