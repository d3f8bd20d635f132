"""A broker with both doors, which the scenarios of this folder share."""

from collections.abc import Callable, Iterator

import pytest

from compat_tests import admin, brokers
from compat_tests.conftest import unique_name
from compat_tests.members.broker import HttpBroker, http_broker


@pytest.fixture(scope="session")
def broker() -> Iterator[HttpBroker]:
    if brokers.target() != "tidegate":
        pytest.skip("Kafka has no HTTP door")
    with http_broker() as running:
        yield running


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    """A group of this test's own."""
    return unique_name(request.node.name)


@pytest.fixture
def make_topic(broker: HttpBroker, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Creates a topic with the given partitions, and gives its name."""

    def make(partitions: int = 1) -> str:
        name = unique_name(request.node.name)
        admin.create_topic(broker.bootstrap, name, partitions, {})
        return name

    return make
