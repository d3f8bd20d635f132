"""When the scrubber runs: the task of the loop that has threads look at what is on disk, at the settings' pace."""

import logging
from collections.abc import Callable, Sequence

import trio
from attrs import define, field

from coordinators.waiting import in_worker
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.journal.journal import Journal
from engine.partition.partitions import Partitions
from engine.scrub.scrubber import Scrubber
from engine.scrub.steps import OtherFile
from engine.workers import Workers

logger = logging.getLogger("tidegate.scrub")

LONGEST_SLEEP_S = 60.0
NEVER_MS = 2**62


@define(eq=False)
class Scrubbing:
    """The scrubber and its hours."""

    scrubber: Scrubber
    workers: Workers
    initial_delay_s: float
    _woken: trio.Event = field(factory=trio.Event)

    @classmethod
    async def make(
        cls,
        partitions: Partitions,
        journal: Journal,
        others: Sequence[OtherFile],
        workers: Workers,
        clock: Clock,
        settings: BrokerSettings,
    ) -> "Scrubbing":
        """With what the last broker knew."""
        is_enabled = settings.flag("log.scrub.enable")
        scrubber = Scrubber(
            partitions,
            clock,
            rate_bytes=settings.integer("log.scrub.io.max.bytes.per.second"),
            interval_ms=settings.integer("log.scrub.interval.ms") if is_enabled else NEVER_MS,
            journal=journal,
            others=others,
        )
        await in_worker(workers, scrubber.load)
        scrubber.begin()
        return cls(scrubber, workers, settings.integer("log.initial.task.delay.ms") / 1000)

    def start_pass(self) -> bool:
        """Begin a pass now; False if one is under way."""
        started = self.scrubber.start_pass()
        self._woken.set()
        return started

    async def run(self) -> None:
        """Until cancelled."""
        with trio.move_on_after(self.initial_delay_s):
            await self._woken.wait()
        while True:
            try:
                pause_s = await self._go_on()
            except Exception:
                # A bug: it must not end the broker, nor be met again and again.
                logger.exception("scrubbing failed; the next pass tries again")
                self.scrubber.give_up()
            else:
                await trio.sleep(pause_s)
                continue
            with trio.move_on_after(LONGEST_SLEEP_S):
                await self._woken.wait()

    async def _go_on(self) -> float:
        """Do what is to be done now; how long to wait then."""
        step = self.scrubber.next_step()
        if step is not None:
            await self._take(step.run)
            return self.scrubber.finish(step)
        if not self.scrubber.is_running:
            self._woken = trio.Event()
            with trio.move_on_after(LONGEST_SLEEP_S):
                await self._woken.wait()
        return 0.0

    async def close(self) -> None:
        """Keep how far it is."""
        await self._take(self.scrubber.save_step().run)

    async def _take(self, run: Callable[[], None]) -> None:
        try:
            await in_worker(self.workers, run)
        except OSError as error:
            logger.error("scrubbing cannot go on as it should: %s", error)
