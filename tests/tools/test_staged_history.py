"""The judge of held records finds every anomaly that is planted, and nothing where none is."""

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve

from tools.soak.staged_history import History, Outcome, Read, Sent, StagedVerdict, judge_staged, missing

LANE = ("topic", 0)


def sent(mark: str, at_s: float, delay_s: float = 0.0, **more: Any) -> Sent:
    """Acknowledged a moment later, unless told otherwise."""
    outcome: dict[str, Any] = {"outcome": Outcome.ACKNOWLEDGED, "settled_s": at_s + 0.01}
    return Sent(LANE, mark.encode(), at_s, at_s + delay_s, **{**outcome, **more})


def read(*marks: tuple[str, float]) -> list[Read]:
    return [Read(LANE, offset, mark.encode(), at_s) for offset, (mark, at_s) in enumerate(marks)]


def judged(records: Sequence[Sent], readings: Sequence[Read]) -> StagedVerdict:
    return judge_staged(History(list(records), list(readings), list(readings)))


def found(*marks: str) -> tuple[tuple[tuple[str, int], bytes], ...]:
    return tuple((LANE, mark.encode()) for mark in marks)


def test_all_is_well() -> None:
    records = [
        sent("a", 0.0),
        sent("b", 0.1, 5.0, schedule_id=b"b"),
        sent("c", 0.2, 1.0),
        sent("no b", 0.3, schedule_id=b"b", cancels=True),
        sent("d1", 0.4, 2.0, schedule_id=b"d"),
        sent("d2", 0.5, 2.0, schedule_id=b"d"),
    ]
    history = History(records, read(("a", 0.1), ("c", 1.25), ("d2", 2.5)))
    history.reread = list(history.read)
    history.ends["topic"] = [0, 1, 1, 3]
    assert judge_staged(history) == StagedVerdict()
    assert judge_staged(history).clean


def test_early() -> None:
    verdict = judged([sent("a", 0.0, 1.0)], read(("a", 0.99)))
    assert verdict == StagedVerdict(early=found("a"))
    assert not verdict.clean


def test_lost() -> None:
    assert judged([sent("a", 0.0), sent("b", 0.1)], read(("b", 0.2))) == StagedVerdict(lost=found("a"))


def test_what_was_not_acknowledged_may_be_missing_or_there() -> None:
    unknown = sent("a", 0.0, outcome=Outcome.UNKNOWN)
    assert judged([unknown], []).clean
    assert judged([unknown], read(("a", 0.1))).clean


def test_what_may_expire_may_be_missing() -> None:
    assert judged([sent("a", 0.0, may_expire=True)], []).clean


def test_released_twice() -> None:
    assert judged([sent("a", 0.0)], read(("a", 0.1), ("a", 0.1))) == StagedVerdict(twice=found("a"))


def test_cancelled_yet_delivered() -> None:
    records = [sent("a", 0.0, 1.0, schedule_id=b"a"), sent("no a", 0.5, schedule_id=b"a", cancels=True)]
    assert judged(records, []).clean
    assert judged(records, read(("a", 1.1))) == StagedVerdict(cancelled_yet_delivered=found("a"))


def test_a_late_cancel_may_lose() -> None:
    records = [sent("a", 0.0, 1.0, schedule_id=b"a"), sent("no a", 0.995, schedule_id=b"a", cancels=True)]
    assert judged(records, []).clean
    assert judged(records, read(("a", 1.1))).clean


def test_a_cancel_that_was_aborted_takes_nothing_back() -> None:
    cancel = sent("no a", 0.5, schedule_id=b"a", cancels=True, outcome=Outcome.REFUSED)
    records = [sent("a", 0.0, 1.0, schedule_id=b"a"), cancel]
    assert judged(records, read(("a", 1.1))).clean
    assert judged(records, []) == StagedVerdict(lost=found("a"))


def test_a_cancel_takes_back_nothing_that_came_after_it() -> None:
    records = [sent("no a", 0.0, schedule_id=b"a", cancels=True), sent("a", 0.5, 1.0, schedule_id=b"a")]
    assert judged(records, []) == StagedVerdict(lost=found("a"))


def test_a_replaced_record_is_not_delivered_and_its_successor_is() -> None:
    records = [sent("a1", 0.0, 1.0, schedule_id=b"a"), sent("a2", 0.5, 1.0, schedule_id=b"a")]
    assert judged(records, read(("a2", 1.6))).clean
    assert judged(records, read(("a1", 1.1), ("a2", 1.6))) == StagedVerdict(cancelled_yet_delivered=found("a1"))
    assert judged(records, []) == StagedVerdict(lost=found("a2"))


def test_aborted_and_yet_read() -> None:
    aborted = sent("a", 0.0, outcome=Outcome.REFUSED)
    assert judged([aborted], []).clean
    assert judged([aborted], read(("a", 0.1))) == StagedVerdict(unexpected=found("a"))


def test_read_though_nobody_sent_it() -> None:
    assert judged([], read(("a", 0.1))) == StagedVerdict(unexpected=found("a"))


def test_reordered_among_its_kind() -> None:
    records = [sent("a", 0.0, order="x"), sent("b", 0.1, order="y"), sent("c", 0.2, order="x")]
    assert judged(records, read(("b", 1.0), ("a", 1.0), ("c", 1.0))).clean
    assert judged(records, read(("c", 1.0), ("b", 1.0), ("a", 1.0))) == StagedVerdict(reordered=found("a"))


def test_a_record_without_a_kind_has_no_order() -> None:
    records = [sent("a", 0.0), sent("b", 0.1)]
    assert judged(records, read(("b", 1.0), ("a", 1.0))).clean


def test_a_log_that_reads_differently_the_second_time() -> None:
    first = read(("a", 0.1), ("b", 0.2))
    records = [sent("a", 0.0), sent("b", 0.0)]
    swapped = [evolve(first[0], mark=b"b"), evolve(first[1], mark=b"a")]
    assert judge_staged(History(records, first, swapped)) == StagedVerdict(rewritten=((LANE, 0), (LANE, 1)))
    assert judge_staged(History(records, first, first[:1])) == StagedVerdict(rewritten=((LANE, 1),))


def test_an_end_that_moves_back() -> None:
    history = History()
    history.ends["topic"] = [1, 5, 4, 6]
    assert judge_staged(history) == StagedVerdict(end_moved_back=(("topic", 5, 4),))


def test_lanes_are_judged_each_for_itself() -> None:
    elsewhere = Sent(("topic", 1), b"a", 0.0, 0.0, outcome=Outcome.ACKNOWLEDGED)
    assert judged([sent("a", 0.0), elsewhere], read(("a", 0.1))).lost == ((("topic", 1), b"a"),)


def test_what_is_still_missing() -> None:
    records = [sent("a", 0.0), sent("b", 0.0, schedule_id=b"b"), sent("x", 0.1, schedule_id=b"b", cancels=True)]
    assert missing(records, []) == {b"a"}
    assert missing(records, read(("a", 0.1))) == set()


@pytest.mark.parametrize("word", ["2 lost", "1 early"])
def test_a_summary_says_how_much_of_what(word: str) -> None:
    records = [sent("a", 0.0), sent("b", 0.0), sent("c", 0.0, 5.0)]
    assert word in judged(records, read(("c", 1.0))).summary()


def test_a_clean_summary() -> None:
    assert StagedVerdict().summary() == "clean"
