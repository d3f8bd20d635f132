"""The wheel against a sorted list, under clocks that go where they like, and what bounds its work and memory."""

import struct
import tracemalloc
from bisect import bisect_right
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.stage import wheel as wheel_module
from engine.stage.pending import PendingRow, PendingTable
from engine.stage.wheel import LEVELS, MOVES, Wheel, due_by_either

NOW_MS = 1_700_000_000_000
YEAR_MS = 365 * 86_400_000
# Near and far, on the edges of slots and beside them.
SPANS = st.sampled_from([0, 1, 9, 10, 11, 999, 1_000, 2_000, 10_000, 59_999, 60_000, 3_600_000, 86_400_000, YEAR_MS])
DISTANCES = st.builds(lambda span, factor, more: span * factor + more, SPANS, st.integers(-3, 3), st.integers(-2, 2))


def encoded(wheel: Wheel) -> bytes:
    return b"".join(wheel.encode())


def wheel_of(*dues: int) -> Wheel:
    wheel = Wheel(NOW_MS)
    for number, due_ms in enumerate(dues):
        wheel.add(due_ms, number)
    return wheel


def drained(wheel: Wheel, now_ms: int) -> list[tuple[int, int]]:
    """Everything that comes out at this time, asked for as often as the wheel wants it."""
    entries = []
    while (at_ms := wheel.next_ms()) is not None and at_ms <= now_ms:
        entries += wheel.due(now_ms, 50)
    return entries


class WheelMachine(RuleBasedStateMachine):
    """The wheel, and the entries that are in it."""

    @initialize(now_ms=st.sampled_from([0, 5, NOW_MS, NOW_MS + 86_399_995]))
    def start(self, now_ms: int) -> None:
        self.wheel = Wheel(now_ms)
        self.now_ms = now_ms
        self.model: list[tuple[int, int]] = []
        self.number = 0

    def add_at(self, due_ms: int) -> None:
        self.wheel.add(due_ms, self.number)
        self.model.append((due_ms, self.number))
        self.number += 1

    @rule(distances=st.lists(DISTANCES, max_size=10))
    def add(self, distances: list[int]) -> None:
        for distance in distances:
            self.add_at(self.now_ms + distance)

    @rule(distance=DISTANCES, count=st.sampled_from([20, 700]))
    def add_a_pile(self, distance: int, count: int) -> None:
        for _ in range(count):
            self.add_at(self.now_ms + distance)

    @rule(step=DISTANCES)
    def move_the_clock(self, step: int) -> None:
        self.now_ms = max(self.now_ms + step, 0)

    @rule(limit=st.sampled_from([0, 1, 7, 200]))
    def due(self, limit: int) -> None:
        given = self.wheel.due(self.now_ms, limit)
        assert len(given) <= limit
        assert given == sorted(given)
        assert all(due_ms <= self.now_ms for due_ms, _ in given)
        # What comes out is the earliest there is, once each.
        self.model.sort()
        assert given == self.model[: len(given)]
        self.model = self.model[len(given) :]

    @rule()
    def drain(self) -> None:
        self.model.sort()
        passed = bisect_right(self.model, (self.now_ms, self.number))
        assert drained(self.wheel, self.now_ms) == self.model[:passed]
        self.model = self.model[passed:]
        # Nothing is left to do at this time: the next call can wait.
        assert (self.wheel.next_ms() or self.now_ms + 1) > self.now_ms

    @rule()
    def restart(self) -> None:
        data = encoded(self.wheel)
        self.wheel, end = Wheel.decode(b"12" + data, 2)
        assert end == len(data) + 2
        assert encoded(self.wheel) == data

    @rule(distances=st.lists(DISTANCES, max_size=4))
    def count(self, distances: list[int]) -> None:
        edges = sorted(self.now_ms + distance for distance in distances)
        counts = [0] * (len(edges) + 1)
        for due_ms, _ in self.model:
            counts[bisect_right(edges, due_ms)] += 1
        counted = self.wheel.histogram(edges)
        # Beyond that number a slot may be counted by a sample.
        assert counted == counts if len(self.model) <= 1_000 else sum(counted) == len(self.model)

    @invariant()
    def holds_the_entries(self) -> None:
        if hasattr(self, "wheel"):
            assert len(self.wheel) == len(self.model)
            assert sorted(self.wheel.entries()) == sorted(self.model)
            assert (self.wheel.next_ms() is None) == (not self.model)
            if self.model:
                assert (self.wheel.next_ms() or 0) <= min(self.model)[0]

    def teardown(self) -> None:
        if hasattr(self, "wheel"):
            assert drained(self.wheel, self.now_ms + 100 * YEAR_MS) == sorted(self.model)
            assert len(self.wheel) == 0


TestWheel = WheelMachine.TestCase
TestWheel.settings = settings(max_examples=80, stateful_step_count=30)


@given(st.lists(st.integers(0, 2**53), max_size=60), st.data())
def test_called_when_it_asks_nothing_is_late(distances: list[int], data: st.DataObject) -> None:
    wheel = wheel_of(*(NOW_MS + distance for distance in distances))
    entries, calls = [], 0
    while (at_ms := wheel.next_ms()) is not None:
        for due_ms, number in wheel.due(at_ms, 100):
            assert due_ms == at_ms
            entries.append((due_ms, number))
        calls += 1
    assert sorted(entries) == sorted((NOW_MS + distance, number) for number, distance in enumerate(distances))
    # A call for each level that an entry passes, and one when it is due.
    assert calls <= len(distances) * (len(LEVELS) + 1)


def test_nothing_is_early_when_the_clock_goes_back() -> None:
    wheel = wheel_of(NOW_MS + 500)
    assert wheel.due(NOW_MS + 499, 10) == []
    assert wheel.due(NOW_MS - YEAR_MS, 10) == []
    assert wheel.due(NOW_MS + 500, 10) == [(NOW_MS + 500, 0)]


def test_what_is_added_after_the_clock_went_back_comes_in_time() -> None:
    wheel = wheel_of(NOW_MS + YEAR_MS)
    wheel.due(NOW_MS + YEAR_MS - 1, 10)
    wheel.add(NOW_MS + 30, 1)
    assert wheel.due(NOW_MS + 29, 10) == []
    assert wheel.due(NOW_MS + 30, 10) == [(NOW_MS + 30, 1)]


def test_a_pile_of_one_instant_is_moved_ahead_and_comes_out_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    # At the very beginning of an hour, hence of slots of all levels: what is not moved ahead is late.
    count, due_ms = 100_000, (NOW_MS // 3_600_000 + 2) * 3_600_000
    wheel = wheel_of(*[due_ms] * count)
    moved: list[int] = []
    move = Wheel._move
    monkeypatch.setattr(
        Wheel, "_move", lambda self, level, taken: (moved.append(len(taken) // 2), move(self, level, taken))
    )
    calls = 0
    while (at_ms := wheel.next_ms()) is not None and at_ms < due_ms:
        done = len(moved)
        assert wheel.due(at_ms, 200) == []
        assert sum(moved[done:]) <= MOVES
        calls += 1
    # From an hour to the buffer it is few moves per entry, all done before the instant comes.
    assert sum(moved) <= count * len(LEVELS)
    assert calls <= count * len(LEVELS) // MOVES + len(LEVELS)
    moved.clear()
    for start in range(0, count, 200):
        assert wheel.due(due_ms, 200) == [(due_ms, number) for number in range(start, start + 200)]
    assert not moved
    assert len(wheel) == 0


def test_a_jump_of_the_clock_over_a_pile_is_worked_off_in_bounded_calls() -> None:
    count = 20_000
    wheel = wheel_of(*(NOW_MS + YEAR_MS + number * 4_000 for number in range(count)))
    entries, calls = [], 0
    while len(wheel):
        given = wheel.due(NOW_MS + 2 * YEAR_MS, 200)
        assert len(given) <= 200
        entries += given
        calls += 1
    assert entries == [(NOW_MS + YEAR_MS + number * 4_000, number) for number in range(count)]
    assert calls <= count // 200 + count // MOVES * 2 + 10


def test_slots_with_little_in_them_count_as_work(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = wheel_of(*(NOW_MS + 2_000 + number * 10 for number in range(MOVES)))
    turns: list[int] = []
    advance = Wheel._advance
    monkeypatch.setattr(Wheel, "_advance", lambda self, now_ms: (turns.append(now_ms), advance(self, now_ms))[1])
    wheel.due(NOW_MS + 60_000, 10)
    assert len(turns) < MOVES / 5


def test_the_buffer_holds_only_what_is_near() -> None:
    day_ms = (NOW_MS // 86_400_000 + 2) * 86_400_000
    wheel = wheel_of(*(day_ms + number * 8_640 for number in range(10_000)))
    while (at_ms := wheel.next_ms() or 0) < day_ms + 60_000:
        wheel.due(at_ms, 200)
        near, _ = wheel.histogram([at_ms + 2 * LEVELS[0][1]])
        assert len(wheel._near) <= near
    assert len(wheel) > 9_900


def test_a_histogram_samples_a_large_slot() -> None:
    day_ms = (NOW_MS // 86_400_000 + 100) * 86_400_000
    wheel = wheel_of(*(day_ms + number * 80 for number in range(100_001)))
    before, after = wheel.histogram([day_ms + 4_000_040])
    assert before + after == 100_001
    assert abs(before - 50_001) < 500
    assert wheel.histogram([]) == [100_001]


@given(distances=st.lists(DISTANCES, max_size=30), later_ms=SPANS)
@settings(max_examples=50, deadline=None)
def test_the_soonest_entries_begin_with_the_earliest(distances: list[int], later_ms: int) -> None:
    wheel = wheel_of(*(NOW_MS + distance for distance in distances))
    wheel.due(NOW_MS + later_ms, 5)
    entries, soonest = sorted(wheel.entries()), wheel.soonest()
    assert soonest[:1] == entries[:1]
    assert soonest == sorted(soonest)
    assert set(soonest) <= set(entries)


def test_of_a_large_slot_the_earliest_alone_is_told() -> None:
    wheel = wheel_of(*(NOW_MS + 30 * 86_400_000 + (7 * index) % 5_000 for index in range(5_000)))
    assert wheel.soonest() == [min(wheel.entries())]


def test_a_million_rows_and_entries_take_well_under_120_mb() -> None:
    table, wheel = PendingTable(), Wheel(NOW_MS)
    count = 50_000
    tracemalloc.start()
    try:
        for number in range(count):
            due_ms = NOW_MS + number * 7_919 % 86_400_000
            table.add(PendingRow(number, 1, 0, 1, 2, due_ms, True, number // 5_000, number, 200, NOW_MS))
            wheel.add(due_ms, number)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Measured on a twentieth of them, as tracing is slow; it grows linearly.
    assert held * 20 < 100_000_000


@given(st.lists(DISTANCES, max_size=4), st.data())
@settings(max_examples=300)
def test_damage_is_refused_or_gives_a_wheel(distances: list[int], data: st.DataObject) -> None:
    damaged = bytearray(encoded(wheel_of(*(NOW_MS + distance for distance in distances))))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    for each in (damaged, damaged[: data.draw(st.integers(0, len(damaged)))]):
        try:
            wheel, end = Wheel.decode(each, 0)
        except ValueError:
            continue
        assert end <= len(each)
        expected = sorted(wheel.entries())
        assert drained(wheel, 2**63) == expected


def _level(horizon_ms: int, *slots: tuple[int, list[int]]) -> bytes:
    head = struct.Struct("<qI")
    packed = [head.pack(index, len(slot) // 2) + struct.pack(f"<{len(slot)}q", *slot) for index, slot in slots]
    return head.pack(horizon_ms, len(slots)) + b"".join(packed)


@pytest.mark.parametrize(
    "first",
    [
        _level(5),
        _level(0, (1, [])),
        _level(0, (1, [9, 0])),
        _level(0, (1, [20, 0])),
        _level(0, (1, [15, 0]), (1, [15, 0])),
        _level(20, (1, [15, 0])),
        _level(86_400_000),
        _level(0)[:8] + b"\xff" * 4,
        _level(0, (1, []))[:-4] + b"\xff" * 4,
    ],
)
def test_nonsense_is_refused(first: bytes) -> None:
    rest = _level(0) * 4 + bytes(8)
    Wheel.decode(_level(0, (1, [15, 0])) + rest, 0)
    with pytest.raises(ValueError):
        Wheel.decode(first + rest, 0)


def test_leads_rise_and_widths_divide() -> None:
    """What keeps horizons in order and on the edges of slots."""
    for (width, lead), (wider, longer) in pairwise(LEVELS):
        assert wider % width == 0
        assert longer > lead
    assert wheel_module.TICK_MS == LEVELS[0][0] == 10


@given(
    steady=st.lists(st.integers(0, 5_000), max_size=60),
    wall=st.lists(st.integers(0, 5_000), max_size=60),
    ahead_ms=st.sampled_from([-100_000, 0, 7, 100_000]),
    limit=st.integers(5, 60),
    jump_ms=st.sampled_from([10_000, 200_000]),
)
def test_two_wheels_of_two_clocks_give_one_order(
    steady: list[int], wall: list[int], ahead_ms: int, limit: int, jump_ms: int
) -> None:
    one, other = Wheel(0), Wheel(ahead_ms)
    if jump_ms > 10_000:
        # More than one call moves, and behind what the other wheel has.
        steady += [100_000 + number for number in range(2 * MOVES)]
    expected = [(due_ms, number) for number, due_ms in enumerate(steady)]
    expected += [(due_ms, 1_000 + number) for number, due_ms in enumerate(wall)]
    for due_ms, number in expected:
        if number < 1_000:
            one.add(due_ms, number)
        else:
            other.add(due_ms + ahead_ms, number)
    found: list[tuple[int, int]] = []
    while len(one) + len(other):
        some = due_by_either(one, other, jump_ms, jump_ms + ahead_ms, limit)
        assert len(some) <= limit
        found += some
    assert found == sorted(expected)
