"""A world that was made up: a clock that jumps, files in memory, threads that are tasks; all from a seed."""

import random
from collections import deque

import trio

from engine.files.memory import MemoryFiles
from engine.partition.sync import RoundSync
from engine.workers import Done, Job, run_job
from tests.simulation.journal_device import SimulatedDevice
from tidegate.world import World

EPOCH_MS = 1_700_000_000_000
SLOWEST_JOB_S = 0.004


class SimulatedClock:
    """The loop's own time, which a `MockClock` moves; the wall began at a fixed instant."""

    def __init__(self, boot: str = "") -> None:
        self.boot = boot

    def now_ms(self) -> int:
        return EPOCH_MS + int(trio.current_time() * 1000)

    def monotonic(self) -> float:
        return trio.current_time()


class SimulatedWorkers:
    """Threads as tasks: each takes the next job, does it at some moment, and tells of it some time later."""

    def __init__(self, nursery: trio.Nursery, thread_count: int, chance: random.Random) -> None:
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
            result, error = run_job(job)
            await self._pass_time()
            self._finished += 1
            done(result, error)

    async def _pass_time(self) -> None:
        await trio.sleep(self._chance.random() * SLOWEST_JOB_S)


def make_world(nursery: trio.Nursery, files: MemoryFiles, chance: random.Random, boot: str) -> World:
    """The surroundings of one life of a node; they end with the nursery."""
    return World(
        clock=SimulatedClock(boot),
        files=files,
        random_bytes=chance.randbytes,
        chance=chance,
        workers=SimulatedWorkers(nursery, 4, chance),
        sync_workers=SimulatedWorkers(nursery, 1, chance),
        cleaner_workers=SimulatedWorkers(nursery, 1, chance),
        round_sync=RoundSync(1, files.sync_all, trio.current_time),
        journal_device=SimulatedDevice(nursery, files, chance) if chance.random() < 0.5 else None,
        pause=lambda _: None,
    )
