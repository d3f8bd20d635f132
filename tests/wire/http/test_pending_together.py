"""Pages that several nodes have parts of are those that one node would have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.release.listing import Order, Window
from engine.errors import InvalidRequest
from wire.http.pending import Pending, PendingRecordPage
from wire.http.pending_together import ORDERS, page_of_parts, window_of_parts

NODES = 3


def waiting(partition: int, number: int, due_ms: int) -> Pending:
    return Pending(partition, f"#{number}", number, "waiting", due_ms, 0, None, None, 2, 1, None, None, [])


def part_of(records: list[Pending], window: Window, room: int) -> PendingRecordPage:
    """What a node tells of its own, with room for so many."""
    shown = records[window.skip : window.skip + window.limit][:room]
    reached = window.skip + len(shown)
    next_skip = reached if shown and reached < len(records) else None
    return PendingRecordPage(total=len(records), limit=window.limit, skip=window.skip, items=shown, next_skip=next_skip)


@given(
    dues=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 20)), max_size=30),
    order=st.sampled_from(["due", "number"]),
    limit=st.integers(1, 12),
    room=st.integers(1, 30),
)
def test_page_by_page_all_records_come_in_order(
    dues: list[tuple[int, int]], order: Order, limit: int, room: int
) -> None:
    records = [waiting(partition, number, due_ms) for number, (partition, due_ms) in enumerate(dues)]
    records.sort(key=ORDERS[order])
    of_nodes = [[record for record in records if record.partition % NODES == node] for node in range(NODES)]
    found: list[Pending] = []
    skip: int | None = 0
    while skip is not None:
        window = Window(limit, skip, order)
        part = window_of_parts(window)
        # A part is cut short where its records are large, though never before what was skipped already.
        page = page_of_parts([part_of(each, part, max(room, skip + 1)) for each in of_nodes], window)
        assert page.total == len(records)
        assert len(page.items) <= limit
        found += page.items
        skip = page.next_skip
    assert found == records


def test_nobody_is_told_of_an_end_where_records_are_too_large_to_skip() -> None:
    records = [waiting(0, number, number) for number in range(9)]
    window = Window(2, 5)
    with pytest.raises(InvalidRequest, match="this size"):
        page_of_parts([part_of(records, window_of_parts(window), 3)], window)
