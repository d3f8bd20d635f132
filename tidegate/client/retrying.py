"""What is tried again, how long after, and until when."""

import random
from collections.abc import Callable
from typing import Any

import grpc
from attrs import define, field

PASSING = (grpc.StatusCode.UNAVAILABLE,)
"""The broker starts, stops or is gone, leaders move: another try may do."""
REJOINING = (*PASSING, grpc.StatusCode.ABORTED)
"""A member of a group that is not known any more joins anew."""


class ClientError(Exception):
    """A call that failed for good. `status` is gRPC's, `error` the broker's name for the reason, if it gave one."""

    def __init__(self, message: str, status: grpc.StatusCode | None = None, error: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.error = error


def client_error(error: grpc.RpcError) -> ClientError:
    """What gRPC says, as the client says it."""
    metadata: Any = error.trailing_metadata() or ()
    name = next((str(value) for key, value in metadata if key == "tidegate-error"), "")
    details = error.details() or str(error.code())
    return ClientError(f"{name}: {details}" if name else details, error.code(), name)


@define(eq=False)
class Backoff:
    """Pauses that double, up to a longest, with some chance in them; until a deadline, which success puts off."""

    deadline_s: float
    now: Callable[[], float]
    first_s: float = 0.05
    longest_s: float = 2.0
    chance: Callable[[], float] = random.random
    _tries: int = field(default=0, init=False)
    _since: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._since = self.now()

    def succeeded(self) -> None:
        """Begin anew."""
        self._tries, self._since = 0, self.now()

    @property
    def left_s(self) -> float:
        """Until the deadline."""
        return max(0.0, self._since + self.deadline_s - self.now())

    def pause_s(self) -> float | None:
        """How long to wait before the next try; None if there is to be none."""
        pause = min(self.first_s * 2.0**self._tries, self.longest_s) * (0.5 + self.chance() / 2)
        self._tries += 1
        return pause if pause < self.left_s else None
