"""The pytest plugin: fixtures that run a broker in a process of its own.

`tidegate_broker` is a fresh broker per test, `tidegate_session_broker` one for the whole run. Override
`tidegate_config` to give either of them broker keys. Every pytest run of a project that has Tidegate
installed imports this file, so it imports nothing of ours until a fixture is used.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tidegate.testing import RunningBroker


@pytest.fixture(scope="session")
def tidegate_config() -> Mapping[str, str]:
    """Broker keys by Kafka's names, e.g. {"num.partitions": "6"}; override it in a conftest or a module."""
    return {}


@pytest.fixture
def tidegate_broker(tidegate_config: Mapping[str, str]) -> "Iterator[RunningBroker]":
    """A broker for this test alone, empty, on a free port."""
    from tidegate.testing import broker

    with broker(tidegate_config) as running:
        yield running


@pytest.fixture(scope="session")
def tidegate_session_broker(tidegate_config: Mapping[str, str]) -> "Iterator[RunningBroker]":
    """One broker for the whole run; its tests share topics, so give each its own names."""
    from tidegate.testing import broker

    with broker(tidegate_config) as running:
        yield running
