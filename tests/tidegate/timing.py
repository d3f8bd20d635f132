"""How long something takes, told apart from how long a busy machine makes it take."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import define

ATTEMPTS = 5
BESIDE = 2.5
"""Where other tests run beside these (tools/run_tests.py), a processor is slower though nobody waits for it: its caches
and its clock are shared."""
DISTURBED_SHARE = 0.1
"""Of the time: if processes waited longer than that for a processor, or it was stolen, the figure says nothing."""


@define
class Timing:
    """One measurement; `waited_s` is what was spent waiting for a processor."""

    took_s: float = 0.0
    waited_s: float = 0.0

    @property
    def is_disturbed(self) -> bool:
        return self.waited_s > DISTURBED_SHARE * self.took_s


def check_takes_less(limit_s: float, measure: Callable[[], Timing]) -> None:
    """One attempt of some has to keep to the limit; a machine that is too busy for every one of them proves nothing."""
    attempts: list[Timing] = []
    limit_s *= BESIDE if "TESTS_RUN_BESIDE" in os.environ else 1.0
    while len(attempts) < ATTEMPTS:
        attempts.append(measure())
        if attempts[-1].took_s < limit_s:
            return
    if all(attempt.is_disturbed for attempt in attempts):
        pytest.skip(f"the machine is too busy to tell: {attempts}")
    raise AssertionError(f"over {limit_s} s: {attempts}")


@contextmanager
def timed() -> Iterator[tuple[Timing, Callable[[int], None]]]:
    """Measures the block; the function notes a process that takes part in it, shortly before that ends."""
    timing, began_s, stolen_before_s = Timing(), time.monotonic(), _stolen_s()

    def note(pid: int) -> None:
        timing.waited_s += _waited_s(pid)

    yield timing, note
    timing.took_s = time.monotonic() - began_s
    timing.waited_s += _stolen_s() - stolen_before_s


def _waited_s(pid: int) -> float:
    """How long a process was ready to run and did not, as Linux counts it."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def _stolen_s() -> float:
    """How long, per processor, a virtual machine was not let run."""
    try:
        fields = Path("/proc/stat").read_text().splitlines()[0].split()
    except OSError:
        return 0.0
    return int(fields[8]) / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)
