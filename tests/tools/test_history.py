"""The judge finds every anomaly that is planted, and nothing where none is."""

import random

import pytest

from tools.soak.history import Verdict, judge

SENT = {0: list(range(10)), 1: list(range(10))}


def test_all_is_well() -> None:
    assert judge(SENT, {0: list(range(10)), 1: list(range(10))}).clean


def test_lost() -> None:
    read = {0: [0, 1, 2, 4, 5, 6, 7, 8, 9], 1: list(range(10))}
    assert judge(SENT, read) == Verdict(lost=((0, 3),))


def test_a_lane_that_is_not_there_is_lost() -> None:
    assert judge(SENT, {0: list(range(10))}).lost == tuple((1, mark) for mark in range(10))


def test_what_was_not_acknowledged_may_be_missing() -> None:
    acknowledged = {(lane, mark) for lane in SENT for mark in range(9)}
    read = {0: list(range(9)), 1: list(range(10))}
    assert judge(SENT, read, acknowledged=acknowledged).clean


def test_what_was_acknowledged_may_not() -> None:
    read = {0: list(range(9)), 1: list(range(10))}
    assert judge(SENT, read, acknowledged={(0, 9)}) == Verdict(lost=((0, 9),))


def test_duplicated() -> None:
    read = {0: [0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9], 1: list(range(10))}
    assert judge(SENT, read) == Verdict(duplicated=((0, 1),))


def test_a_batch_that_comes_again_later_is_duplicated_and_not_reordered() -> None:
    read = {0: [0, 1, 2, 3, 0, 1, 4, 5, 6, 7, 8, 9], 1: list(range(10))}
    assert judge(SENT, read) == Verdict(duplicated=((0, 0), (0, 1)))


def test_reordered() -> None:
    read = {0: [0, 1, 3, 2, 4, 5, 6, 7, 8, 9], 1: list(range(10))}
    assert judge(SENT, read) == Verdict(reordered=((0, 2),))


def test_unexpected() -> None:
    assert judge(SENT, {**SENT, 0: [*range(10), 99]}) == Verdict(unexpected=((0, 99),))


def test_a_record_in_the_wrong_lane_is_lost_in_one_and_unexpected_in_the_other() -> None:
    verdict = judge({0: ["a"], 1: ["b"]}, {0: ["a", "b"]})
    assert verdict == Verdict(lost=((1, "b"),), unexpected=((0, "b"),))


@pytest.mark.parametrize("seed", range(20))
def test_any_single_swap_is_found(seed: int) -> None:
    choose = random.Random(seed)
    read = list(range(100))
    first, second = sorted(choose.sample(range(100), 2))
    read[first], read[second] = read[second], read[first]
    verdict = judge({0: list(range(100))}, {0: read})
    assert verdict == Verdict(reordered=verdict.reordered)
    assert verdict.reordered
