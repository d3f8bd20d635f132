"""A task waits for a worker's job, gets what it returned or raised, and may be cancelled while the job goes on."""

import math

import pytest
import trio
from trio.testing import trio_test, wait_all_tasks_blocked

from coordinators.waiting import SETTLE_S, Breathing, in_worker, result_of, until_durable, until_settled
from engine.clock import ManualClock
from engine.deferred import Deferred
from engine.errors import MemberIdRequired, RequestTimedOut
from engine.partition.partition import Partition
from engine.partition.sync import SyncRounds
from engine.workers import InlineWorkers
from tests.engine.logs import batch, memory_files, open_log


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


@trio_test
async def test_a_task_waits_until_a_record_is_durable_or_is_told_why_not() -> None:
    workers = InlineWorkers(hold=True)
    rounds = SyncRounds(workers, lambda: None)
    partition = Partition(b"\1" * 16, 0, open_log(memory_files()), rounds)
    partition.write(batch())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(until_durable, partition, 0, math.inf)
        await wait_all_tasks_blocked()
        assert partition.statistics()["waiters"] == 1
        rounds.start_round()
        workers.run_held()
    partition.write(batch())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_refused, partition)
        await wait_all_tasks_blocked()
        partition.expire_waiters(6.0, RequestTimedOut("late"))


async def _refused(partition: Partition) -> None:
    with pytest.raises(RequestTimedOut, match="late"):
        await until_durable(partition, 1, 5.0)


@trio_test
async def test_waiting_until_settled_ends_with_the_sync_and_raises_nothing() -> None:
    workers = InlineWorkers(hold=True)
    rounds = SyncRounds(workers, lambda: None)
    partition = Partition(b"\1" * 16, 0, open_log(memory_files()), rounds)
    partition.write(batch())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(until_settled, partition, ManualClock())
        await wait_all_tasks_blocked()
        rounds.start_round()
        workers.run_held()
    assert partition.high_watermark.offset == 1
    partition.write(batch())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(until_settled, partition, ManualClock())
        await wait_all_tasks_blocked()
        partition.expire_waiters(SETTLE_S + 1, RequestTimedOut("late"))


@trio_test
async def test_a_task_gets_the_value_that_comes_later_or_the_refusal_raised() -> None:
    value, refused, found = Deferred[int](), Deferred[int](), list[int]()

    async def wait() -> None:
        found.append(await result_of(value))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        value.resolve(7)
    refused.refuse(MemberIdRequired("join again", member_id="m"))
    with pytest.raises(MemberIdRequired, match="join again") as raised:
        await result_of(refused)
    assert (found, raised.value.member_id) == ([7], "m")
    assert refused.refusal is not None
    assert refused.refusal.__traceback__ is None


@trio_test
async def test_others_run_after_every_slice() -> None:
    turns: list[str] = []

    async def other() -> None:
        for _ in range(3):
            turns.append("other")
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        breathing = Breathing(2)
        for number in range(20):
            turns.append(str(number))
            await breathing.did()
    assert turns[:2] == ["0", "1"], "a slice is worked through in one go"
    assert turns[: turns.index("19")].count("other") == 3


@trio_test
async def test_one_large_step_counts_for_many() -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        await Breathing(100).did(100)
    assert scope.cancelled_caught
