"""What all tests share: Hypothesis runs the same examples every time unless asked otherwise, and a test that lives in
real time, with processes and sockets, is tried once more when a busy machine let it fail. The summary names those."""

import os
import signal

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# Whoever runs the tests in the background of a shell ignores SIGINT, and so would every program that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

IN_REAL_TIME = ("tests/tidegate/", "tests/tools/", "tests/wire/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(IN_REAL_TIME):
            item.add_marker(pytest.mark.flaky(reruns=1))
