"""A task's ways to wait: for a worker's job, for a value that comes later, for others to have their turn."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

import trio

from engine.clock import Clock
from engine.deferred import Deferred
from engine.errors import BrokerError, fresh
from engine.partition.durable_log import DurableLog
from engine.workers import Workers

T = TypeVar("T")
SETTLE_S = 10.0
SLICE = 200
"""How many items, a microsecond or a few each, are worked through in one go."""


async def in_worker(workers: Workers, function: Callable[..., T], *arguments: Any) -> T:
    """Run what blocks in a worker thread and wait for it; if the task is cancelled the job still runs to its end."""
    outcome: list[Any] = []
    finished = trio.Event()

    def done(result: Any, error: BaseException | None) -> None:
        outcome.extend((result, error))
        finished.set()

    workers.submit(lambda: function(*arguments), done)
    await finished.wait()
    result, error = outcome
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]


async def result_of(deferred: Deferred[T]) -> T:
    """Wait for a value; raises what it was refused with."""
    arrived = trio.Event()
    found: list[T] = []

    def arrive(_: object) -> None:
        arrived.set()

    deferred.when_settled(arrive, arrive, arrive)
    await arrived.wait()
    deferred.when_settled(found.append, _raise_refusal)
    return found[0]


def _raise_refusal(error: BrokerError) -> NoReturn:
    # A copy: with a traceback, the one that is kept would hold the frames that it passed.
    raise fresh(error)


async def until_durable(log: DurableLog, offset: int, deadline: float) -> None:
    """Wait until the record at `offset` can be read; raises why it will not be, or not in time."""
    await result_of(log.durability_of(offset, deadline))


async def until_settled(log: DurableLog, clock: Clock) -> None:
    """Wait until what is written to the log now can be read, or will not be."""
    with suppress(BrokerError):
        await until_durable(log, log.log.end_offset - 1, clock.monotonic() + SETTLE_S)


class Breathing:
    """Long work on the loop counts what it has done here; when a slice is full, others have their turn."""

    __slots__ = ("_done", "_slice")

    def __init__(self, slice_size: int = SLICE) -> None:
        self._done = 0
        self._slice = slice_size

    async def did(self, items: int = 1) -> None:
        """That many items were worked through."""
        self._done += items
        if self._done >= self._slice:
            self._done = 0
            await trio.lowlevel.checkpoint()
