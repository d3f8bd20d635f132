"""Lists of delayed records whose partitions several nodes lead: the parts that each has told, put together."""

from collections.abc import Callable, Sequence

from attrs import evolve

from coordinators.release.listing import Order, Window
from coordinators.release.pending_records import DueBucket
from engine.errors import InvalidRequest
from wire.http.messages import MAX_LIMIT
from wire.http.pending import Pending, PendingRecordPage

Key = Callable[[Pending], tuple[int, ...]]
ORDERS: dict[Order, Key] = {
    "due": lambda record: (record.due_ms, record.partition, record.number),
    "number": lambda record: (record.partition, record.number),
}
"""As each node has its own (coordinators/release/listing.py)."""


def window_of_parts(window: Window) -> Window:
    """What each node is asked for: nobody knows how many of those that are skipped are its own."""
    asked = window.skip + window.limit
    if asked > MAX_LIMIT:
        raise _too_far(f"at most {MAX_LIMIT} records")
    return evolve(window, limit=asked, skip=0)


def page_of_parts(parts: Sequence[PendingRecordPage], window: Window) -> PendingRecordPage:
    """The page that all of them make."""
    key = ORDERS[window.order]
    records = sorted((record for part in parts for record in part.items), key=key)
    # Of what comes after the last record of a part that has more, nothing is known.
    ends = [key(part.items[-1]) for part in parts if part.next_skip is not None and part.items]
    known = [record for record in records if key(record) <= min(ends)] if ends else records
    shown = known[window.skip : window.skip + window.limit]
    total, reached = sum(part.total for part in parts), window.skip + len(shown)
    if not shown and ends and window.skip < total:
        raise _too_far("not so many records of this size")
    return PendingRecordPage(
        items=shown,
        total=total,
        limit=window.limit,
        skip=window.skip,
        next_skip=reached if shown and reached < total else None,
    )


def _too_far(most: str) -> InvalidRequest:
    return InvalidRequest(
        f"of partitions that several nodes lead {most} can be skipped and listed: go on with due_from_ms, or list one "
        "partition after the other"
    )


def buckets_of_parts(parts: Sequence[Sequence[DueBucket]]) -> list[DueBucket]:
    """The sums; all parts are divided at the same times."""
    return [
        evolve(together[0], records=sum(each.records for each in together)) for together in zip(*parts, strict=True)
    ]
