"""Waiting for what a broker does a moment after it has answered."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(look: Callable[[], T], expected: T, seconds: float = 10.0) -> None:
    """Looks again until it sees what is expected; fails with what it saw last."""
    deadline = time.monotonic() + seconds
    while (seen := look()) != expected:
        assert time.monotonic() < deadline, f"still {seen!r}, not {expected!r}"
        time.sleep(0.02)
