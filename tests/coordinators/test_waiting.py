"""A task waits for a worker's job, gets what it returned or raised, and may be cancelled while the job goes on."""

import pytest
import trio
from trio.testing import trio_test, wait_all_tasks_blocked

from coordinators.waiting import in_worker
from engine.workers import InlineWorkers


@trio_test
async def test_the_result_of_the_job_comes_back() -> None:
    assert await in_worker(InlineWorkers(), lambda first, second: first + second, 1, 2) == 3


@trio_test
async def test_what_the_job_raised_is_raised() -> None:
    def fail() -> None:
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        await in_worker(InlineWorkers(), fail)


@trio_test
async def test_a_job_runs_to_its_end_although_nobody_waits_any_more() -> None:
    workers = InlineWorkers(hold=True)
    ran: list[bool] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(in_worker, workers, ran.append, True)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert ran == []
    workers.run_held()
    assert ran == [True]
