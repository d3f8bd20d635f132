"""Lanes: the order in which readers are given what is ready, against a model that goes record by record."""

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.stage.lanes import LANES, LaneRules, Lanes, Piece

NO_LIMIT = 2**40
CRITICAL, NORMAL, BACKGROUND = 0, 2, 4


def encoded(lanes: Lanes) -> bytes:
    return b"".join(lanes.encode())


def flat(pieces: Iterable[Piece]) -> list[tuple[int, int]]:
    return [(piece.lane, piece.number + index) for piece in pieces for index in range(piece.count)]


def full(count: int, rules: LaneRules | None = None) -> Lanes:
    """So many records in each lane."""
    lanes = Lanes(rules or LaneRules())
    for number in range(count * LANES):
        lanes.push(number % LANES, number, 1, 100, 0)
    return lanes


class Model:
    """Lanes as a list of single records, with the rules in their plainest form."""

    def __init__(self, rules: LaneRules) -> None:
        self.rules = rules
        self.records: list[tuple[int, int, int]] = []
        self.deficits = [0] * LANES
        self.since = [0] * LANES
        self.reading = 0
        self.last_read: int | None = None

    def copy(self, count: int | None = None) -> "Model":
        model = Model(self.rules)
        model.records = self.records[:count]
        model.deficits, model.since = self.deficits.copy(), self.since.copy()
        model.reading, model.last_read = self.reading, self.last_read
        return model

    def has(self, lane: int) -> bool:
        return any(record[0] == lane for record in self.records)

    def clock(self, now_ms: int) -> int:
        if self.last_read is None:
            return 0
        return self.reading + min(max(now_ms - self.last_read, 0), (self.rules.starvation_ms + 1) // 2)

    def push(self, lane: int, numbers: Iterable[int], size: int, now_ms: int) -> None:
        if not self.has(lane):
            self.since[lane] = self.clock(now_ms)
        self.records += [(lane, number, size) for number in numbers]

    def read(self, now_ms: int) -> None:
        self.reading, self.last_read = self.clock(now_ms), now_ms

    def is_starved(self, lane: int) -> bool:
        return not self.rules.strict and self.reading - self.since[lane] >= self.rules.starvation_ms

    def turn(self) -> int:
        lanes = [lane for lane in range(LANES) if self.has(lane)]
        return next((lane for lane in lanes if self.deficits[lane] and not self.rules.strict), lanes[0])

    def serve(self, lane: int, number: int) -> None:
        starved = self.is_starved(lane) and self.turn() != lane
        self.since[lane] = self.reading
        if not self.rules.strict:
            if not self.deficits[lane] and not starved:
                self.deficits = list(self.rules.weights)
            self.deficits[lane] = max(self.deficits[lane] - 1, 0)
        assert next(record for record in self.records if record[0] == lane)[1] == number
        self.records = [record for record in self.records if record[:2] != (lane, number)]

    def order(self, limit_records: int, limit_bytes: int, now_ms: int) -> list[tuple[int, int]]:
        """What would be given; the model is used up."""
        self.read(now_ms)
        starved = sorted(
            (lane for lane in range(LANES) if self.has(lane) and self.is_starved(lane)), key=self.since.__getitem__
        )
        given: list[tuple[int, int]] = []
        while self.records and len(given) < limit_records:
            lane = starved.pop(0) if starved else self.turn()
            _, number, size = next(record for record in self.records if record[0] == lane)
            limit_bytes -= size
            if limit_bytes < 0 and given:
                break
            given.append((lane, number))
            self.serve(lane, number)
        return given


class LanesMachine(RuleBasedStateMachine):
    """Lanes; the same lanes as a restart would replay them; and the model."""

    @initialize(
        weights=st.sampled_from([(50, 25, 15, 7, 3), (3, 2, 2, 1, 1), (1, 1, 1, 1, 1)]),
        strict=st.booleans(),
        starvation_ms=st.sampled_from([1, 100, 30_000]),
    )
    def start(self, weights: tuple[int, ...], strict: bool, starvation_ms: int) -> None:
        rules = LaneRules(weights, strict, starvation_ms)
        self.lanes, self.replica, self.model = Lanes(rules), Lanes(rules), Model(rules)
        self.number = 0
        self.now_ms = 1_000
        self.pushed = self.taken = 0

    @rule(step=st.sampled_from([-50, 1, 49, 50, 100, 15_000, 10**7]))
    def move_the_clock(self, step: int) -> None:
        self.now_ms = max(self.now_ms + step, 0)

    @rule(lane=st.integers(0, 4), count=st.sampled_from([1, 1, 2, 9]), size=st.sampled_from([1, 10, 77]))
    def push(self, lane: int, count: int, size: int) -> None:
        for lanes in (self.lanes, self.replica):
            lanes.push(lane, self.number, count, size * count, self.now_ms)
        self.model.push(lane, range(self.number, self.number + count), size, self.now_ms)
        self.number += count
        self.pushed += count

    def take(self, pieces: list[Piece]) -> None:
        self.lanes.take(pieces, self.now_ms)
        self.replica.take(pieces, self.now_ms)
        assert encoded(self.lanes) == encoded(self.replica)
        self.model.read(self.now_ms)
        for lane, number in flat(pieces):
            self.model.serve(lane, number)
            self.taken += 1

    @rule(limit=st.sampled_from([1, 3, 20, 500]), limit_bytes=st.sampled_from([0, 1, 100, NO_LIMIT]))
    def read(self, limit: int, limit_bytes: int) -> None:
        before = encoded(self.lanes)
        pieces = self.lanes.choose(limit, limit_bytes, self.now_ms)
        assert encoded(self.lanes) == before
        assert flat(pieces) == self.model.copy().order(limit, limit_bytes, self.now_ms)
        self.take(pieces)

    @rule(count=st.integers(0, 30), limit=st.sampled_from([1, 5, None]))
    def read_first(self, count: int, limit: int | None) -> None:
        before = encoded(self.lanes)
        chosen = flat(self.lanes.choose_first(count, self.now_ms))
        assert chosen == self.model.copy(count).order(count, NO_LIMIT, self.now_ms)
        assert sorted(chosen) == sorted(record[:2] for record in self.model.records[:count])
        pieces = self.lanes.choose_first(count, self.now_ms, limit)
        assert flat(pieces) == chosen[:limit]
        assert encoded(self.lanes) == before
        self.take(pieces)

    @rule(data=st.data(), named=st.booleans())
    def drop(self, data: st.DataObject, named: bool) -> None:
        if self.model.records:
            record = data.draw(st.sampled_from(self.model.records))
            assert self.lanes.drop(record[1], lane=record[0] if named else None)
            assert self.replica.drop(record[1])
            self.model.records.remove(record)
        assert not self.lanes.drop(self.number + 5)

    @rule()
    def restart(self) -> None:
        data = encoded(self.lanes)
        self.replica, end = Lanes.decode(b"!" + data, 1, self.lanes.rules)
        assert end == len(data) + 1
        assert encoded(self.replica) == data

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if hasattr(self, "lanes"):
            assert len(self.lanes) == len(self.model.records)
            statistics = self.lanes.statistics(self.now_ms)
            assert [each.ready for each in statistics] == [
                sum(record[0] == lane for record in self.model.records) for lane in range(LANES)
            ]
            assert sum(each.enqueued for each in statistics) == self.pushed
            assert sum(each.dequeued for each in statistics) == self.taken


TestLanes = LanesMachine.TestCase
TestLanes.settings = settings(max_examples=60, stateful_step_count=40)


def test_a_critical_record_comes_before_a_hundred_thousand_normal_ones() -> None:
    lanes = Lanes(LaneRules())
    for number in range(100_000):
        lanes.push(NORMAL, number, 1, 100, number)
    lanes.take(lanes.choose(500, NO_LIMIT, 100_000), 100_000)
    # Hours later: nobody read in between, so nobody starved.
    later_ms = 10_000_000
    lanes.push(CRITICAL, 100_000, 1, 100, later_ms)
    assert lanes.choose(2, NO_LIMIT, later_ms + 1) == [Piece(CRITICAL, 100_000, 1), Piece(NORMAL, 500, 1)]


def test_shares_under_saturation_are_exact_in_each_round() -> None:
    lanes = full(600)
    for _ in range(10):
        pieces = lanes.choose(100, NO_LIMIT, 1)
        assert Counter(lane for lane, _ in flat(pieces)) == {0: 50, 1: 25, 2: 15, 3: 7, 4: 3}
        lanes.take(pieces, 1)


def test_shares_hold_whatever_the_reader_takes_at_a_time() -> None:
    lanes = full(600)
    given = []
    for _ in range(1_000 // 8):
        pieces = lanes.choose(8, NO_LIMIT, 1)
        given += flat(pieces)
        lanes.take(pieces, 1)
    assert Counter(lane for lane, _ in given) == {0: 500, 1: 250, 2: 150, 3: 70, 4: 30}


def test_a_lane_is_served_once_per_starvation_time() -> None:
    lanes = full(200, LaneRules((10_000, 1, 1, 1, 1), starvation_ms=1_000))
    served = []
    for now_ms in range(0, 5_001, 50):
        pieces = lanes.choose(5, NO_LIMIT, now_ms)
        lanes.take(pieces, now_ms)
        served += [now_ms for lane, _ in flat(pieces) if lane == BACKGROUND]
    assert served[:2] == [1_000, 2_000]
    assert lanes.statistics(5_000)[BACKGROUND].starved_turns == len([at for at in served if at <= 2_000])


def test_strict_gives_the_highest_lane_until_it_is_empty() -> None:
    lanes = full(150, LaneRules(strict=True, starvation_ms=1))
    given = []
    for now_ms in range(0, 1_000, 100):
        pieces = lanes.choose(70, NO_LIMIT, now_ms)
        given += [lane for lane, _ in flat(pieces)]
        lanes.take(pieces, now_ms)
    assert given == sorted(given)
    assert len(given) == 700
    assert sum(each.starved_turns for each in lanes.statistics(0)) == 0


def test_a_run_is_given_in_parts_and_counts_each_record() -> None:
    lanes = Lanes(LaneRules((3, 2, 1, 1, 1)))
    lanes.push(0, 100, 10, 1_000, 0)
    lanes.push(1, 200, 10, 1_000, 0)
    assert lanes.choose(7, NO_LIMIT, 0) == [Piece(0, 100, 3), Piece(1, 200, 2), Piece(0, 103, 2)]
    assert lanes.choose(7, 450, 0) == [Piece(0, 100, 3), Piece(1, 200, 1)]


def test_a_piece_is_of_one_push() -> None:
    lanes = Lanes(LaneRules())
    lanes.push(0, 100, 60, 60, 0)
    lanes.push(0, 160, 10, 10, 0)
    lanes.push(0, 170, 1, 1, 0)
    # Over the end of a round the run goes on in one piece; what was pushed after it is another.
    assert lanes.choose(100, NO_LIMIT, 0) == [Piece(0, 100, 60), Piece(0, 160, 10), Piece(0, 170, 1)]


def test_new_rules_count_from_the_next_choice() -> None:
    lanes = full(10)
    lanes.rules = LaneRules((1, 1, 1, 1, 1))
    assert [piece.lane for piece in lanes.choose(10, NO_LIMIT, 0)] == [0, 1, 2, 3, 4] * 2


def test_only_the_front_of_a_lane_can_be_taken() -> None:
    with pytest.raises(ValueError, match="not the first"):
        full(3).take([Piece(0, 5, 1)], 0)


@pytest.mark.parametrize("values", [(5, 0, 1, 1), (-1, 0, 1, 1), (0, -1, 1, 1), (0, 0, 0, 1), (0, 0, 1, -1)])
def test_what_cannot_be_ready_is_refused(values: tuple[int, int, int, int]) -> None:
    lanes = Lanes(LaneRules())
    with pytest.raises(ValueError, match="lane"):
        lanes.push(*values, 0)
    assert encoded(lanes) == encoded(Lanes(LaneRules()))


def test_a_lane_tells_how_it_is() -> None:
    lanes = Lanes(LaneRules())
    lanes.push(1, 7, 3, 30, 1_000)
    lanes.take([Piece(1, 7, 1)], 1_500)
    assert lanes.statistics(1_700)[1] == (2, 700, 1_500, 3, 1, 0)
    assert lanes.statistics(1_700)[0] == (0, -1, -1, 0, 0, 0)


@given(st.integers(0, 2), st.data())
@settings(max_examples=200)
def test_damage_is_refused_or_gives_lanes(count: int, data: st.DataObject) -> None:
    damaged = bytearray(encoded(full(count)))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    for each in (damaged, damaged[: data.draw(st.integers(0, len(damaged)))]):
        try:
            lanes, end = Lanes.decode(each, 0, LaneRules())
        except ValueError:
            continue
        assert end <= len(each)
        pieces = lanes.choose(20, NO_LIMIT, 0)
        lanes.take(pieces, 0)
        assert lanes.choose_first(5, 0) is not None


def test_a_ready_record_costs_32_bytes() -> None:
    assert len(encoded(full(10_000))) < 50_000 * 32.1
