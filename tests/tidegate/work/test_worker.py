"""A worker as a program sees it, on both event loops and a real broker."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
import trio

from tests.tidegate.work.programs import broker as broker
from tests.tidegate.work.programs import prepare, send, working
from tidegate import testing
from tidegate.work import Job, JobLost, JobSettled, WorkError, worker

Run = Callable[[Callable[[], Awaitable[None]]], None]
VALUES = [b"%d" % number for number in range(30)]


@pytest.fixture(params=["trio", "asyncio"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs an async function on one of the two."""

    def on_trio(program: Callable[[], Awaitable[None]]) -> None:
        async def bounded() -> None:
            with trio.fail_after(30):
                await program()

        trio.run(bounded)

    def on_asyncio(program: Callable[[], Awaitable[None]]) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(30):
                await program()

        asyncio.run(bounded())

    return on_trio if request.param == "trio" else on_asyncio


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return f"{request.function.__name__}-{uuid.uuid4().hex[:8]}"


async def pause() -> None:
    """A moment, whichever loop runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        await trio.sleep(0.05)
    else:
        await asyncio.sleep(0.05)


def test_a_job_waits_as_long_as_its_worker_says(broker: testing.RunningBroker, run: Run, name: str) -> None:
    prepare(broker.bootstrap, name, VALUES[:2])
    seen: list[tuple[int, int]] = []
    times: dict[int, float] = {}

    async def program() -> None:
        async with working(broker, name) as jobs:
            async for job in jobs:
                seen.append((job.offset, job.delivery_count))
                if job.delivery_count > 1:
                    times[job.offset] = time.monotonic() - times[job.offset]
                    await job.ack()
                else:
                    times[job.offset] = time.monotonic()
                    with pytest.raises(ValueError, match="a delay of -1"):
                        await job.release(-1)
                    await job.release(0.0 if job.offset else 1.5)
                if len(seen) == 4:
                    break

    run(program)
    assert sorted(seen) == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert times[0] >= 1.5


def test_jobs_are_accepted_released_and_rejected(broker: testing.RunningBroker, run: Run, name: str) -> None:
    prepare(broker.bootstrap, name, VALUES)
    seen: list[tuple[int, int]] = []

    async def program() -> None:
        async with working(broker, name) as jobs:
            async for job in jobs:
                seen.append((job.offset, job.delivery_count))
                assert (job.topic, job.key, job.value, job.headers) == (
                    name,
                    b"key",
                    VALUES[job.offset],
                    (("from", b"test"),),
                )
                assert job.timestamp.timestamp() * 1000 == pytest.approx(job.timestamp_ms)
                if job.offset % 10 == 3 and job.delivery_count == 1:
                    await job.release()
                elif job.offset % 10 == 5:
                    await job.reject()
                else:
                    await job.ack()
                    with pytest.raises(JobSettled):
                        await job.release()
                if len(seen) == 33:
                    break

    run(program)
    assert sorted(seen) == sorted([(offset, 1) for offset in range(30)] + [(3, 2), (13, 2), (23, 2)])


def test_blocks_of_jobs_settle_them(broker: testing.RunningBroker, run: Run, name: str) -> None:
    """Done at the end of the block, released if it raises; and what is in hand at the end of the worker comes again."""
    prepare(broker.bootstrap, name, VALUES[:3])
    seen: list[tuple[int, int]] = []

    async def handle(job: Job) -> None:
        async with job:
            if (job.offset, job.delivery_count) == (1, 1):
                raise ValueError("not today")

    async def program() -> None:
        async with working(broker, name) as jobs:
            async for job in jobs:
                if job.offset == 2:
                    break
                seen.append((job.offset, job.delivery_count))
                with suppress(ValueError):
                    await handle(job)
        async for job in working(broker, name):
            again[job.offset] = job.delivery_count
            await job.ack()
            if len(again) == 2:
                break

    again: dict[int, int] = {}
    run(program)
    assert seen[:2] == [(0, 1), (1, 1)]
    assert set(again) == {1, 2}
    assert min(again.values()) >= 2


def test_a_lock_is_renewed_for_as_long_as_the_job_takes(broker: testing.RunningBroker, run: Run, name: str) -> None:
    prepare(broker.bootstrap, name, VALUES[:1], share_record_lock_duration_ms=1000)

    async def program() -> None:
        async with working(broker, name) as jobs:
            job = await anext(jobs)
            async with working(broker, name) as others:
                for _ in range(40):
                    await pause()
                others.stop()
                assert [each.offset async for each in others] == []
            await job.ack()

    run(program)


def test_a_worker_that_is_stopped_ends_its_loop_and_lets_jobs_be_finished(
    broker: testing.RunningBroker, run: Run, name: str
) -> None:
    prepare(broker.bootstrap, name, VALUES)
    held: list[Job] = []

    async def program() -> None:
        async with working(broker, name, max_in_flight=2, finish_s=5) as jobs:
            async for job in jobs:
                held.append(job)
                if len(held) == 2:
                    jobs.stop()
            for job in held:
                await job.ack()
        async with working(broker, name) as rest:
            async for job in rest:
                assert (job.offset, job.delivery_count) == (2, 1)
                break

    run(program)


@pytest.mark.slow
def test_the_broker_is_killed_and_comes_back(run: Run, name: str) -> None:
    """Nothing is lost, and nothing that was known to be accepted comes again."""
    accepted: set[int] = set()
    twice: list[int] = []

    keys = {"group.share.heartbeat.interval.ms": "500", "group.share.min.heartbeat.interval.ms": "100"}
    with testing.broker(keys, timeout_s=60) as broker:
        prepare(broker.bootstrap, name, VALUES)

        async def program() -> None:
            async with working(broker, name) as jobs:
                async for job in jobs:
                    if len(accepted) == 10 and not broker_restarted:
                        broker.kill()
                        broker.restart()
                        broker_restarted.append(True)
                        send(broker.bootstrap, name, [b"later"])
                    try:
                        await job.ack()
                    except JobLost:
                        continue
                    if job.offset in accepted:
                        twice.append(job.offset)
                    accepted.add(job.offset)
                    if len(accepted) == 31:
                        break

        broker_restarted: list[bool] = []
        run(program)
    assert (accepted, twice) == (set(range(31)), [])


def test_a_group_of_another_kind_is_refused(broker: testing.RunningBroker, run: Run, name: str) -> None:
    from confluent_kafka import Consumer, TopicPartition

    prepare(broker.bootstrap, name, VALUES[:1])
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": f"{name}-classic"})
    consumer.commit(offsets=[TopicPartition(name, 0, 1)], asynchronous=False)
    consumer.close()

    async def program() -> None:
        jobs = worker(name, group=f"{name}-classic", bootstrap=broker.bootstrap)
        with pytest.raises(WorkError, match="error 69"):
            await anext(jobs)

    run(program)


@pytest.mark.parametrize(
    ("topics", "options"),
    [
        ((), {"group": "g"}),
        (("t",), {"group": ""}),
        (("t",), {"group": "g", "max_in_flight": 0}),
        (("t",), {"group": "g", "bootstrap": "host:port"}),
    ],
)
def test_what_cannot_be_meant_is_refused(topics: tuple[str, ...], options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        worker(*topics, **options)


def test_addresses() -> None:
    assert worker("t", group="g", bootstrap="a:1, b,[::1]:3").bootstrap == (("a", 1), ("b", 9092), ("::1", 3))
