"""Sorted rows against a dict, and what bounds them."""

import struct
from bisect import bisect_right

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.stage.sorted_rows import SortedRows, from_little_endian

LAYOUT = struct.Struct("<qB")
KEYS = st.integers(0, 25)


def rows(count: int, step: int = 1) -> SortedRows:
    table = SortedRows(LAYOUT)
    for key in range(0, count * step, step):
        table.append(key, LAYOUT.pack(-key, key % 256))
    return table


def encoded(table: SortedRows) -> bytes:
    return b"".join(table.encode())


class SortedRowsMachine(RuleBasedStateMachine):
    """A table with chunks of four rows and its model, a dict; and snapshots that are read only later."""

    @initialize()
    def start(self) -> None:
        self.table = SortedRows(LAYOUT, chunk_rows=4)
        self.model: dict[int, tuple[int, ...]] = {}
        self.snapshots: list[tuple[object, dict[int, tuple[int, ...]]]] = []
        self.copies: list[tuple[SortedRows, dict[int, tuple[int, ...]]]] = []

    @rule(key=KEYS, value=st.integers(-(2**63), 2**63 - 1))
    def insert(self, key: int, value: int) -> None:
        if self.table.find_exactly(key) is None:
            self.table.insert(self.table.find(key), key, LAYOUT.pack(value, 1))
        else:
            self.table.write(self.table.find_exactly(key) or (0, 0), LAYOUT.pack(value, 1))
        self.model[key] = (value, 1)

    @rule(distance=st.integers(1, 5))
    def append(self, distance: int) -> None:
        key = max(self.model, default=0) + distance
        self.table.append(key, LAYOUT.pack(key, 2))
        self.model[key] = (key, 2)

    @rule(key=KEYS)
    def delete(self, key: int) -> None:
        place = self.table.find_exactly(key)
        assert (place is not None) == (key in self.model)
        if place is not None:
            self.table.delete(place)
            del self.model[key]

    @rule()
    def take_a_snapshot(self) -> None:
        self.snapshots.append((self.table.encode(), self.model.copy()))
        self.copies.append((self.table.snapshot(), self.model.copy()))

    @rule()
    def read_a_snapshot(self) -> None:
        if self.snapshots:
            copied, model = self.copies.pop(0)
            assert dict(copied.rows()) == model
            assert len(copied) == len(model)
            pieces, model = self.snapshots.pop(0)
            data = b"".join(pieces)  # type: ignore[arg-type]
            decoded, end = SortedRows.decode(data, 0, LAYOUT)
            assert end == len(data)
            assert dict(decoded.rows()) == model

    @rule()
    def go_on_with_what_was_encoded(self) -> None:
        self.table, _ = SortedRows.decode(encoded(self.table), 0, LAYOUT)
        self.table.chunk_rows = 4

    @rule(key=KEYS)
    def look(self, key: int) -> None:
        keys = sorted(self.model)
        at = bisect_right(keys, key) - 1
        place = self.table.find(key)
        assert (None if place is None else self.table.key(place)) == (keys[at] if at >= 0 else None)
        following = self.table.after(place)
        assert (None if following is None else self.table.key(following)) == (keys[at + 1 :] or [None])[0]
        assert [each for each, _ in self.table.rows(key)] == keys[max(at, 0) :]

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if hasattr(self, "table"):
            assert list(self.table.rows()) == sorted(self.model.items())
            assert len(self.table) == len(self.model)
            assert all(0 < len(chunk) <= 4 for chunk in self.table.chunks)


TestSortedRows = SortedRowsMachine.TestCase
TestSortedRows.settings = settings(max_examples=100, stateful_step_count=50)


def test_a_key_that_is_gone_is_not_found_wherever_it_stood() -> None:
    for first in (0, 512, 1024):
        table = rows(3 * 512)
        for gone in range(first, first + 500):
            table.delete(table.find_exactly(gone) or (9, 9))
            place = table.find(gone)
            assert (table.key(place) if place else -1) == first - 1


def test_rows_that_come_in_order_fill_their_chunks() -> None:
    table = rows(10 * 512)
    assert [len(chunk) for chunk in table.chunks] == [512] * 10


def test_sparse_chunks_are_merged() -> None:
    table = rows(100 * 512)
    for key in range(100 * 512):
        if key % 512:
            place = table.find_exactly(key)
            assert place is not None
            table.delete(place)
    assert [key for key, _ in table.rows()] == list(range(0, 100 * 512, 512))
    assert len(table.chunks) < 5


def test_rows_can_be_read_while_others_go() -> None:
    table = rows(5 * 512)
    seen = []
    for key, _ in table.rows():
        seen.append(key)
        place = table.find_exactly(key - 1)
        if place is not None:
            table.delete(place)
    assert seen == list(range(5 * 512))


def test_a_snapshot_copies_no_chunk_that_does_not_change() -> None:
    table = rows(4 * 512)
    before = table.chunks
    snapshot = table.encode()
    table.write((1, 7), LAYOUT.pack(1, 1))
    assert [old is new for old, new in zip(before, table.chunks, strict=True)] == [True, False, True, True]
    assert b"".join(snapshot) == encoded(rows(4 * 512))


@given(st.integers(0, 700), st.data())
@settings(max_examples=200)
def test_damage_is_refused_or_gives_other_rows(count: int, data: st.DataObject) -> None:
    whole = bytearray(encoded(rows(count, step=3)))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    for damaged in (whole, cut):
        try:
            decoded, end = SortedRows.decode(damaged, 0, LAYOUT)
        except ValueError:
            continue
        assert end <= len(damaged)
        keys = [key for key, _ in decoded.rows()]
        assert keys == sorted(set(keys))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\1\0\0",
        b"\xff\xff\xff\xff",
        b"\1\0\0\0\xff\xff\xff\xff",
        b"\1\0\0\0\0\0\0\0",
        b"\1\0\0\0\xff\xff\0\0",
        struct.pack("<IIqqB", 1, 1, 5, 0, 0)[:-1],
        struct.pack("<IIqq", 1, 2, 5, 5) + bytes(18),
        struct.pack("<IIqqBIqqB", 2, 1, 5, 0, 0, 1, 4, 0, 0),
    ],
)
def test_nonsense_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        SortedRows.decode(data, 0, LAYOUT)


def test_a_position_outside_is_refused() -> None:
    with pytest.raises(ValueError, match="1 values"):
        from_little_endian("q", bytes(16), 12, 1)
    with pytest.raises(ValueError):
        from_little_endian("q", bytes(16), -8, 1)
    with pytest.raises(ValueError):
        from_little_endian("q", bytes(16), 0, -1)
