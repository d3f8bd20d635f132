"""Subscriptions by regular expression."""

import time

import pytest

from coordinators.group.consumer.regex import check, matching
from engine.errors import InvalidRegularExpression


def test_a_name_matches_as_a_whole() -> None:
    assert matching("a.*|b", ["b", "ab", "bb", "a"]) == ("a", "ab", "b")


@pytest.mark.parametrize("expression", ["(", "a**", r"(a)\1", "(?=a)"])
def test_what_is_no_re2_expression_is_refused(expression: str) -> None:
    with pytest.raises(InvalidRegularExpression):
        check(expression)


def test_an_expression_that_explodes_elsewhere_takes_no_time() -> None:
    began = time.monotonic()
    assert matching("(a*)*(a*)*(a*)*b", ["a" * 249]) == ()
    assert time.monotonic() - began < 1


def test_an_expression_that_needs_too_much_memory_is_refused() -> None:
    with pytest.raises(InvalidRegularExpression):
        check("((((a{100}){100}){100}){100})")
