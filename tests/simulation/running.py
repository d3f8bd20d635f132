"""Runs a piece of a simulation for a test: by a clock that jumps, with its tasks always in the same order."""

import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import trio
import trio.testing


@contextmanager
def deterministic(seed: float) -> Iterator[None]:
    """Trio shuffles tasks that are ready together: by a chance of ours."""
    inside = trio._core._run  # type: ignore[attr-defined]
    before = inside._ALLOW_DETERMINISTIC_SCHEDULING, inside._r
    inside._ALLOW_DETERMINISTIC_SCHEDULING, inside._r = True, random.Random(seed)
    try:
        yield
    finally:
        inside._ALLOW_DETERMINISTIC_SCHEDULING, inside._r = before


def run_simulated(program: Callable[..., Awaitable[object]], *arguments: object) -> None:
    """To its end, without any time passing outside."""
    with deterministic(1):
        trio.run(program, *arguments, clock=trio.testing.MockClock(autojump_threshold=0))
