"""Drives a worker on asyncio."""

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from typing import Any

from attrs import define, field

from tidegate.work.core import Act, Address, WorkCore
from tidegate.work.job import WorkError

CONNECT_S = 10.0
RECEIVE_BYTES = 256 * 1024


@define(eq=False)
class AsyncioDriver:
    """See the module. `changed` is called when there may be a job, or the end."""

    core: WorkCore
    tls: ssl.SSLContext | None
    changed: Callable[[], None]
    _writers: dict[Address, asyncio.StreamWriter] = field(factory=dict, init=False)
    _tasks: set["asyncio.Task[None]"] = field(factory=set, init=False)
    _woken: asyncio.Event = field(factory=asyncio.Event, init=False)

    @staticmethod
    def event() -> asyncio.Event:
        """Something to wait for."""
        return asyncio.Event()

    @staticmethod
    def now() -> float:
        """The loop's time."""
        return asyncio.get_running_loop().time()

    @staticmethod
    async def wait(event: asyncio.Event, seconds: float) -> bool:
        """Wait so long at most; whether it came."""
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return False
        return True

    def start(self) -> None:
        self._spawn(self._run())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self) -> None:
        try:
            while not self.core.has_ended:
                self.core.tick(self.now())
                self._carry_out()
                await self.wait(self._woken, max(self.core.wake_at() - self.now(), 0))
                self._woken = asyncio.Event()
        except Exception as error:  # a bug of ours, which must reach the one who waits for jobs
            self.core.fail(WorkError(f"the worker has failed: {error!r}"))
        finally:
            self.core.fail(WorkError("the event loop has ended"))
            for writer in self._writers.values():
                writer.close()
            self.changed()

    def poke(self) -> None:
        """Carry out what the core wants, and when to wake it is reckoned anew."""
        self._carry_out()
        self._woken.set()

    def _carry_out(self) -> None:
        for command in self.core.take_commands():
            if command.act is Act.CONNECT:
                self._spawn(self._talk(command.address))
            elif command.act is Act.SEND and command.address in self._writers:
                # What is sent is small, and one thing at a time: the buffer does not grow.
                self._writers[command.address].write(command.data)
            elif command.act is Act.HANG_UP and command.address in self._writers:
                self._writers.pop(command.address).close()
        if self.core.ready or self.core.has_ended or self.core.is_stopping:
            self.changed()

    async def _talk(self, address: Address) -> None:
        reason = "the connection is gone"
        writer = None
        try:
            async with asyncio.timeout(CONNECT_S):
                reader, writer = await asyncio.open_connection(*address, ssl=self.tls, limit=RECEIVE_BYTES)
            self._writers[address] = writer
            self.core.connected(address, self.now())
            self.poke()
            while data := await reader.read(RECEIVE_BYTES):
                self.core.received(address, data, self.now())
                self.poke()
        except OSError as error:
            reason = str(error) or type(error).__name__
        except Exception as error:
            self.core.fail(WorkError(f"the worker has failed: {error!r}"))
        if writer is not None:
            writer.close()
        if writer is None or self._writers.get(address) is writer:
            self._writers.pop(address, None)
            self.core.lost(address, reason, self.now())
        self.poke()
