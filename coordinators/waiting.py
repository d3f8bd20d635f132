"""A task's way to wait for a worker's job."""

from collections.abc import Callable
from typing import Any, TypeVar

import trio

from engine.workers import Workers

T = TypeVar("T")


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
