"""What the tests of the registry's door share."""

import pytest

from tests.wire.registry.doors import Door


@pytest.fixture
def door() -> Door:
    return Door()
