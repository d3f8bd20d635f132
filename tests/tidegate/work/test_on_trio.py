"""The driver for trio: cancellation, and brokers that are not there."""

import logging
import uuid

import pytest
import trio

from tests.tidegate.work.programs import broker as broker
from tests.tidegate.work.programs import prepare, working
from tidegate import testing
from tidegate.work import worker


def test_a_cancelled_worker_gives_back_what_it_has(broker: testing.RunningBroker) -> None:
    name = uuid.uuid4().hex
    prepare(broker.bootstrap, name, [b"1"])

    async def program() -> None:
        with trio.move_on_after(15) as scope:
            async with working(broker, name) as jobs:
                async for _ in jobs:
                    scope.cancel()
                    await trio.sleep_forever()
        with trio.fail_after(15):
            async for job in working(broker, name):
                assert job.delivery_count == 2
                break

    trio.run(program)


def test_a_broker_that_is_not_there_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    async def program() -> None:
        with trio.move_on_after(0.5) as scope:
            async with worker("t", group="g", bootstrap="127.0.0.1:1") as jobs:
                async for _ in jobs:
                    raise AssertionError("no job was to come")
        assert scope.cancelled_caught

    with caplog.at_level(logging.WARNING, "tidegate.work"):
        trio.run(program)
    assert "127.0.0.1:1" in caplog.text
