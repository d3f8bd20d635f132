"""The world of a node that runs for real: the machine's clocks, files and threads, and the kernel that syncs for us."""

import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import SystemRandom

import trio

from engine.clock import SystemClock
from engine.config.resolve import BrokerSettings
from engine.files.files import OsFiles
from engine.files.kernel_sync import KernelSync, open_kernel_sync
from engine.files.system_kind import FileSystemKind, file_system_kind
from engine.files.system_sync import FileSystemSync, is_available
from engine.journal.device import DirectDevice
from engine.partition.sync import RoundSync
from engine.workers import ThreadWorkers
from tidegate.world import World

logger = logging.getLogger("tidegate")

WORKER_THREADS = 4
CATALOGUE_THREADS = 2
LARGEST_JOURNALED_ROUND = 4 * 1024 * 1024


class MachineWorld:
    """The world, and the task that brings what its threads have finished back to the loop."""

    def __init__(
        self, world: World, outcomes: int, pools: tuple[ThreadWorkers, ...], kernel: KernelSync | None
    ) -> None:
        self.world = world
        self._outcomes = outcomes
        self._pools = pools
        self._kernel = kernel

    async def deliver_outcomes(self, scope: trio.CancelScope) -> None:
        """Call back for jobs that threads or the kernel have finished, until the scope is cancelled."""
        with scope:
            while True:
                await trio.lowlevel.wait_readable(self._outcomes)
                os.eventfd_read(self._outcomes)
                if self._kernel is not None:
                    self._kernel.deliver()
                for pool in self._pools:
                    pool.deliver()


async def dial(host: str, port: int) -> trio.SocketStream:
    """A connection whose small messages are not kept back; `ConnectionRefusedError` if nobody listens there."""
    try:
        stream = await trio.open_tcp_stream(host, port)
    except OSError as error:
        # A host may have several addresses: why each of them failed stands in what caused the error.
        cause = error.__cause__
        tried = cause.exceptions if isinstance(cause, BaseExceptionGroup) else (cause,)
        if all(isinstance(each, ConnectionRefusedError) for each in tried):
            raise ConnectionRefusedError(f"nobody listens at {host}:{port}") from None
        raise
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream


@contextmanager
def machine(settings: BrokerSettings, data_dir: Path, files: OsFiles) -> Iterator[MachineWorld]:
    """This machine, for a node whose data lies in `data_dir`; its threads end with the block."""
    clock = SystemClock()
    with ExitStack() as stack:
        outcomes = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        stack.callback(os.close, outcomes)

        def pool(thread_count: int, name: str) -> ThreadWorkers:
            made = ThreadWorkers(thread_count, lambda: os.eventfd_write(outcomes, 1), name)
            stack.callback(made.close)
            return made

        kind = file_system_kind(*(str(data_dir / each) for each in ("", "topics", "journal")))
        whole = FileSystemSync(str(data_dir)) if kind.is_known and is_available() else None
        if whole is not None:
            stack.callback(whole.close)
        kernel = open_kernel_sync(outcomes)
        round_sync = RoundSync(settings.integer("log.sync.threads"), whole, clock.monotonic, kernel)
        stack.callback(round_sync.close)
        if kernel is not None:
            stack.callback(kernel.close)
        device = _journal_device(settings, files, kernel, kind)
        pools = (
            pool(1, "sync"),
            pool(WORKER_THREADS, "worker"),
            pool(settings.integer("log.cleaner.threads"), "cleaner"),
            pool(CATALOGUE_THREADS, "catalogue"),
        )
        world = World(
            clock=clock,
            files=files,
            random_bytes=os.urandom,
            chance=SystemRandom(),
            workers=pools[1],
            sync_workers=pools[0],
            cleaner_workers=pools[2],
            catalogue_workers=pools[3],
            round_sync=round_sync,
            journal_device=device,
            pause=time.sleep,
            dial=dial,
        )
        yield MachineWorld(world, outcomes, pools, kernel)


def _journal_device(
    settings: BrokerSettings, files: OsFiles, kernel: KernelSync | None, kind: FileSystemKind
) -> DirectDevice | None:
    """None where the journal is turned off or cannot be relied on. It is still read then: the last broker may have left
    one."""
    device, why = None, ""
    if not settings.flag("log.journal.enable"):
        why = "log.journal.enable is false"
    elif kernel is None:
        why = "this system cannot write past its cache by itself"
    elif not kind.is_known:
        why = f"the data directory is on {kind.name}, which is not known to keep what is written past its cache"
    else:
        device = DirectDevice(kernel, files, LARGEST_JOURNALED_ROUND)
    way = "the journal" if device is not None else "syncing their files"
    fields = {"file_system": kind.name, **({"reason": why} if why else {})}
    logger.info("records are made durable by %s", way, extra=fields)
    return device
