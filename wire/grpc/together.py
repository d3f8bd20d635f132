"""Several tasks of one call: what goes wrong in one of them is what goes wrong with the call."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def together() -> AsyncIterator[trio.Nursery]:
    """A nursery whose first failure is raised as it is, out of the groups that nurseries make."""
    try:
        async with trio.open_nursery() as nursery:
            yield nursery
    except BaseExceptionGroup as group:
        raise _first(group) from None


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What went wrong first; that others were cancelled for it only if there is nothing else."""
    leaves = list(_leaves(group))
    return next((leaf for leaf in leaves if not isinstance(leaf, trio.Cancelled)), leaves[0])


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for each in error.exceptions for leaf in _leaves(each)]
