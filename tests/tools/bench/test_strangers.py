"""Crowds of strangers, small ones: nobody is refused who should not be, nor let in. What it costs is measured apart."""

import pytest

from tools.bench.strangers import KINDS, measure


@pytest.mark.parametrize("kind", KINDS)
def test_a_crowd_is_let_in_or_refused_and_who_was_there_goes_on(kind: str) -> None:
    found = measure(kind, rounds=1, seconds=1.5, records=50, rate=60, jobs=1)
    assert found["wrong"] == 0
    assert found["reached_per_s"] > 0
    assert found["beside_p99_ms"] > 0
    assert found["certificates"] > 1 or kind != "certificates"
