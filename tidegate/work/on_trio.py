"""Drives a worker on trio. Its tasks are system tasks: a worker lives in a plain `async for` too, where there is no
nursery that could hold them."""

import ssl
from collections.abc import Callable

import trio
from attrs import define, field

from tidegate.work.core import Act, Address, WorkCore
from tidegate.work.job import WorkError

CONNECT_S = 10.0
RECEIVE_BYTES = 256 * 1024


@define(eq=False)
class _Line:
    """A connection: what ends it, and what it is to send."""

    scope: trio.CancelScope
    to_send: trio.MemorySendChannel[bytes]


@define(eq=False)
class TrioDriver:
    """See the module. `changed` is called when there may be a job, or the end."""

    core: WorkCore
    tls: ssl.SSLContext | None
    changed: Callable[[], None]
    _lines: dict[Address, _Line] = field(factory=dict, init=False)
    _nursery: trio.Nursery | None = field(default=None, init=False)
    _woken: trio.Event = field(factory=trio.Event, init=False)

    @staticmethod
    def event() -> trio.Event:
        """Something to wait for."""
        return trio.Event()

    @staticmethod
    def now() -> float:
        """The loop's time."""
        return trio.current_time()

    @staticmethod
    async def wait(event: trio.Event, seconds: float) -> bool:
        """Wait so long at most, whoever cancels; whether it came."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + seconds):
            await event.wait()
            return True
        return False

    def start(self) -> None:
        trio.lowlevel.spawn_system_task(self._run, name="tidegate.work")

    async def _run(self) -> None:
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                while not self.core.has_ended:
                    self.core.tick(self.now())
                    self._carry_out()
                    with trio.CancelScope(deadline=self.core.wake_at()):
                        await self._woken.wait()
                    self._woken = trio.Event()
                nursery.cancel_scope.cancel()
        except Exception as error:  # a bug of ours, which must reach the one who waits for jobs
            self.core.fail(WorkError(f"the worker has failed: {error!r}"))
        finally:
            self._nursery = None
            self.core.fail(WorkError("the event loop has ended"))
            self.changed()

    def poke(self) -> None:
        """Carry out what the core wants, and when to wake it is reckoned anew."""
        self._carry_out()
        self._woken.set()

    def _carry_out(self) -> None:
        for command in self.core.take_commands():
            if command.act is Act.CONNECT and self._nursery is not None:
                self._nursery.start_soon(self._talk, command.address)
            elif command.act is Act.SEND and command.address in self._lines:
                self._lines[command.address].to_send.send_nowait(command.data)
            elif command.act is Act.HANG_UP and command.address in self._lines:
                self._lines.pop(command.address).scope.cancel()
        if self.core.ready or self.core.has_ended or self.core.is_stopping:
            self.changed()

    async def _talk(self, address: Address) -> None:
        reason = "the connection is gone"
        to_send, sent = trio.open_memory_channel[bytes](float("inf"))
        line = _Line(trio.CancelScope(), to_send)
        with line.scope:
            try:
                stream = await self._connected(address)
                async with stream, trio.open_nursery() as nursery:
                    self._lines[address] = line
                    self.core.connected(address, self.now())
                    nursery.start_soon(_send, stream, sent)
                    self.poke()
                    while data := await stream.receive_some(RECEIVE_BYTES):
                        self.core.received(address, bytes(data), self.now())
                        self.poke()
                    nursery.cancel_scope.cancel()
            except* (OSError, trio.BrokenResourceError, trio.TooSlowError) as group:
                reason = str(group.exceptions[0]) or type(group.exceptions[0]).__name__
        if not line.scope.cancel_called:
            self._lines.pop(address, None)
            self.core.lost(address, reason, self.now())
            self.poke()

    async def _connected(self, address: Address) -> trio.abc.Stream:
        with trio.fail_after(CONNECT_S):
            stream = await trio.open_tcp_stream(*address)
            if self.tls is None:
                return stream
            secured = trio.SSLStream(stream, self.tls, server_hostname=address[0], https_compatible=True)
            await secured.do_handshake()
            return secured


async def _send(stream: trio.abc.Stream, sent: trio.MemoryReceiveChannel[bytes]) -> None:
    async for data in sent:
        await stream.send_all(data)
