"""The worker as a program sees it: an iterator of jobs, whichever event loop runs."""

import asyncio
import ssl
import uuid
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

from attrs import define, field

from tidegate import _version
from tidegate.work.core import Address, WorkCore
from tidegate.work.credentials import Credentials
from tidegate.work.job import Job, Settlement, WorkError
from tidegate.work.membership import WorkerMember

DEFAULT_PORT = 9092
CLOSE_S = 5.0
"""How long a worker that ends waits for the brokers to take note."""
LOOK_AGAIN_S = 0.05


@define(eq=False)
class _Running:
    """What runs behind a worker. Knows nothing of the worker itself, so that one that is forgotten is found out."""

    core: WorkCore = field(init=False)
    driver: Any = field(default=None, init=False)
    changed: Any = field(default=None, init=False)

    def start(self, core: WorkCore, tls: ssl.SSLContext | None) -> None:
        self.core = core
        self.driver = _driver_class()(core, tls, self._note_change)
        self.changed = self.driver.event()
        self.driver.start()

    def _note_change(self) -> None:
        self.changed.set()
        self.changed = self.driver.event()

    def stop(self) -> None:
        self.core.stop(self.driver.now())
        self.driver.poke()

    def release_rest(self) -> None:
        if not self.core.has_ended:
            self.core.release_rest(self.driver.now())
            self.driver.poke()

    async def next(self) -> Job | None:
        """The next job; None when the worker has been stopped."""
        while True:
            if self.core.ready:
                return self.core.ready.popleft()
            if self.core.is_stopping:
                return None
            if self.core.failure is not None:
                raise self.core.failure
            await self.changed.wait()

    async def wait_while(self, condition: Callable[[], object], seconds: float) -> None:
        """Until it does not hold any more, or the worker has ended, or the time is over."""
        deadline = self.driver.now() + seconds
        while condition() and not self.core.has_ended and (left := deadline - self.driver.now()) > 0:
            await self.driver.wait(self.changed, min(left, LOOK_AGAIN_S))

    async def settle(self, job: Job, settlement: Settlement) -> None:
        done = self.driver.event()
        outcome: list[Exception | None] = []

        def note(error: Exception | None) -> None:
            outcome.append(error)
            done.set()

        self.core.note(job, settlement, note, self.driver.now())
        self.driver.poke()
        await done.wait()
        if outcome[0] is not None:
            raise outcome[0]


@define(eq=False)
class Worker:
    """A member of a share group: `async with` it, and iterate over its jobs.

    A plain `async for` begins the work too. One that is left before its end has no place to wait in for jobs to be
    given back: that is done in the background then, once nobody has the worker any more.
    """

    topics: tuple[str, ...]
    group: str
    bootstrap: tuple[Address, ...]
    max_in_flight: int
    finish_s: float
    tls: ssl.SSLContext | None
    credentials: Credentials | None = None
    _running: _Running | None = field(default=None, init=False)

    # -- life

    def _start(self) -> _Running:
        if self._running is None:
            self._running = running = _Running()
            member = WorkerMember(self.group, str(uuid.uuid4()), self.topics)
            options = (self.max_in_flight, _version(), self.credentials)
            running.start(WorkCore(self.bootstrap, member, running.settle, *options), self.tls)
        return self._running

    async def __aenter__(self) -> "Worker":
        if self._running is not None:
            raise WorkError("a worker lives once")
        self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        if self._running is not None and self._running.driver is not None and not self._running.core.has_ended:
            with suppress(RuntimeError):  # the event loop has ended before
                self._running.stop()
                self._running.release_rest()

    @property
    def is_assigned(self) -> bool:
        """Whether the group has taken it in and given it partitions to work on."""
        return self._running is not None and bool(self._running.core.membership.assigned)

    def stop(self) -> None:
        """Take no more jobs: the iteration ends, and what is in hand can still be settled."""
        self._start().stop()

    async def close(self) -> None:
        """Stop, wait `finish_s` for jobs that other tasks have in hand, release the rest, and leave the group."""
        running = self._start()
        running.stop()
        core = running.core
        await running.wait_while(lambda: core.in_hand, self.finish_s)
        running.release_rest()
        await running.wait_while(lambda: True, CLOSE_S)
        core.fail(WorkError("the worker has ended"))
        running.driver.poke()

    # -- jobs

    def __aiter__(self) -> "Worker":
        return self

    async def __anext__(self) -> Job:
        job = await self._start().next()
        if job is None:
            raise StopAsyncIteration
        return job


def worker(
    *topics: str,
    group: str,
    bootstrap: str = f"127.0.0.1:{DEFAULT_PORT}",
    max_in_flight: int = 10,
    finish_s: float = 0.0,
    tls: ssl.SSLContext | None = None,
    credentials: Credentials | None = None,
) -> Worker:
    """A worker on these topics: at most `max_in_flight` jobs are lent to it at once.

    `bootstrap` names some brokers, as Kafka's clients have it: "host:port,host:port". `credentials` are for listeners
    with SASL.
    """
    if not topics or not group:
        raise ValueError("a worker needs a topic and a group")
    if max_in_flight < 1:
        raise ValueError(f"max_in_flight is {max_in_flight}: it takes at least 1")
    return Worker(topics, group, tuple(map(_address, bootstrap.split(","))), max_in_flight, finish_s, tls, credentials)


def _address(text: str) -> Address:
    host, _, port = text.strip().rpartition(":")
    if not host:
        return text.strip(), DEFAULT_PORT
    if not port.isdecimal():
        raise ValueError(f"{text!r} is not the address of a broker, like host:9092")
    return host.strip("[]"), int(port)


def _driver_class() -> Any:
    """That of the event loop that runs here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        from tidegate.work.on_trio import TrioDriver

        return TrioDriver
    from tidegate.work.on_asyncio import AsyncioDriver

    return AsyncioDriver
