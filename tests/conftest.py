"""What all tests share: Hypothesis runs the same examples every time unless asked otherwise, and a test that lives in
real time, with processes and sockets, is tried once more when a busy machine let it fail. The summary names those.

Tests that take long are marked `slow`: `make check` leaves them out, `make test` runs all."""

import os
import signal

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# Whoever runs the tests in the background of a shell ignores SIGINT, and so would every program that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

IN_REAL_TIME = ("tests/tidegate/", "tests/tools/", "tests/wire/", "tests/coordinators/records/test_opening.py")


# What compares a part with a model of it over thousands of steps, what kills brokers again and again, what measures,
# and what needs more than the venv: Java, valgrind, promtool. Single tests carry the marker themselves.
SLOW = (
    *("tests/simulation/", "tests/tools/", "tests/tidegate/", "tests/test_wheel.py", "tests/test_operations_docs.py"),
    *("tests/wire/kafka/codec/", "tests/wire/http/test_openapi.py", "tests/coordinators/transaction/test_formats.py"),
)
QUICK = ("tests/tools/cli/", "tests/tidegate/test_config.py", "tests/tidegate/test_main.py")
STATE_MACHINE = "runTest"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(IN_REAL_TIME):
            item.add_marker(pytest.mark.flaky(reruns=1))
        is_slow = item.nodeid.startswith(SLOW) and not item.nodeid.startswith(QUICK)
        if is_slow or item.name == STATE_MACHINE:
            item.add_marker(pytest.mark.slow)
