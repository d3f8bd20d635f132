"""Time that jumps to the next event."""

import pytest
from trio.testing import MockClock


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)
