"""What the administration gives: the broker's own values, field by field, and its errors by name."""

from typing import Any

import pytest
from attrs import fields

from coordinators.release import inspection, listing, lookup, stage_statistics
from tidegate import admin_results as ours


@pytest.mark.parametrize(
    ("kind", "brokers_own"),
    [
        (ours.Header, listing.Header),
        (ours.PendingRecord, listing.PendingRecord),
        (ours.PendingPage, listing.PendingPage),
        (ours.Fate, lookup.Fate),
        (ours.DelayedRecord, inspection.DelayedRecord),
        (ours.DueBucket, inspection.DueBucket),
        (ours.Lateness, stage_statistics.Lateness),
        (ours.DelayStatistics, stage_statistics.DelayStatistics),
        (ours.PriorityStatistics, stage_statistics.PriorityStatistics),
    ],
)
def test_nothing_that_the_broker_tells_is_left_out(kind: Any, brokers_own: Any) -> None:
    renamed = {"size": "size_bytes"}
    own = [renamed.get(each.name, each.name) for each in fields(brokers_own)]
    assert [each.name for each in fields(kind)] == own


@pytest.mark.parametrize("name", ours.ERRORS)
def test_errors_are_known_by_the_brokers_names(name: str) -> None:
    error = ours.admin_error("why", name)
    assert (type(error), str(error), error.error) == (ours.ERRORS[name], "why", name)


def test_another_error_is_an_admin_error_that_names_it() -> None:
    error = ours.admin_error("the disk is full", "StorageError")
    assert (type(error), error.error) == (ours.AdminError, "StorageError")
