"""A search for the dearest request, as the campaign makes it, of an API that once cost seconds and gigabytes."""

import pytest

from tools.fuzz.cost.search import Bounds, worst_of

DESCRIBE_GROUPS = 15


@pytest.mark.timeout(180)
def test_what_once_stopped_the_loop_is_held_within_bounds() -> None:
    bounds = Bounds()
    worst = worst_of(DESCRIBE_GROUPS, 5, mutations=2, seed=1, bounds=bounds)
    assert len(worst.findings) > 5
    assert {finding.cost.outcome for finding in worst.findings} <= {"answered", "refused"}
    assert [str(finding.genome) for finding in worst.complaints(bounds)] == []
    assert worst.answer.cost.answer_bytes > 1000
