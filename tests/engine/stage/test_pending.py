"""The table of pending records against a list of rows, and what it costs."""

import struct
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.stage.pending import PendingRow, PendingTable
from engine.stage.sorted_rows import CHUNK_ROWS

MS = st.integers(-1, 2**63 - 1)
IDS = st.sampled_from((0, 0, 1, 2, 2**63 - 1))


def row(number: int, count: int = 1, **fields: int) -> PendingRow:
    base = PendingRow(number, count, 0, 1, 2, 1_000, False, 0, 64 * number % 2**32, 100, 500)
    return base._replace(**fields)  # type: ignore[arg-type]


def encoded(table: PendingTable) -> bytes:
    return b"".join(table.encode())


def table_of(count: int) -> PendingTable:
    table = PendingTable()
    for number in range(count):
        table.add(row(number, segment=number // 300, id_hash=number * 7 % 11))
    return table


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), min_size=1, max_size=CHUNK_ROWS * 2))
def test_stretches_of_rows_tell_the_latest_create_time(created: list[int]) -> None:
    table = PendingTable()
    for number, created_ms in enumerate(created):
        table.add(row(number, created_ms=created_ms))
    bounds = table.created_bounds()
    starts = [start for start, _ in bounds]
    ends = [*starts[1:], len(created)]
    assert [bound for _, bound in bounds] == [max(created[a:b]) for a, b in zip(starts, ends, strict=True)]


class PendingMachine(RuleBasedStateMachine):
    """The table and its model: the rows by number, and the latest number of each id."""

    @initialize()
    def start(self) -> None:
        self.table = PendingTable()
        self.rows: dict[int, PendingRow] = {}
        self.ids: dict[int, int] = {}

    def holder(self, number: int) -> PendingRow | None:
        return next((each for each in self.rows.values() if each.number <= number < each.number + each.count), None)

    @rule(
        number=st.integers(0, 20),
        count=st.integers(1, 4),
        values=st.tuples(st.integers(0, 255), st.integers(0, 4), MS, st.booleans(), st.sampled_from((0, 700, 2**40))),
        place=st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), MS, MS, MS),
        id_hash=IDS,
        data=st.data(),
    )
    def add(
        self,
        number: int,
        count: int,
        values: tuple[int, int, int, bool, int],
        place: tuple[int, int, int, int, int],
        id_hash: int,
        data: st.DataObject,
    ) -> None:
        new = PendingRow(number, count, data.draw(st.integers(0, count)), *values, *place, id_hash)
        if any(self.holder(each) for each in range(number, number + count)):
            with pytest.raises(ValueError):
                self.table.add(new)
            return
        self.table.add(new)
        self.rows[number] = new
        if id_hash:
            self.ids[id_hash] = number

    @rule(number=st.integers(0, 45))
    def remove(self, number: int) -> None:
        gone = self.rows.pop(number, None)
        assert self.table.remove(number) == gone
        if gone and self.ids.get(gone.id_hash) == number:
            del self.ids[gone.id_hash]

    @rule(
        number=st.integers(0, 45),
        state=st.integers(0, 255),
        due_ms=MS,
        segment=st.integers(0, 2),
        size=st.integers(0, 9),
    )
    def update(self, number: int, state: int, due_ms: int, segment: int, size: int) -> None:
        fields = {"state": state, "due_ms": due_ms, "segment": segment, "size": size}
        if number not in self.rows:
            with pytest.raises(KeyError):
                self.table.update(number, **fields)
            return
        self.rows[number] = self.rows[number]._replace(**fields)  # type: ignore[arg-type]
        assert self.table.update(number, **fields) == self.rows[number]

    @rule(number=st.integers(0, 45), id_hash=IDS)
    def name(self, number: int, id_hash: int) -> None:
        before = self.rows.get(number)
        if before is None or before.id_hash == id_hash:
            return
        self.table.update(number, id_hash=id_hash)
        if self.ids.get(before.id_hash) == number:
            del self.ids[before.id_hash]
        if id_hash:
            self.ids[id_hash] = number
        self.rows[number] = before._replace(id_hash=id_hash)

    @rule(number=st.integers(0, 45), data=st.data())
    def skip(self, number: int, data: st.DataObject) -> None:
        if number in self.rows:
            skip = data.draw(st.integers(0, self.rows[number].count))
            self.table.update(number, skip=skip)
            self.rows[number] = self.rows[number]._replace(skip=skip)

    @rule()
    def restart(self) -> None:
        data = encoded(self.table)
        self.table, end = PendingTable.decode(b"abc" + data, 3)
        assert end == len(data) + 3
        assert encoded(self.table) == data

    @rule(number=st.integers(0, 45))
    def look(self, number: int) -> None:
        assert self.table.get(number) == self.holder(number)
        later = [each for each in sorted(self.rows.values()) if each.number + each.count > number]
        assert list(self.table.rows(number)) == later

    @invariant()
    def is_the_model(self) -> None:
        if not hasattr(self, "table"):
            return
        rows = sorted(self.rows.values())
        assert list(self.table.rows()) == rows
        assert self.table.row_count == len(rows)
        assert len(self.table) == sum(each.count - each.skip for each in rows)
        assert self.table.bytes == sum(each.size for each in rows)
        held: Counter[int] = Counter()
        for each in rows:
            held[each.segment] += each.size
        assert self.table.segments() == dict(held)
        assert {each: self.table.by_id(each) for each in (1, 2, 2**63 - 1)} == {
            each: self.ids.get(each) for each in (1, 2, 2**63 - 1)
        }


TestPending = PendingMachine.TestCase
TestPending.settings = settings(max_examples=150, stateful_step_count=50)


def test_a_number_inside_a_run_gives_the_run() -> None:
    table = PendingTable()
    table.add(row(10, count=5))
    assert table.get(12) == table.get(14) == row(10, count=5)
    assert table.get(9) is None
    assert table.get(15) is None


def test_a_run_is_removed_by_its_own_number_only() -> None:
    table = PendingTable()
    table.add(row(10, count=5))
    assert table.remove(12) is None
    assert len(table) == 5
    assert table.remove(10) == row(10, count=5)
    assert len(table) == 0


@pytest.mark.parametrize(("number", "count"), [(9, 2), (10, 1), (12, 1), (14, 5), (8, 20), (20, 1), (19, 9), (15, 6)])
def test_rows_do_not_overlap(number: int, count: int) -> None:
    table = PendingTable()
    table.add(row(10, count=5))
    table.add(row(20))
    before = encoded(table)
    with pytest.raises(ValueError, match="the row"):
        table.add(row(number, count=count))
    assert encoded(table) == before


def test_the_latest_run_is_not_overlapped() -> None:
    table = PendingTable()
    table.add(row(10, count=5))
    with pytest.raises(ValueError, match="begins inside"):
        table.add(row(14))
    table.add(row(15))


def test_an_id_is_the_latest_row_s_alone() -> None:
    table = PendingTable()
    table.add(row(1, id_hash=5))
    table.add(row(2, id_hash=5))
    table.remove(1)
    assert table.by_id(5) == 2
    table.add(row(3, id_hash=5))
    table.remove(3)
    assert table.by_id(5) is None


def test_the_flag_comes_back_as_one() -> None:
    table = PendingTable()
    table.add(row(1, relative=True))
    found = table.get(1)
    assert found is not None
    assert found.relative is True


@pytest.mark.parametrize(
    "fields",
    [
        {"number": -1},
        {"number": 2**63 - 1},
        {"count": 0},
        {"count": -1},
        {"count": 2**32},
        {"skip": 2},
        {"skip": -1},
        {"state": 256},
        {"lane": -1},
        {"due_ms": 2**63},
        {"segment": -1},
        {"segment": 2**63},
        {"position": 2**32},
        {"size": -1},
        {"id_hash": 2**63},
    ],
)
def test_a_value_that_cannot_be_changes_nothing(fields: dict[str, int]) -> None:
    table = table_of(3)
    before = encoded(table)
    with pytest.raises(ValueError):
        table.add(row(100)._replace(**fields))  # type: ignore[arg-type]
    assert (encoded(table), table.segments(), len(table), table.bytes) == (before, {0: 300}, 3, 300)
    if "number" not in fields:
        with pytest.raises(ValueError):
            table.update(1, **fields)
    assert (encoded(table), table.segments(), len(table), table.bytes) == (before, {0: 300}, 3, 300)


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValueError, match="colour"):
        table_of(3).update(1, colour=3)


def test_the_place_of_a_segment_is_used_again() -> None:
    table = PendingTable()
    for number in range(5_000):
        table.add(row(number, segment=number))
        table.remove(number - 2)
    assert table.segments() == {4_998: 100, 4_999: 100}
    assert len(encoded(table)) < 300


def test_a_snapshot_is_written_while_the_table_changes() -> None:
    table = table_of(3 * CHUNK_ROWS)
    expected = encoded(table_of(3 * CHUNK_ROWS))
    pieces = iter(table.encode())
    written = [next(pieces)]
    for number in range(0, 3 * CHUNK_ROWS, 2):
        table.remove(number)
        table.update(number + 1, segment=5_000, id_hash=3)
    table.add(row(10**6, segment=77))
    assert b"".join([*written, *pieces]) == expected


@given(st.integers(0, 3), st.data())
@settings(max_examples=200)
def test_damage_is_refused_or_gives_a_table(count: int, data: st.DataObject) -> None:
    damaged = bytearray(encoded(table_of(count)))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    for each in (damaged, damaged[: data.draw(st.integers(0, len(damaged)))]):
        try:
            table, end = PendingTable.decode(each, 0)
        except ValueError:
            continue
        assert end <= len(each)
        assert len(table) == sum(found.count - found.skip for found in table.rows())
        assert sum(table.segments().values()) == table.bytes


@pytest.mark.parametrize("rows", [(row(5, count=3), row(7)), (row(5, count=0),), (row(5, skip=2),)])
def test_rows_that_cannot_be_are_refused(rows: tuple[PendingRow, ...]) -> None:
    layout = struct.Struct("<IIIIIqqqqqBBBx")
    packed = b"".join(layout.pack(each.count, each.skip, 0, 0, 9, *(0,) * 8) for each in rows)
    numbers = struct.pack(f"<{len(rows)}q", *(each.number for each in rows))
    data = struct.pack("<IqII", 1, 0, 1, len(rows)) + numbers + packed + bytes(4)
    with pytest.raises(ValueError, match="row"):
        PendingTable.decode(data, 0)


def test_a_segment_that_is_not_named_is_refused() -> None:
    data = bytearray(encoded(table_of(1)))
    data[4 + 8 + 8 + 8 + 8] = 1
    with pytest.raises(ValueError, match="not named"):
        PendingTable.decode(data, 0)


def test_a_row_costs_72_bytes_and_16_for_its_id() -> None:
    plain, named = PendingTable(), PendingTable()
    for number in range(10 * CHUNK_ROWS):
        plain.add(row(number))
        named.add(row(number, id_hash=number + 1))
    assert len(encoded(plain)) < 10 * CHUNK_ROWS * 72.1
    assert len(encoded(named)) < 10 * CHUNK_ROWS * 88.1


def test_a_segment_that_is_named_twice_is_refused() -> None:
    table = PendingTable()
    table.add(row(1, segment=8))
    table.add(row(2, segment=9))
    with pytest.raises(ValueError, match="twice"):
        PendingTable.decode(encoded(table).replace(struct.pack("<qq", 8, 9), struct.pack("<qq", 8, 8)), 0)


def test_a_single_record_can_be_taken_out_at_once_and_a_run_cannot() -> None:
    table = PendingTable()
    single, run = row(5), row(10)._replace(count=3)
    table.add(single)
    table.add(run)
    assert table.remove_single(5) == single
    assert table.remove_single(5) is None
    assert table.remove_single(10) is None
    assert len(table) == 3
