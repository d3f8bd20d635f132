"""The life of a release, from its intent to its batches in the log; and what waits meanwhile.

The table below is the machine: what can happen in each state, and where that leads. Anything else is a bug, and an
assert says so. The rules that it serves stand at the head of `engine/stage/stage.py`:

- Release is write-ahead (rule 3). The offsets that an intent names are spoken for from the moment that it is written:
  INTENDING until it is durable in the stage, WRITING until its batches are in the log at exactly these offsets.
  Nothing else may be appended meanwhile, so every other operation queues, and follows in its order (rule 1).
- What is in the log is *released* only when the high watermark has passed it (rule 7). That is no state: the log's
  end is free again, and the next release may begin.
- Where a write fails the offsets stay spoken for: BLOCKED, for the intent is durable and promises an order. The only
  way out is to begin anew (RESUMED): after a while, or when the log is online again, the intents are compared with
  what the log holds, and those that it lacks are carried out first (rule 3).
- Everything may begin anew in any state, for log and stage go offline and come back by themselves. What was under way
  is forgotten then: what it still hears from a disk or a thread is no longer meant for it.
"""

import logging
import math
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Final, ParamSpec, Protocol, TypeVar

from attrs import frozen

from engine.clock import Clock
from engine.errors import BrokerError, StorageError, fresh
from engine.files.reserve import is_full
from engine.log.types import Origin
from engine.partition.durable_log import DurableLog
from engine.stage.codecs import in_codecs, is_quick
from engine.stage.events import Intent
from engine.stage.stage import Stage
from engine.timers import Timers
from engine.workers import Workers


class ReleaseState(Enum):
    """What the end of the log is doing."""

    IDLE = auto()
    """It is free."""
    INTENDING = auto()
    """It is spoken for by an intent that is not durable yet."""
    WRITING = auto()
    """It is spoken for by a durable intent, whose batches are being made and appended."""
    BLOCKED = auto()
    """It is spoken for, and cannot be written."""


class ReleaseEvent(Enum):
    """What happens to it."""

    INTENDED = auto()
    """An intent was appended to the stage."""
    DURABLE = auto()
    """The intent is under the stage's high watermark."""
    WRITTEN = auto()
    """All of its batches are in the log."""
    FAILED = auto()
    """Log or stage cannot be written, or the stage not be loaded."""
    RESUMED = auto()
    """Log and stage agree on what was intended: everything begins anew."""


TRANSITIONS: Final[dict[ReleaseState, dict[ReleaseEvent, ReleaseState]]] = {
    ReleaseState.IDLE: {
        ReleaseEvent.INTENDED: ReleaseState.INTENDING,
        ReleaseEvent.FAILED: ReleaseState.BLOCKED,
        ReleaseEvent.RESUMED: ReleaseState.IDLE,
    },
    ReleaseState.INTENDING: {
        ReleaseEvent.DURABLE: ReleaseState.WRITING,
        ReleaseEvent.FAILED: ReleaseState.BLOCKED,
        ReleaseEvent.RESUMED: ReleaseState.IDLE,
    },
    ReleaseState.WRITING: {
        ReleaseEvent.WRITTEN: ReleaseState.IDLE,
        ReleaseEvent.FAILED: ReleaseState.BLOCKED,
        ReleaseEvent.RESUMED: ReleaseState.IDLE,
    },
    ReleaseState.BLOCKED: {
        ReleaseEvent.FAILED: ReleaseState.BLOCKED,
        ReleaseEvent.RESUMED: ReleaseState.IDLE,
    },
}


class Welcome(Enum):
    """What becomes of an operation that comes now."""

    TAKEN = auto()
    """It is carried out at once, unless others wait before it."""
    QUEUED = auto()
    """It waits for its turn."""
    REFUSED = auto()
    """It is told why, for its turn may not come for a long time. What was queued before goes on waiting."""


WELCOMES: Final[dict[ReleaseState, Welcome]] = {
    ReleaseState.IDLE: Welcome.TAKEN,
    ReleaseState.INTENDING: Welcome.QUEUED,
    ReleaseState.WRITING: Welcome.QUEUED,
    ReleaseState.BLOCKED: Welcome.REFUSED,
}

logger = logging.getLogger("tidegate.release")

RETRY_S = 1.0

T = TypeVar("T")
P = ParamSpec("P")
Operation = Callable[[], object]


class ReleaseListener(Protocol):
    """The rest of the partition's stage, told of the life of its releases."""

    def turn_ended(self) -> None:
        """What could be done was done: the queue is empty, or a release is under way."""

    def wrote(self, intent: Intent, duration_s: float) -> None:
        """Its batches were just appended to the log; the last turn at them has kept the loop for so long."""

    def released(self) -> None:
        """What was written is under the log's high watermark."""

    def interrupted(self) -> None:
        """What was under way will not end as it was begun."""

    def resumed(self) -> None:
        """Everything has begun anew."""


@frozen(eq=False)
class Release:
    """One intent that is being carried out."""

    intent: Intent


class ReleaseLife:
    """See the module. One operation after the other, on the event loop."""

    def __init__(
        self,
        partition: DurableLog,
        stage: Stage,
        timers: Timers,
        workers: Workers,
        clock: Clock,
        listener: ReleaseListener,
        make_room: Callable[[], bool],
    ) -> None:
        self.state = ReleaseState.IDLE
        self.reason: BrokerError | None = None
        """Why it is blocked, if it is."""
        self._partition = partition
        self._stage = stage
        self._timers = timers
        self._workers = workers
        self._clock = clock
        self._listener = listener
        self._make_room = make_room
        self._release: Release | None = None
        """The one that is under way."""
        self._unwritten: deque[Intent] = deque()
        """Found when everything began anew: they come before what is queued."""
        self._queue: deque[Operation] = deque()
        self._in_turn = False
        """Whether an operation is being carried out right now: what it calls for comes after it."""
        self.ended = False
        """Whether another node leads the partition."""

    def _step(self, event: ReleaseEvent, release: Release | None = None) -> None:
        following = TRANSITIONS[self.state].get(event)
        assert following is not None, f"rule 3: {event.name} cannot happen while {self.state.name}"
        self.state, self._release = following, release

    # -- one after the other

    @property
    def welcome(self) -> Welcome:
        """What becomes of an operation that comes now."""
        welcome = WELCOMES[self.state]
        others_come_first = self._in_turn or self._queue or self._unwritten
        return Welcome.QUEUED if welcome is Welcome.TAKEN and others_come_first else welcome

    @property
    def is_free(self) -> bool:
        """Whether the end of the log can be written now, and nobody waits for it."""
        return self.state is ReleaseState.IDLE and not self._queue and not self._unwritten

    @property
    def queued_count(self) -> int:
        """How many operations wait."""
        return len(self._queue)

    def take(self, operation: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Carry it out at once: it is welcome."""
        assert self.welcome is Welcome.TAKEN
        self._in_turn = True
        try:
            return operation(*arguments, **named)
        finally:
            self._in_turn = False
            self._take_turns()

    def submit(self, operation: Operation) -> None:
        """Carry it out when its turn has come."""
        if self.ended:
            operation()  # It finds that it cannot be carried out here, and says so.
            return
        self._queue.append(operation)
        self._take_turns()

    def submit_first(self, operation: Operation) -> None:
        """The same, before everything else that waits: it belongs to what is being carried out."""
        self._queue.appendleft(operation)

    def withdraw(self, operation: Operation) -> None:
        """Its turn is of no use any more, if it has not come yet."""
        if operation in self._queue:
            self._queue.remove(operation)

    def _take_turns(self) -> None:
        if self._in_turn:
            return
        self._in_turn = True
        try:
            while self.state is ReleaseState.IDLE:
                if self._unwritten:
                    self.carry_out(self._unwritten.popleft())
                elif self._queue:
                    self._queue.popleft()()
                else:
                    break
        finally:
            self._in_turn = False
        self._listener.turn_ended()

    def check_online(self) -> None:
        """Raises if log or stage cannot be written."""
        for one in (self._partition, self._stage.store):
            refusal = one.offline or one.replicas.not_leader
            if refusal is not None:
                raise fresh(refusal)

    # -- the way of an intent

    def carry_out(self, intent: Intent) -> None:
        """An intent was written: once it is durable its batches follow."""
        release = Release(intent)
        self._step(ReleaseEvent.INTENDED, release)

        def durable(error: BrokerError | None) -> None:
            if release is not self._release:
                return
            if error is None:
                self._step(ReleaseEvent.DURABLE, release)
                self._write(release)
            else:
                self.block(error)

        store = self._stage.store
        store.when_durable_to(store.log.end_offset - 1, math.inf, durable)

    def _write(self, release: Release, *, is_warm: bool = False, batches: bytes | None = None) -> None:
        """Append what an intent is about; `batches` come first, which a thread has compressed."""
        log, intent, began = self._partition.log, release.intent, self._clock.monotonic()
        try:
            job = None if is_warm else self._stage.warming(intent)
            if job is not None:
                # Its records are not in memory: a thread reads them, so that a slow disk never stops the loop.
                self._in_thread(release, job, lambda _: self._write(release, is_warm=True))
                return
            while log.end_offset < intent.end_offset:
                batches = self._next_batches(release) if batches is None else batches
                if batches is None:
                    return
                self._partition.write(batches, origin=Origin.RELEASE)
                batches = None
        except BrokerError as error:
            self.block(error)
            if self._partition.offline is None and self._stage.store.offline is None:
                self._timers.call_at(self.retry_at(error), self.resume)
            return
        assert log.end_offset == intent.end_offset, "rule 3: a release goes to exactly its place"
        self._step(ReleaseEvent.WRITTEN)
        self._listener.wrote(intent, self._clock.monotonic() - began)
        self._partition.when_durable_to(log.end_offset - 1, math.inf, self._durable_in_log)
        self._take_turns()

    def _next_batches(self, release: Release) -> bytes | None:
        """What one append takes, which must fit into a segment; None if a thread compresses it first."""
        log, config = self._partition.log, self._partition.log.config
        plain = self._stage.batches(release.intent, log.end_offset, config.max_message_bytes, config.segment_bytes)
        if is_quick(plain, config):
            return in_codecs(plain, config)
        self._in_thread(
            release,
            lambda: in_codecs(plain, config),
            lambda made: self._write(release, is_warm=True, batches=made),
        )
        return None

    def _in_thread(self, release: Release, job: Callable[[], object], then: Callable[[Any], object]) -> None:
        """Have a worker do it and go on with what it gave, unless everything has begun anew meanwhile."""

        def done(result: object, _error: BaseException | None) -> None:
            if release is self._release and not self._partition.removed:
                then(result)

        self._workers.submit(job, done)

    def _durable_in_log(self, error: BrokerError | None) -> None:
        if error is None:
            self._stage.settle(self._partition.high_watermark.offset)
            self._listener.released()
        else:
            self._listener.interrupted()

    # -- where it cannot go on

    def block(self, error: BrokerError) -> None:
        """The log's end is spoken for and cannot be written now: nothing passes until `resume`."""
        if not self._partition.removed:
            logger.error("%s: releases wait: %s", self._partition.log.name, error)
        self._step(ReleaseEvent.FAILED)
        self.reason = StorageError(f"the partition's releases wait: {error}")
        self._listener.interrupted()

    def end(self, reason: BrokerError) -> None:
        """Another node leads: what was under way is its business now. What waits is told when it finds that out."""
        self.ended = True
        self._step(ReleaseEvent.FAILED)
        self.reason = reason
        self._unwritten.clear()
        while self._queue:
            self._queue.popleft()()
        self._listener.interrupted()

    def retry_at(self, error: BrokerError) -> float:
        """When to try again: at once where there was no room and some could be made (rule 11)."""
        has_room = is_full(error) and self._make_room()
        return self._clock.monotonic() + (0 if has_room else RETRY_S)

    def resume(self) -> None:
        """After a restart, a failed write, or when log or stage are online again: settle what was intended."""
        partition, stage = self._partition, self._stage
        if partition.removed or partition.offline is not None or stage.store.offline is not None:
            return
        if self.ended or partition.replicas.not_leader is not None:
            return
        partition.log.join_producers(stage.store.log)
        try:
            stage.settle(partition.high_watermark.offset)
            self._unwritten = deque(stage.unwritten(partition.log.end_offset))
        except BrokerError as error:
            self.block(error)
            self._timers.call_at(self.retry_at(error), self.resume)
            return
        self._step(ReleaseEvent.RESUMED)
        self.reason = None
        self._listener.interrupted()
        self._take_turns()
        self._listener.resumed()
