"""Time for the tests of replication."""

import pytest
from trio.testing import MockClock


@pytest.fixture
def jumping() -> MockClock:
    """Time that passes at once when nobody has anything to do."""
    return MockClock(autojump_threshold=0)
