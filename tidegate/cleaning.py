"""When retention and compaction run: the tasks of the loop that call the cleaner, by the broker's settings."""

from collections.abc import Callable

import trio
from attrs import define

from engine.cleaner.cleaner import Cleaner
from engine.cleaner.throttle import Throttle
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.partition.partitions import Partitions
from engine.workers import Workers

# With a backoff of 0 the loop still has other things to do.
SHORTEST_BACKOFF_S = 0.01


@define(eq=False)
class Cleaning:
    """The cleaner and its hours."""

    cleaner: Cleaner
    settings: BrokerSettings

    @classmethod
    def make(
        cls,
        partitions: Partitions,
        workers: Workers,
        clock: Clock,
        settings: BrokerSettings,
        pause: Callable[[float], None],
    ) -> "Cleaning":
        """`workers` are for compaction alone; `pause` sleeps in them."""

        def make_throttle(is_stopped: Callable[[], bool]) -> Throttle:
            return Throttle(clock.monotonic, pause, is_stopped)

        together = settings.integer("log.cleaner.threads")
        return cls(Cleaner(partitions, workers, clock, make_throttle, together=together), settings)

    def start(self, nursery: trio.Nursery) -> None:
        """Begin the tasks; the nursery's end is theirs."""
        nursery.start_soon(self._now_and_then, self.cleaner.retain, self._seconds("log.retention.check.interval.ms"))
        if self.settings["log.cleaner.enable"]:
            backoff_s = max(self._seconds("log.cleaner.backoff.ms"), SHORTEST_BACKOFF_S)
            nursery.start_soon(self._now_and_then, self.cleaner.compact, backoff_s)

    def stop(self) -> None:
        """Begin nothing more and give up what is under way."""
        self.cleaner.stop()

    def idle(self) -> bool:
        """Whether nothing is under way; the logs can be closed then."""
        return self.cleaner.idle

    async def _now_and_then(self, chore: Callable[[], None], interval_s: float) -> None:
        await trio.sleep(self._seconds("log.initial.task.delay.ms"))
        while True:
            chore()
            await trio.sleep(interval_s)

    def _seconds(self, key: str) -> float:
        return self.settings.integer(key) / 1000
