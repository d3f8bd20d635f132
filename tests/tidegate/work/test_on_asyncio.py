"""The driver for asyncio: cancellation, and brokers that are not there."""

import asyncio
import logging
import uuid

import pytest

from tests.tidegate.work.programs import broker as broker
from tests.tidegate.work.programs import prepare, working
from tidegate import testing
from tidegate.work import worker


def test_a_cancelled_worker_gives_back_what_it_has(broker: testing.RunningBroker) -> None:
    name = uuid.uuid4().hex
    prepare(broker.bootstrap, name, [b"1"])

    async def hold(has: asyncio.Event) -> None:
        async with working(broker, name) as jobs:
            async for _ in jobs:
                has.set()
                await asyncio.get_running_loop().create_future()

    async def program() -> None:
        async with asyncio.timeout(20):
            has = asyncio.Event()
            task = asyncio.create_task(hold(has))
            await has.wait()
            task.cancel()
            await asyncio.wait([task])
            async for job in working(broker, name):
                assert job.delivery_count == 2
                break

    asyncio.run(program())


def test_a_broker_that_is_not_there_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    async def program() -> None:
        async with worker("t", group="g", bootstrap="127.0.0.1:1") as jobs:
            async for _ in jobs:
                raise AssertionError("no job was to come")

    with caplog.at_level(logging.WARNING, "tidegate.work"), pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(program(), 0.5))
    assert "127.0.0.1:1" in caplog.text
