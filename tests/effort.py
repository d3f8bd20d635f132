"""How much work something is, counted and not timed: the same on any machine, however busy it is."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls_in(work: Callable[[], object]) -> int:
    """How many functions are called, Python's own included."""
    count = 0

    def called(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def growth(work_of: Callable[[int], Callable[[], object]], size: int, factor: int = 4) -> float:
    """By how much the work grows when there is `factor` times as much of it: `factor` where it is linear, its square
    where it is quadratic. `work_of` prepares the work for a size."""
    work_of(size)()  # what is made once is made now
    small = calls_in(work_of(size))
    return calls_in(work_of(size * factor)) / small
