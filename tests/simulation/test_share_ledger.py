"""The judge of share groups in simulations: what it calls wrong, and what it must not."""

from collections import Counter

import pytest
import trio
from trio.testing import MockClock, trio_test

from tests.simulation.history import History
from tests.simulation.share_ledger import ACCEPT, REJECT, RELEASE, ShareLedger, ShareRules, Tenure

LEADER, NEXT = Tenure(1, "node-1", 1), Tenure(2, "node-2", 1)


@pytest.fixture
def jumping() -> MockClock:
    """No time passes outside."""
    return MockClock(autojump_threshold=0)


def ledger(**rules: object) -> ShareLedger:
    return ShareLedger("g", ShareRules(**rules), History())  # type: ignore[arg-type]


def kinds(of: ShareLedger) -> list[str]:
    return [anomaly.kind for anomaly in of.history.anomalies]


def says(of: ShareLedger, member: str, offset: int, kind: int, tenure: Tenure = LEADER) -> None:
    of.tries(member, [(offset, kind)])
    of.answered(member, [(offset, kind)], trio.current_time(), tenure, 0)


@trio_test
async def test_two_that_hold_one_record_are_found_once_both_sessions_are_known_to_be_whole() -> None:
    one = ledger()
    one.handed("a", trio.current_time(), LEADER, {7: 1})
    one.handed("b", trio.current_time(), LEADER, {7: 2})
    assert kinds(one) == [], "the first may have lost its connection"
    one.whole("a", LEADER)
    assert kinds(one) == ["two hold one record"]


@trio_test
async def test_the_next_leader_and_an_answer_that_came_late_are_no_mistake(jumping: MockClock) -> None:
    one = ledger()
    asked_s = trio.current_time()
    await trio.sleep(1.5)
    one.handed("b", trio.current_time(), LEADER, {7: 2})
    one.handed("a", asked_s, LEADER, {7: 1})
    one.handed("c", trio.current_time(), NEXT, {7: 1})
    for member in ("a", "b"):
        one.whole(member, LEADER)
    assert kinds(one) == []


@trio_test
async def test_what_is_settled_does_not_come_again_from_anybody_who_knows(jumping: MockClock) -> None:
    one = ledger()
    one.handed("a", trio.current_time(), NEXT, {7: 1})
    says(one, "a", 7, ACCEPT, NEXT)
    await trio.sleep(0.1)
    one.handed("b", trio.current_time(), LEADER, {7: 1})
    assert kinds(one) == [], "a leader that was replaced does not know"
    one.handed("b", trio.current_time(), NEXT, {7: 2})
    assert kinds(one) == ["settled and handed out again"]


@trio_test
async def test_a_release_is_counted_and_waits(jumping: MockClock) -> None:
    one = ledger()
    one.handed("a", trio.current_time(), LEADER, {7: 1, 8: 1})
    for offset in (7, 8):
        says(one, "a", offset, RELEASE)
    await trio.sleep(0.05)
    one.handed("b", trio.current_time(), LEADER, {7: 2})
    await trio.sleep(0.1)
    one.handed("b", trio.current_time(), NEXT, {8: 1})
    assert kinds(one) == ["handed out before its back-off was over", "a delivery was forgotten"]


@trio_test
async def test_every_record_ends_accepted_or_as_one_letter() -> None:
    one = ledger()
    one.handed("a", trio.current_time(), LEADER, dict.fromkeys(range(6), 1))
    for offset, kind in enumerate((ACCEPT, REJECT, ACCEPT, REJECT, REJECT)):
        says(one, "a", offset, kind)
    one.judge(dict.fromkeys(range(6), "m"), {}, Counter({1: 1, 2: 1, 3: 2}))
    assert kinds(one) == [
        "accepted and dead",
        "dead letter twice",
        "dead letter lost",
        *["neither accepted nor dead"] * 2,
    ]


@trio_test
async def test_a_key_is_handed_out_in_order(jumping: MockClock) -> None:
    one = ledger(is_ordered=True)
    one.handed("a", trio.current_time(), LEADER, {0: 1, 1: 1})
    await trio.sleep(0.1)
    for offset in (0, 1):
        says(one, "a", offset, ACCEPT)
    await trio.sleep(0.1)
    one.handed("a", trio.current_time(), LEADER, {2: 1})
    says(one, "a", 2, ACCEPT)
    one.judge(dict.fromkeys(range(3), "m"), {0: b"k", 1: b"other", 2: b"k"}, Counter())
    assert kinds(one) == []
    one.judge(dict.fromkeys(range(3), "m"), {0: b"k", 1: b"k", 2: b"k"}, Counter())
    assert kinds(one) == ["out of order"]
