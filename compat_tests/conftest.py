"""What all scenarios share: the broker under test and topics of their own."""

import os
import re
import uuid
from collections.abc import Callable, Iterator

import pytest

from compat_tests import admin, brokers


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Scenarios live in real time, with processes and sockets: one that a busy machine let fail is tried once more. The
    summary names it."""
    for item in items:
        item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """The address of the broker that the whole session shares."""
    running = os.environ.get("COMPAT_BOOTSTRAP")
    if running:
        yield running
    else:
        with brokers.broker() as address:
            yield address


@pytest.fixture
def topic_name(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses, and that tells which test it was."""
    return unique_name(request.node.name)


@pytest.fixture
def make_topic(bootstrap: str, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Creates a topic with the given partitions and configs, and gives its name."""

    def make(partitions: int = 1, **configs: object) -> str:
        name = unique_name(request.node.name)
        settings = {key.replace("_", "."): str(value) for key, value in configs.items()}
        admin.create_topic(bootstrap, name, partitions, settings)
        return name

    return make


def unique_name(test: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]+", "-", test)[:60].strip("-") + "-" + uuid.uuid4().hex[:8]
