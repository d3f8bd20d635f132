"""Turns: shares of a round, and who waited too long."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.stage.turns import LANES, LaneRules, Turns

FULL = [1_000] * LANES


def served(turns: Turns, ready: list[int], count: int) -> list[int]:
    lanes = []
    for _ in range(count):
        lanes.append(turns.next_lane(ready))
        turns.serve(lanes[-1], 1, ready)
    return lanes


def test_shares_of_a_round_are_the_weights() -> None:
    turns = Turns(LaneRules())
    for _ in range(3):
        assert served(turns, FULL, 100) == [0] * 50 + [1] * 25 + [2] * 15 + [3] * 7 + [4] * 3


def test_a_lane_that_has_had_its_share_waits_for_the_round_to_end() -> None:
    turns = Turns(LaneRules((2, 1, 1, 1, 1)))
    assert served(turns, [0, 9, 9, 0, 0], 1) == [1]
    assert served(turns, FULL, 4) == [0, 0, 2, 3]
    assert served(turns, [9, 0, 0, 0, 0], 1) == [0], "nobody else has anything: a new round"
    assert turns.deficits == [1, 1, 1, 1, 1]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 300)), max_size=8), st.integers(0, 100))
def test_records_served_together_count_as_served_one_by_one(runs: list[tuple[int, int]], now_ms: int) -> None:
    together, alone = Turns(LaneRules(starvation_ms=50)), Turns(LaneRules(starvation_ms=50))
    together.read(0)
    alone.read(0)
    for step, (lane, count) in enumerate(runs):
        together.read(now_ms * step)
        alone.read(now_ms * step)
        out_of_turn = [alone.serve(lane, 1, FULL) for _ in range(count)]
        assert not any(out_of_turn[1:])
        assert together.serve(lane, count, FULL) == out_of_turn[0]
        assert together == alone


def test_who_waited_too_long_gets_one_record() -> None:
    turns = Turns(LaneRules((50, 25, 15, 7, 3), starvation_ms=100))
    starved = []
    for now_ms in range(0, 410, 10):
        turns.read(now_ms)
        for lane in turns.starved(FULL):
            assert turns.serve(lane, 1, FULL)
            starved.append((now_ms, lane))
        lane = turns.next_lane(FULL)
        turns.serve(lane, 1, FULL)
    # Critical has its share of 50 all the time; each of the others is served once per 100 ms, though all starve.
    assert starved == [(now_ms, lane) for now_ms in (100, 200, 300, 400) for lane in (1, 2, 3, 4)]


def test_the_longest_waiting_comes_first() -> None:
    turns = Turns(LaneRules(starvation_ms=100))
    turns.read(0)
    turns.begin_waiting(4, 10)
    turns.begin_waiting(1, 20)
    turns.read(50)
    turns.read(100)
    turns.read(120)
    assert turns.starved([0, 1, 0, 0, 1]) == [4, 1]
    assert turns.starved([0, 1, 0, 0, 0]) == [1]


def test_time_in_which_nobody_reads_starves_nobody() -> None:
    turns = Turns(LaneRules(starvation_ms=100))
    turns.begin_waiting(4, 0)
    turns.read(10_000)
    assert turns.starved(FULL) == [], "nobody had read before"
    turns.read(1_000_000)
    assert turns.starved(FULL) == [], "a night without readers"
    turns.read(1_000_050)
    assert 4 in turns.starved(FULL)


def test_a_clock_that_goes_back_starves_nobody() -> None:
    turns = Turns(LaneRules(starvation_ms=100))
    turns.read(1_000)
    turns.read(10)
    turns.read(60)
    assert turns.reading_ms == 50
    assert turns.starved(FULL) == []


def test_strict_is_always_the_highest() -> None:
    turns = Turns(LaneRules(strict=True, starvation_ms=1))
    for now_ms in range(0, 1_000, 100):
        turns.read(now_ms)
        assert turns.starved(FULL) == []
        assert Counter(served(turns, FULL, 500)) == {0: 500}
    assert turns.next_lane([0, 0, 0, 1, 1]) == 3
    assert turns.share(3) > 10**9


@pytest.mark.parametrize(
    ("weights", "starvation_ms"), [((1, 1, 1, 1), 1), ((1, 1, 1, 1, 0), 1), ((1,) * 6, 1), ((1,) * 5, 0)]
)
def test_rules_that_cannot_be_are_refused(weights: tuple[int, ...], starvation_ms: int) -> None:
    with pytest.raises(ValueError):
        LaneRules(weights, False, starvation_ms)
