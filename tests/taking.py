"""A plugin of pytest by which several processes share the tests of one run: `-p tests.taking --taken FILE --end back`.

Each collects all files and takes one after the other that nobody has taken, from its end of them, as the file that they
share says. Both ends come together, so that nobody is done long before the others, however long anything takes; and
what needs the same broker or the same JVM lies side by side, and is mostly taken by the same process.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path

import pytest

FRONT = (
    # In real time, with processes and sockets: what takes longest first.
    *("tests/tools", "tests/tidegate", "tests/security", "tests/test_wheel.py"),
    *("compat_tests/groups", "compat_tests/security", "compat_tests/java", "compat_tests/extensions"),
)
BACK = (
    # What computes: models and simulations. What has machinery of its own: Spark, clusters.
    *("tests/coordinators", "tests/engine", "tests/simulation"),
    *("compat_tests/share", "compat_tests/streams", "compat_tests/cluster", "compat_tests/spark"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("taking")
    group.addoption("--taken", type=Path, help="the file that tells what has been taken")
    group.addoption("--end", choices=("front", "back"), default="front", help="where to take from")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """As pytest's own, over what is taken. The file that is next is taken when the last test of one begins: what that
    has set up for the next one stays."""
    options = session.config.option
    if session.testsfailed or options.collectonly or options.taken is None:
        return None
    for item, following in pairwise(chain(_taken(session.items, options.taken, options.end), [None])):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
    return True


def _taken(items: Sequence[pytest.Item], taken: Path, end: str) -> Iterator[pytest.Item]:
    by_file: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(os.path.relpath(item.path), []).append(item)
    files = sorted(by_file, key=_place)
    for file in files if end == "front" else reversed(files):
        if _take(file, taken):
            yield from by_file[file]


def _place(file: str) -> tuple[int, int]:
    """Of a file among all. Files of one room stay in the order in which they were found."""
    for position, rooms in ((0, FRONT), (2, BACK)):
        for index, room in enumerate(rooms):
            if file == room or file.startswith(f"{room}/"):
                return position, index
    return 1, 0


def _take(file: str, taken: Path) -> bool:
    """Note that it is ours, unless it is somebody's already."""
    with taken.open("a+") as noted:
        fcntl.flock(noted, fcntl.LOCK_EX)
        noted.seek(0)
        if file in noted.read().splitlines():
            return False
        noted.write(f"{file}\n")
        return True
