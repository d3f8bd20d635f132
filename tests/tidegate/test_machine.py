"""This machine as a node's world."""

import logging
import threading
from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from coordinators.waiting import in_worker
from engine.files.files import OsFiles
from tidegate.config import BrokerConfig
from tidegate.machine import dial, machine


@trio_test
async def test_what_threads_have_finished_comes_back_to_the_loop(tmp_path: Path) -> None:
    with machine(BrokerConfig.load().settings, tmp_path, OsFiles()) as here:
        async with trio.open_nursery() as nursery:
            scope = trio.CancelScope()
            nursery.start_soon(here.deliver_outcomes, scope)
            for workers in (here.world.workers, here.world.sync_workers, here.world.cleaner_workers):
                assert await in_worker(workers, threading.get_ident) != threading.get_ident()
            scope.cancel()


def test_the_journal_is_written_only_where_it_is_wanted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tidegate")
    config = BrokerConfig.load(values={"log.journal.enable": "false"})
    with machine(config.settings, tmp_path, OsFiles()) as here:
        assert here.world.journal_device is None
    assert "records are made durable by syncing their files" in caplog.text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@trio_test
async def test_a_port_where_nobody_listens_refuses(host: str) -> None:
    with trio.socket.socket() as bound:
        await bound.bind(("127.0.0.1", 0))
        with pytest.raises(ConnectionRefusedError):
            await dial(host, bound.getsockname()[1])


@trio_test
async def test_other_trouble_is_no_refusal() -> None:
    with pytest.raises(OSError, match=r"not known|resolution|No address") as told:
        await dial("nobody.invalid", 1)
    assert not isinstance(told.value, ConnectionRefusedError)
