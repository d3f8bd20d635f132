"""The rows of the benchmark: named once, with goals for figures that exist."""

from collections import Counter

import pytest

from tools.bench.brokers import SUBJECTS, TIDEGATE, TIDEGATE_OS
from tools.bench.figures import KINDS, kind_of
from tools.bench.rows import BY_NAME, ROWS, Row


def test_names_are_used_once() -> None:
    assert [name for name, count in Counter(row.name for row in ROWS).items() if count > 1] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_goals_are_for_figures_and_brokers_that_exist(row: Row) -> None:
    assert set(row.goals) <= set(KINDS)
    assert {goal.figure for goal in row.absolutes} <= set(KINDS)
    assert set(row.brokers) <= set(SUBJECTS)


def test_latency_has_a_sterner_goal_without_syncing() -> None:
    goal = BY_NAME["latency-10k"].goal("p99_ms")
    assert goal is not None
    assert (goal.bound(TIDEGATE), goal.bound(TIDEGATE_OS)) == (1.0, 0.7)


def test_a_point_of_growth_has_the_goal_of_its_figure() -> None:
    row = BY_NAME["growth-log"]
    assert row.goal("cpu_s_per_1000@1 MiB") is row.goals["cpu_s_per_1000"]
    assert kind_of("cpu_s_per_1000@1 MiB").title.endswith("at 1 MiB")


def test_what_explains_has_no_goal_and_all_else_is_to_be_no_worse() -> None:
    row = BY_NAME["produce-1k-java"]
    assert row.goal("client_cpu_s") is None
    favour = row.goal("p999_ms")
    assert favour is not None
    assert favour.sync == 1.0


def test_an_unknown_figure_is_named() -> None:
    with pytest.raises(KeyError, match="speed"):
        kind_of("speed")
