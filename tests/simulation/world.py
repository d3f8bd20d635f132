"""A world that was made up: a clock that jumps, files in memory, threads that are tasks; all from a seed."""

import random
from collections import deque
from collections.abc import Awaitable, Callable

import trio
from attrs import Factory, define, frozen

from engine.files.memory import MemoryFiles
from engine.partition.sync import RoundSync
from engine.workers import Done, Job, run_job
from tests.simulation.journal_device import SLOWEST_WRITE_S, SimulatedDevice
from tests.simulation.running import sleep
from tidegate.world import Dial, World

EPOCH_MS = 1_700_000_000_000
SLOWEST_JOB_S = 0.004

Wait = Callable[[], Awaitable[None]]


@define
class WallSteps:
    """By how much a host's wall clock is wrong."""

    offset_ms: int = 0


class SimulatedClock:
    """The loop's own time, which a `MockClock` moves; the wall began at a fixed instant, and may be wrong."""

    def __init__(self, boot: str = "", wall: WallSteps | None = None) -> None:
        self.boot = boot
        self._wall = wall or WallSteps()

    def now_ms(self) -> int:
        return EPOCH_MS + int(trio.current_time() * 1000) + self._wall.offset_ms

    def monotonic(self) -> float:
        return trio.current_time()


class SimulatedWorkers:
    """Threads as tasks: each takes the next job, does it at some moment, and tells of it some time later. Where jobs
    wait for something that may not be there, `wait` does so before."""

    def __init__(
        self,
        nursery: trio.Nursery,
        thread_count: int,
        chance: random.Random,
        wait: Wait | None = None,
        slowest_s: float = SLOWEST_JOB_S,
    ) -> None:
        self._slowest_s = slowest_s
        self._wait = wait
        self._jobs: deque[tuple[Job, Done]] = deque()
        self._chance = chance
        self._arrived = trio.Event()
        self._finished = 0
        for _ in range(thread_count):
            nursery.start_soon(self._work)

    def submit(self, job: Job, done: Done) -> None:
        self._jobs.append((job, done))
        self._arrived.set()

    def statistics(self) -> dict[str, int]:
        return {"threads": 1, "finished": self._finished, "queued": len(self._jobs)}

    async def _work(self) -> None:
        while True:
            while not self._jobs:
                self._arrived = trio.Event() if self._arrived.is_set() else self._arrived
                await self._arrived.wait()
            job, done = self._jobs.popleft()
            await self._pass_time()
            if self._wait is not None:
                await self._wait()
            result, error = run_job(job)
            await self._pass_time()
            self._finished += 1
            done(result, error)

    async def _pass_time(self) -> None:
        await sleep(self._chance.random() * self._slowest_s)


async def nobody(host: str, port: int) -> trio.abc.HalfCloseableStream:
    """There are no other nodes."""
    raise ConnectionRefusedError(f"{host}:{port}")


@frozen
class Outside:
    """What a node meets beyond its own machine, and its clock."""

    dial: Dial = nobody
    wait_for_catalogue: Wait | None = None
    wall: WallSteps = Factory(WallSteps)
    disk_slowness: float = 1.0
    """So many times longer than usual the disk takes to make something durable."""


def make_world(
    nursery: trio.Nursery, files: MemoryFiles, chance: random.Random, boot: str, outside: Outside | None = None
) -> World:
    """The surroundings of one life of a node; they end with the nursery."""
    outside = outside or Outside()
    slow = outside.disk_slowness
    device = SimulatedDevice(nursery, files, chance, SLOWEST_WRITE_S * slow) if chance.random() < 0.5 else None
    return World(
        clock=SimulatedClock(boot, outside.wall),
        files=files,
        random_bytes=chance.randbytes,
        chance=chance,
        workers=SimulatedWorkers(nursery, 4, chance),
        sync_workers=SimulatedWorkers(nursery, 1, chance, slowest_s=SLOWEST_JOB_S * slow),
        cleaner_workers=SimulatedWorkers(nursery, 1, chance),
        catalogue_workers=SimulatedWorkers(nursery, 2, chance, outside.wait_for_catalogue),
        round_sync=RoundSync(1, files.sync_all, trio.current_time),
        journal_device=device,
        pause=lambda _: None,
        dial=outside.dial,
    )
