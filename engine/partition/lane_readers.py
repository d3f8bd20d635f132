"""Who reads a prioritised partition: what they are promised, and how they make records leave their lanes.

The order of what lies in the lanes is decided when somebody first reads it (rules 2, 4, 5 and 9 of
engine/stage/stage.py): a reader at the end of the log asks for a release of what it can be given next. One such
release is under way at a time, from the moment that it is asked for until the high watermark has passed it.
"""

import logging
import math
from collections.abc import Callable

from engine.errors import BrokerError
from engine.files.reserve import is_full
from engine.partition.durable_log import DurableLog
from engine.partition.release_life import ReleaseLife, ReleaseState
from engine.stage.stage import Stage
from engine.timers import Timers

logger = logging.getLogger("tidegate.release")

ORDERED_BYTES = 4 * 2**20
"""Put in order at a time where nobody waits for the bytes."""

PromiseWatcher = Callable[[], object]


class LaneReaders:
    """See the module."""

    def __init__(self, partition: DurableLog, stage: Stage, life: ReleaseLife, timers: Timers) -> None:
        self._partition = partition
        self._stage = stage
        self._life = life
        self._timers = timers
        self.is_ordering = False
        """Whether a release that a reader asked for is under way, or not yet under the high watermark (rule 4)."""
        self._wanted_in_order = 0
        """Up to where the order has to be fixed, whether anybody reads it or not."""
        self._watchers: dict[PromiseWatcher, None] = {}

    # -- the promise (rule 2)

    @property
    def promised_end(self) -> int:
        """The end that readers are told; without lanes that is the log's high watermark."""
        high_watermark = self._partition.high_watermark.offset
        return self._stage.promised_end(high_watermark) if self._stage.prioritised else high_watermark

    def watch(self, watcher: PromiseWatcher) -> None:
        """Tell `watcher` whenever the promised end grows."""
        self._watchers[watcher] = None

    def unwatch(self, watcher: PromiseWatcher) -> None:
        """Stop telling it."""
        self._watchers.pop(watcher, None)

    def expect_growth(self) -> None:
        """Something entered the lanes: it is promised once the stage is durable so far."""
        if self._watchers:
            store = self._stage.store
            store.when_durable_to(store.log.end_offset - 1, math.inf, self._promise_grew)

    def _promise_grew(self, error: BrokerError | None) -> None:
        if error is None:
            for watcher in tuple(self._watchers):
                watcher()

    # -- the order (rules 4, 5 and 9)

    def linearise(self, offset: int, limit_bytes: int) -> bool:
        """See to it that there is something to read at `offset`; False if there is nothing to be had.

        Who asked learns of it as of anything that is appended: by the high watermark."""
        stage, log_end = self._stage, self._partition.log.end_offset
        if not stage.prioritised or not len(stage.state.lanes) or not log_end <= offset <= self.promised_end:
            return False
        if not self.is_ordering and self._life.state is not ReleaseState.BLOCKED:
            self.is_ordering = True
            self._life.submit(lambda: self._linearise(offset, limit_bytes))
        return True

    def _linearise(self, offset: int, limit_bytes: int) -> None:
        stage, log_end = self._stage, self._partition.log.end_offset
        limit = stage.config.priority_fetch_max_records
        intent = None
        try:
            self._life.check_online()
            if offset < log_end:
                pass  # somebody else was quicker
            elif offset > log_end:
                intent = stage.linearise_first(offset - log_end, limit, limit_bytes, log_end)
            else:
                intent = stage.linearise(limit, limit_bytes, log_end)
        except BrokerError as error:
            logger.error("%s: readers wait: %s", self._partition.log.name, error)
            if is_full(error):
                self._timers.call_at(self._life.retry_at(error), lambda: self.linearise(offset, limit_bytes))
        if intent is None:
            self.is_ordering = False
        else:
            self._life.carry_out(intent)

    def order_up_to(self, offset: int) -> None:
        """Have everything below a promised offset put in order (rule 9), however many releases that takes. Who asked
        learns of it by the high watermark."""
        self._wanted_in_order = max(self._wanted_in_order, offset)
        self.order_on()

    def order_on(self) -> None:
        """Go on with it."""
        if self._wanted_in_order > self._partition.log.end_offset and not self._partition.removed:
            self.linearise(self._wanted_in_order, ORDERED_BYTES)

    def ordering_ended(self) -> None:
        """The release that was asked for is in the log, or will never be."""
        self.is_ordering = False
