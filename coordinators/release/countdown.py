"""Waiting for several things at once: the first error of theirs counts."""

from collections.abc import Callable

from attrs import define

from engine.errors import BrokerError

Done = Callable[[BrokerError | None], object]


@define(eq=False)
class Countdown:
    """Calls back when as many have reported as were added."""

    done: Done
    count: int = 1
    error: BrokerError | None = None

    def add(self) -> None:
        self.count += 1

    def failed(self, error: BrokerError) -> None:
        self.error = error

    def one_done(self, error: BrokerError | None) -> None:
        self.error = self.error or error
        self.count -= 1
        if self.count == 0:
            self.done(self.error)
