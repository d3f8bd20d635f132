"""Where in its life the broker is, and what it tells of itself."""

from collections.abc import Callable
from enum import Enum

from attrs import define, field

from engine.clock import Clock


class Phase(Enum):
    """From the start of the process to its end."""

    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"


@define(eq=False)
class Life:
    """This broker's, from when it was composed. `addresses` are where Kafka's clients are told to connect."""

    clock: Clock
    version: Callable[[], str]
    addresses: tuple[tuple[str, int], ...]
    connection_count: Callable[[], int]
    """Of Kafka's clients."""
    phase: Phase = field(default=Phase.STARTING, init=False)
    started_ms: int = field(init=False)
    _started_s: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.started_ms, self._started_s = self.clock.now_ms(), self.clock.monotonic()

    @property
    def uptime_s(self) -> float:
        """By the steady clock: the wall clock may be set while the broker runs."""
        return self.clock.monotonic() - self._started_s
