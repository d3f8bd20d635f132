"""Records on their way from a broker; commands/test_consume.py reads them from the command line."""

import pytest

from tools.cli import reading as module
from tools.cli.errors import CannotReach, UsageMistake
from tools.cli.formats import Record
from tools.cli.progress import Progress
from tools.cli.reading import Filter, Reading, pattern, set_out

RECORD = Record("t", 0, 5, 17, b"table-4", b"one coffee", (("source", b"bar"), ("flag", None)))


@pytest.mark.parametrize(
    ("chosen", "takes"),
    [
        (Filter(), True),
        (Filter(key=pattern("^table")), True),
        (Filter(key=pattern("chair")), False),
        (Filter(value=pattern("coffee$")), True),
        (Filter(value=pattern("tea")), False),
        (Filter(headers=(("source", b"bar"), ("flag", None))), True),
        (Filter(headers=(("source", b"shop"),)), False),
        (Filter(headers=(("missing", None),)), False),
    ],
)
def test_a_filter_takes_what_it_asks_for(chosen: Filter, takes: bool) -> None:
    assert chosen.takes(RECORD) is takes


def test_what_is_not_there_does_not_match() -> None:
    empty = Record("t", 0, 0, 0, None, None)
    assert not Filter(key=pattern("")).takes(empty)
    assert not Filter(value=pattern("")).takes(empty)


def test_a_bad_pattern_is_told() -> None:
    with pytest.raises(UsageMistake, match="no regular expression"):
        pattern("(")


def reading(**named: object) -> Reading:
    return Reading(lambda _: None, Filter(), Progress("", None, draws=False), **named)  # type: ignore[arg-type]


def test_records_at_the_end_or_behind_it_are_not_shown() -> None:
    before, at_it = reading(stops={("t", 0): 6}), reading(stops={("t", 0): 5})
    before.take(RECORD)
    at_it.take(RECORD)
    assert (before.shown, at_it.shown) == (1, 0)


def test_what_there_is_to_read_is_known_to_the_bar() -> None:
    bounded = reading(stops={("t", 0): 10, ("t", 1): 5})
    set_out(bounded, {("t", 0): 4, ("t", 1): 7})
    assert bounded.progress.total == 6
    counted = reading(stops={("t", 0): 10}, count_max=2)
    set_out(counted, {("t", 0): 0})
    assert counted.progress.total == 2


def test_a_broker_that_goes_is_told_once_and_given_up_where_there_is_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    causes = [ConnectionError(), None, ConnectionError()]
    monkeypatch.setattr(module, "causes_of_failure", lambda: causes.pop(0) if causes else None)
    told: list[str] = []
    following = reading(on_lost=lambda: told.append("gone"), timeout_s=0.0)
    for has_records in (False, False, False, False):
        following.look(has_records)
    assert told == ["gone"]
    causes.append(ConnectionError())
    following.look(True)
    following.look(False)
    assert told == ["gone", "gone"]
    causes.append(ConnectionError())
    bounded = reading(stops={}, timeout_s=-1.0)
    with pytest.raises(CannotReach, match="has gone before all was read"):
        bounded.look(False)
