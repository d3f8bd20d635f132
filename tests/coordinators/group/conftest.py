"""One shard of the group coordinator for each test."""

import pytest

from tests.coordinators.group.shard import Shard


@pytest.fixture
def shard() -> Shard:
    return Shard()
