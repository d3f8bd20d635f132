"""Committed offsets and those of open transactions."""

import pytest

from coordinators.group.offsets import Offsets
from coordinators.group.record_formats import OffsetKey, OffsetValue

KEY = OffsetKey("g", "t", 0)


def value(offset: int) -> OffsetValue:
    return OffsetValue(offset, -1, "", 0)


@pytest.fixture
def offsets() -> Offsets:
    return Offsets()


def committed(offsets: Offsets) -> int | None:
    found = offsets.get(KEY)
    return None if found is None else found.value.offset


def test_a_transactions_offset_counts_when_it_commits(offsets: Offsets) -> None:
    offsets.commit_pending(KEY, value(5), 1)
    assert (committed(offsets), offsets.is_pending(KEY)) == (None, True)
    offsets.end_transaction(1, committed=True)
    assert (committed(offsets), offsets.is_pending(KEY)) == (5, False)


def test_a_transactions_offset_never_counts_when_it_aborts(offsets: Offsets) -> None:
    offsets.commit(KEY, value(1))
    offsets.commit_pending(KEY, value(5), 1)
    offsets.end_transaction(1, committed=False)
    assert (committed(offsets), offsets.is_pending(KEY)) == (1, False)


def test_a_later_commit_is_not_undone_by_a_transaction(offsets: Offsets) -> None:
    offsets.commit_pending(KEY, value(5), 1)
    offsets.commit(KEY, value(7))
    offsets.end_transaction(1, committed=True)
    assert committed(offsets) == 7


def test_of_two_transactions_the_later_write_counts(offsets: Offsets) -> None:
    offsets.commit_pending(KEY, value(5), 1)
    offsets.commit_pending(KEY, value(6), 2)
    offsets.end_transaction(2, committed=True)
    assert offsets.is_pending(KEY)
    offsets.end_transaction(1, committed=True)
    assert committed(offsets) == 6


def test_what_was_removed_does_not_come_back_with_a_transaction(offsets: Offsets) -> None:
    offsets.commit_pending(KEY, value(5), 1)
    offsets.remove(KEY)
    offsets.end_transaction(1, committed=True)
    assert (committed(offsets), offsets.groups()) == (None, set())


def test_a_topics_offsets_are_found_in_every_group(offsets: Offsets) -> None:
    other = OffsetKey("h", "t", 3)
    offsets.commit(KEY, value(1))
    offsets.commit(OffsetKey("g", "u", 0), value(2))
    offsets.commit_pending(other, value(3), 1)
    assert {key for key, _ in offsets.of_topics({"t"})} == {KEY, other}
    assert offsets.keys_of("g") == {KEY, OffsetKey("g", "u", 0)}


def test_how_many_there_are(offsets: Offsets) -> None:
    offsets.commit(KEY, value(1))
    offsets.commit_pending(KEY, value(3), 1)
    assert offsets.statistics() == {"offsets": 1, "pending_offsets": 1}
