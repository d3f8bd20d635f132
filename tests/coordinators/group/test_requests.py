"""What is asked and answered."""

from coordinators.group.requests import CommitRequest, FetchedOffset, SyncRequest


def test_no_offset_is_minus_one_without_an_error() -> None:
    found = FetchedOffset("t", 0)
    assert (found.offset, found.leader_epoch, found.metadata, found.error) == (-1, -1, "", None)


def test_what_is_left_out_asks_nothing() -> None:
    assert CommitRequest("g", "", -1, ()).retention_time_ms == -1
    assert SyncRequest("g", "m", None, 1).assignments == {}
