"""The pytest plugin: fixtures that run a broker in a process of its own, or a cluster of them.

`tidegate_broker` is a fresh broker per test, `tidegate_session_broker` one for the whole run, `tidegate_cluster` a
fresh cluster of three nodes. Override `tidegate_config` to give any of them broker keys. The report of a test that
fails ends with what its broker has logged. Every pytest run of a project that has Tidegate installed imports this file,
so it imports nothing of ours until a fixture is used.
"""

from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tidegate.running_cluster import RunningCluster
    from tidegate.testing import RunningBroker

LOGGED = {("tidegate.testing", "RunningBroker"), ("tidegate.running_cluster", "RunningCluster")}
LOG_LINES = 100
"""As much of a broker's log as a report shows, from the end."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a failure what the brokers of that test have logged."""
    report = yield
    if report.failed:
        for name, value in getattr(item, "funcargs", {}).items():
            # By its name: nothing of ours is imported for tests that use none of it.
            if (type(value).__module__, type(value).__name__) in LOGGED:
                report.sections.append((f"Log of {name}", _tail(value)))
    return report


def _tail(broker: Any) -> str:
    lines = broker.log().splitlines()
    left_out = [f"... ({len(lines) - LOG_LINES} lines before)"] if len(lines) > LOG_LINES else []
    return "\n".join([*left_out, *lines[-LOG_LINES:]]) or "(nothing)"


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


@pytest.fixture
def tidegate_cluster(tidegate_config: Mapping[str, str]) -> "Iterator[RunningCluster]":
    """A cluster of three nodes for this test alone, empty, with an etcd of its own, on free ports."""
    from tidegate.testing import cluster

    with cluster(3, tidegate_config) as running:
        yield running
