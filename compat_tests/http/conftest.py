"""One broker with both doors for all of these scenarios."""

from collections.abc import Iterator

import pytest

from tidegate import testing


@pytest.fixture(scope="session")
def doors() -> Iterator[testing.RunningBroker]:
    """A broker that is called over HTTP and by Kafka's clients."""
    with testing.broker(timeout_s=60) as broker:
        yield broker
