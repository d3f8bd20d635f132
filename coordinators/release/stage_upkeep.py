"""Stages kept small: checkpoints, so that opening one replays little, and segments dropped by the bytes that they hold.

A checkpoint is due after so many offsets, counted from the one that the stage was opened with. The log of a stage may
be `stage.min.cleanable.bytes` and some multiple of what is pending (engine/stage/tidying.py); beyond that what still
waits at its front is copied to its end, in small turns, and the segments in front go after a checkpoint.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import trio
from attrs import define, field

from engine.clock import Clock
from engine.errors import BrokerError
from engine.partition.partitions import Partitions
from engine.partition.staging import Staging
from engine.stage import checkpoint
from engine.stage.pending import PendingRow
from engine.stage.state import StageState
from engine.stage.tidying import Tidying, bound_bytes
from engine.timers import Timers

logger = logging.getLogger("tidegate.release")

CHECKPOINT_BATCHES = 20_000
CHECKPOINT_BATCHES_MOST = 50_000
"""A checkpoint holds everything that is pending: the more that is, the seldomer; but replaying must stay short."""
RETRY_S = 10.0
DROP_RETRY_S = 0.05
DROP_TRIES = 40
"""What is on its way to the log holds its segment for a moment, while the rest of it could go."""


def _nothing() -> None:
    """Nobody waits."""


@define(eq=False)
class StageUpkeep:
    """See the module. Everything happens on the loop but what is written to disk."""

    partitions: Partitions
    clock: Clock
    timers: Timers
    min_cleanable_bytes: int
    _checkpoints: dict[Staging, int] = field(factory=dict)
    """Up to where each stage's state is on disk; while one is being written, up to where it will be."""
    _written: dict[Staging, int] = field(factory=dict)
    """Up to where it is for certain: what lies behind that must not be dropped."""
    _being_written: dict[Staging, trio.Event] = field(factory=dict)
    _rounds: dict[Staging, Tidying] = field(factory=dict)
    _not_before: dict[Staging, float] = field(factory=dict)

    def opened(self, staging: Staging, state: StageState | None = None) -> None:
        """A stage was opened, or is about to have this state, made anew."""
        self._checkpoints[staging] = self._written[staging] = (state or staging.stage.state).replayed_from

    def forget_removed(self) -> None:
        """Drop what is known of stages that are gone."""
        for known in (self._checkpoints, self._written, self._rounds, self._not_before):
            for staging in [each for each in known if each.ended]:
                del known[staging]

    def look_after(self, staging: Staging) -> None:
        """Do what is due; called after every change, and once in a while where there is none."""
        if staging in self._being_written or staging in self._rounds:
            return
        log = staging.store.log
        bound = max(CHECKPOINT_BATCHES, min(len(staging.stage.state.table) // 4, CHECKPOINT_BATCHES_MOST))
        is_behind = log.end_offset - self._checkpoints.get(staging, 0) >= bound
        if not is_behind and log.size_bytes <= bound_bytes(staging.stage, self.min_cleanable_bytes):
            return
        if self.clock.monotonic() < self._not_before.get(staging, 0.0) or not _can_be_written(staging):
            return
        if is_behind:
            self.checkpoint(staging)
        else:
            self._tidy(staging)

    # -- checkpoints

    def checkpoint(self, staging: Staging, then: Callable[[], object] = _nothing) -> None:
        """Write the state as it is now, once the log is durable so far; then drop what is no longer needed."""
        log = staging.store.log
        offset, directory = log.end_offset, log.directory
        staging.stage.state.fates.expire(staging.stage.clock.now_ms() - staging.stage.config.delay_fate_retention_ms)
        pieces, ticket = checkpoint.encode(staging.stage.state), log.capture_sync()
        before, self._checkpoints[staging] = self._checkpoints.get(staging, 0), offset
        self._being_written[staging] = trio.Event()

        def write() -> None:
            # With `flush.mode=os` what counts as durable is only written: the checkpoint must not be ahead of it.
            ticket.run()
            checkpoint.write(self.partitions.files, directory, offset, pieces)

        def written(_: object, error: BaseException | None) -> None:
            self._being_written.pop(staging).set()
            if error is not None:
                logger.error("%s: no checkpoint: %s", log.name, error)
                self._checkpoints[staging] = before
                self._wait(staging, RETRY_S)
                then()
            else:
                self._written[staging] = offset
                self._drop_segments(staging, then)

        def durable(error: object) -> None:
            if error is None and not staging.ended:
                self.partitions.workers.submit(write, written)
            else:
                self._being_written.pop(staging).set()
                self._checkpoints[staging] = before
                then()

        staging.store.when_durable_to(offset - 1, float("inf"), durable)

    async def finish(self, staging: Staging, within_s: float) -> None:
        """Leave a checkpoint of the stage as it is, for the next start."""
        if staging in self._being_written:
            await self._being_written[staging].wait()
        written = trio.Event()
        self.checkpoint(staging, written.set)
        with trio.move_on_after(within_s):
            await written.wait()

    def _drop_segments(self, staging: Staging, then: Callable[[], object]) -> None:
        """Drop from the front what nothing pending lies in, and what the checkpoint on disk does without."""
        checkpointed = self._written.get(staging, 0)
        store, log = staging.store, staging.store.log
        live = staging.stage.state.live_segments()
        dead, end_offset = [], 0
        for segment, following in pairwise(log.segments):
            if following.base_offset > checkpointed or segment.base_offset in live:
                break
            dead.append(segment)
            end_offset = following.base_offset
        if not dead or not _can_be_written(staging):
            then()
        elif log.snapshot_offset >= end_offset:
            self.partitions.run_jobs(store, [log.delete_segments_job(dead)], then)
        else:
            # The snapshot first: what the stage knows of its producers must not go with the segments.
            log.request_snapshot()
            jobs = log.maintenance()
            go_on = partial(self._drop_after_snapshot, staging, end_offset, then)
            self.partitions.run_jobs(store, jobs, go_on)
            if not jobs:
                then()

    def _drop_after_snapshot(self, staging: Staging, end_offset: int, then: Callable[[], object]) -> None:
        if staging.store.log.snapshot_offset >= end_offset:
            self._drop_segments(staging, then)
        else:
            then()

    # -- by bytes

    def _tidy(self, staging: Staging) -> None:
        """Begin a round when the stage's turn has come."""

        def begin() -> None:
            tidying = Tidying.begin(staging.stage, self.min_cleanable_bytes)
            if tidying is not None:
                self._rounds[staging] = tidying
                self._go_on(staging, tidying)

        staging.submit(lambda: self._trying(staging, begin))

    def _trying(self, staging: Staging, step: Callable[[], object]) -> None:
        """Do a step of a round; if it cannot be done, leave the round for later."""
        try:
            if _can_be_written(staging):
                step()
                return
        except BrokerError as error:
            logger.error("%s: the stage cannot be made smaller: %s", staging.store.log.name, error)
        self._rounds.pop(staging, None)
        self._wait(staging, RETRY_S)

    def _go_on(self, staging: Staging, tidying: Tidying) -> None:
        if tidying.done:
            self._drop_moved(staging)
            return
        rows = tidying.next_rows()
        job = staging.stage.warming_rows(rows)
        if job is None:
            self._move(staging, tidying, rows)
        else:
            # They are not in memory: a thread reads them, so that a slow disk never stops the loop.
            self.partitions.workers.submit(job, lambda _result, _error: self._move(staging, tidying, rows))

    def _move(self, staging: Staging, tidying: Tidying, rows: Sequence[PendingRow]) -> None:
        def move() -> None:
            tidying.move(rows)
            later = partial(self._trying, staging, partial(self._go_on, staging, tidying))
            self.timers.call_at(self.clock.monotonic(), later)

        staging.submit(lambda: self._trying(staging, move))

    def _drop_moved(self, staging: Staging) -> None:
        """Everything was moved: after a checkpoint the segments can go."""
        tries = 0

        def dropped() -> None:
            nonlocal tries
            tries += 1
            is_large = staging.store.log.size_bytes > bound_bytes(staging.stage, self.min_cleanable_bytes)
            if is_large and tries < DROP_TRIES and _can_be_written(staging):
                again = partial(self._drop_segments, staging, dropped)
                self.timers.call_at(self.clock.monotonic() + DROP_RETRY_S, again)
                return
            self._rounds.pop(staging, None)
            if is_large:
                self._wait(staging, RETRY_S)

        if staging in self._being_written:
            del self._rounds[staging]
        else:
            self.checkpoint(staging, dropped)

    def _wait(self, staging: Staging, duration_s: float) -> None:
        """Do not try again at once."""
        self._not_before[staging] = self.clock.monotonic() + duration_s


def _can_be_written(staging: Staging) -> bool:
    return not staging.ended and staging.store.offline is None
