"""A task's ways to wait: for a worker's job, for an answer that comes later."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import trio

from coordinators.deferred import Deferred
from engine.clock import Clock
from engine.errors import BrokerError
from engine.partition.partition import Partition
from engine.workers import Workers

T = TypeVar("T")
SETTLE_S = 10.0


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


async def result_of(answer: Deferred) -> Any:
    """Wait for an answer."""
    arrived = trio.Event()
    found: list[Any] = []

    def resolved(message: Any) -> None:
        found.append(message)
        arrived.set()

    answer.on_resolved(resolved)
    await arrived.wait()
    return found[0]


def raise_refusal(answer: Any) -> None:
    """Raise what was answered if it is a refusal."""
    if isinstance(answer, BrokerError):
        raise answer


async def until_durable(partition: Partition, offset: int, deadline: float) -> None:
    """Wait until the record at `offset` can be read; raises why it will not be, or not in time."""
    answer = Deferred()
    partition.when_durable(offset, deadline, answer.resolve)
    raise_refusal(await result_of(answer))


async def until_settled(partition: Partition, clock: Clock) -> None:
    """Wait until what is written to the partition now can be read, or will not be."""
    with suppress(BrokerError):
        await until_durable(partition, partition.log.end_offset - 1, clock.monotonic() + SETTLE_S)
