"""Names for a bounded number of series, kept for life."""

from coordinators.metrics.labels import BoundedLabels


def test_the_first_have_names_and_the_rest_are_counted() -> None:
    labels: BoundedLabels[str] = BoundedLabels(2)
    labels.update(["a", "b", "c"])
    assert [labels.is_named(key) for key in "abc"] == [True, True, False]
    assert labels.left_out() == 1


def test_who_had_no_name_gets_none_later_but_a_newcomer_may() -> None:
    labels: BoundedLabels[str] = BoundedLabels(2)
    labels.update(["a", "b", "c"])
    assert labels.update(["b", "c", "d"]) == []
    assert [labels.is_named(key) for key in "bcd"] == [True, False, True]


def test_those_that_go_and_had_no_name_are_told() -> None:
    labels: BoundedLabels[str] = BoundedLabels(1)
    labels.update(["a", "b", "c"])
    assert labels.update(["a", "c"]) == ["b"]


def test_a_limit_of_0_names_nobody() -> None:
    labels: BoundedLabels[str] = BoundedLabels(0)
    labels.update(["a"])
    assert not labels.is_named("a")
