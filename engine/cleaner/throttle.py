"""Long work in a thread that leaves the event loop its share of the interpreter.

A thread that computes takes the interpreter from the loop for a switch interval each time the loop waits for
anything. So the work rests after every millisecond, and while it rests the loop runs undisturbed: what one request
loses is about one stretch of work.
"""

from collections.abc import Callable

from attrs import define, field

WORK_S = 0.001
REST_S = 0.001


class Stopped(Exception):
    """The work is no longer wanted."""


@define(eq=False)
class Throttle:
    """[thread] `step` is called often: it rests when it is time to, and raises `Stopped` when told to stop."""

    monotonic: Callable[[], float]
    sleep: Callable[[float], object]
    is_stopped: Callable[[], bool] = lambda: False
    work_s: float = WORK_S
    rest_s: float = REST_S
    _began: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._began = self.monotonic()

    def step(self) -> None:
        if self.monotonic() - self._began >= self.work_s:
            if self.is_stopped():
                raise Stopped
            self.sleep(self.rest_s)
            self._began = self.monotonic()
