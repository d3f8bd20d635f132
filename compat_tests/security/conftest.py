"""The secured broker, shared by the whole session."""

from collections.abc import Iterator

import pytest

from compat_tests.security import secured


@pytest.fixture(scope="session")
def secured_broker() -> Iterator[secured.Secured]:
    with secured.secured() as broker:
        yield broker
