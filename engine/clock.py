"""Time, injected: wall time stamps records and ages them, monotonic time measures waits."""

import time
from pathlib import Path
from typing import Protocol

from attrs import define

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """What the engine asks for the time."""

    def now_ms(self) -> int:
        """Wall time in milliseconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    @property
    def boot(self) -> str:
        """A name for the time since the machine was started, in which `monotonic` goes on from one process to the
        next; empty where that is not known."""


class SystemClock:
    """The machine's own clocks."""

    def __init__(self) -> None:
        self.boot = _boot_id()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    monotonic = staticmethod(time.monotonic)


@define
class ManualClock:
    """A clock that stands still until it is moved; for tests and simulations."""

    wall_ms: int = 1_700_000_000_000
    seconds: float = 0.0
    boot: str = ""

    def now_ms(self) -> int:
        return self.wall_ms

    def monotonic(self) -> float:
        return self.seconds

    def advance_ms(self, duration_ms: int) -> None:
        self.wall_ms += duration_ms
        self.seconds += duration_ms / 1000


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""
