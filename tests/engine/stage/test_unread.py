"""Look-ups by time among records that nobody has read: what is told holds whatever the order becomes."""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from engine.clock import ManualClock
from engine.stage.config import ExtensionConfig
from engine.stage.unread import UnreadTime
from tests.engine.logs import NOW_MS
from tests.engine.stage.world import Leader, Node, Record, client_batch, parse, read_batches, record, reopened

YEAR_MS = 365 * 24 * 3_600_000
HALF_AN_HOUR_MS = 1_800_000

times = st.integers(NOW_MS - 3, NOW_MS + 3)
plain_batches = st.lists(times, min_size=1, max_size=4).map(
    lambda created: [record("v", created_ms=one) for one in created]
)
urgent = st.builds(
    lambda created_ms, lane: [record("v", created_ms=created_ms, priority=lane)], times, st.integers(0, 4)
)


def lead(*batches: list[Record], **config: object) -> Leader:
    leader = Leader(Node(ManualClock(NOW_MS)), ExtensionConfig(priority_enable="true", **config))  # type: ignore[arg-type]
    for records in batches:
        leader.append(client_batch(records))
    return leader


def find(leader: Leader, timestamp_ms: int) -> UnreadTime | None:
    unread = leader.stage.unread(leader.log_end)
    return None if unread is None else unread.find(timestamp_ms)


def read_all(leader: Leader, offset: int, limit: int = 3) -> None:
    while leader.promised_end > leader.log_end:
        leader.linearise(max(offset, leader.log_end), limit_records=limit)
        leader.make_durable()
        leader.settle()


def first_in_log(leader: Leader, timestamp_ms: int) -> tuple[int, int] | None:
    found = leader.partition.log.find_by_time(timestamp_ms, leader.partition.high_watermark)
    return None if found is None else (found.offset, found.timestamp_ms)


@pytest.mark.parametrize("created_ms", [NOW_MS + HALF_AN_HOUR_MS, NOW_MS, NOW_MS - YEAR_MS])
@pytest.mark.parametrize("count", [1, 2, 50])
def test_it_is_the_create_time_that_counts_and_not_when_it_came(created_ms: int, count: int) -> None:
    leader = lead([record(str(number), created_ms=created_ms) for number in range(count)])
    questions = (created_ms - 1, created_ms, created_ms + 1, NOW_MS, NOW_MS + HALF_AN_HOUR_MS)
    before = [find(leader, question) for question in questions]
    assert before[:3] == [(0, created_ms), (0, created_ms), None]
    read_all(leader, 0)
    assert [first_in_log(leader, question) for question in questions] == before


@given(st.lists(plain_batches, min_size=1, max_size=6), st.integers(0, 5), st.booleans())
def test_in_one_lane_the_answer_is_the_same_before_and_after_it_was_read(
    batches: list[list[Record]], read: int, restarted: bool
) -> None:
    leader = lead(*batches)
    if read:
        leader.linearise(0, limit_records=read)
        leader.make_durable()
        leader.settle()
    if restarted:
        leader = reopened(leader)
    questions = range(NOW_MS - 4, NOW_MS + 5)
    before = [first_in_log(leader, question) or find(leader, question) for question in questions]
    first_unread, unread = leader.partition.high_watermark.offset, leader.stage.unread(leader.log_end)
    greatest_ms = None if unread is None else unread.greatest_ms()
    read_all(leader, leader.log_end)
    assert [first_in_log(leader, question) for question in questions] == before
    if greatest_ms is not None:
        created = [one.created_ms for records in batches for one in records]
        assert greatest_ms == max(created[first_unread:])


@given(st.lists(st.one_of(plain_batches, urgent), min_size=1, max_size=8), times, st.booleans())
def test_whatever_the_order_becomes_no_record_of_the_time_stands_before_the_answer(
    batches: list[list[Record]], timestamp_ms: int, reads_there: bool
) -> None:
    leader = lead(*batches)
    found = find(leader, timestamp_ms)
    late = [one for records in batches for one in records if one.created_ms >= timestamp_ms]
    assert (found is None) == (not late)
    if found is None:
        return
    assert found.offset < leader.promised_end
    # Who goes on from there, or somebody else who reads from the front.
    read_all(leader, found.offset if reads_there else 0)
    for header, batch in read_batches(leader.partition.log, 0):
        for place, one in enumerate(parse(batch)):
            assert one.created_ms < timestamp_ms or header.base_offset + place >= found.offset


def test_what_is_on_its_way_into_the_log_is_found_at_its_place() -> None:
    leader = lead([record("a"), record("b", created_ms=NOW_MS + 5), record("c", created_ms=NOW_MS + 9)])
    leader.linearise(0, limit_records=2)
    assert leader.partition.high_watermark.offset == 0
    assert find(leader, NOW_MS + 1) == (1, NOW_MS + 5)
    assert find(leader, NOW_MS + 9) == (2, NOW_MS + 9)
    unread = leader.stage.unread(leader.log_end)
    assert unread is not None
    assert (unread.first_offset(), unread.greatest_ms()) == (0, NOW_MS + 9)


def test_what_has_outlived_its_time_is_passed_over() -> None:
    leader = lead([record("a", ttl=100, created_ms=NOW_MS + 50)], [record("b", created_ms=NOW_MS + 40)])
    assert find(leader, NOW_MS + 45) == (0, NOW_MS + 50)
    leader.node.clock.advance_ms(100)
    assert find(leader, NOW_MS + 45) is None
    assert find(leader, NOW_MS + 40) == (1, NOW_MS + 40)


def test_a_run_that_can_no_longer_be_opened_is_met_from_its_first_record_on() -> None:
    leader = lead([record("a", created_ms=NOW_MS - 2), record("b", created_ms=NOW_MS)])
    unread = leader.stage.unread(leader.log_end)
    assert unread is not None
    assert unread.find(NOW_MS) == (1, NOW_MS)
    found = evolve(unread, segments={}).find(NOW_MS)
    assert found is not None
    assert found.offset == 0


def test_what_is_looked_through_is_as_it_was_whatever_happens_meanwhile() -> None:
    leader = lead([record(str(number), created_ms=NOW_MS + number) for number in range(5)])
    for number in range(2_000):
        leader.append(client_batch([record("x", created_ms=NOW_MS - number)]), wait=False)
    leader.make_durable()
    unread = leader.stage.unread(leader.log_end)
    assert unread is not None
    numbers = [row.number for row in unread.table.rows()]
    rows = unread.table.rows()
    seen = [next(rows).number]
    read_all(leader, 0, limit=500)
    leader.append(client_batch([record("later", created_ms=NOW_MS + 100)]))
    seen += [row.number for row in rows]
    assert seen == numbers
    assert unread.find(NOW_MS + 4) == (4, NOW_MS + 4)
    assert unread.find(NOW_MS + 100) is None


def test_without_lanes_nothing_is_promised() -> None:
    leader = Leader(Node(ManualClock(NOW_MS)))
    leader.append(client_batch([record("a", delay=10)]))
    assert leader.stage.unread(leader.log_end) is None
