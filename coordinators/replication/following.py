"""What a follower does with what its leader says of a log: append it, cut its own end, take over a checkpoint.

Rules:
1. Records are appended as they are, after the last byte that is here. The log is named again once they are durable.
2. Where the two logs have parted (KIP-595), this one is cut back: to where the leader's epoch ended there or here,
   whichever is less; then it asks again, until they agree. Nothing of it that was acknowledged can be lost by that, for
   every leader has all of it.
3. A log that ends before its leader's begins is emptied, and begins where the leader's does.
4. A stage needs a checkpoint for what is gone from its beginning. It is taken over before the beginning is given up;
   and now and then besides, so that whoever comes to lead need not replay the whole stage.
5. What is done in a thread is done for one leader epoch: if another has begun meanwhile, it is not begun, and nobody is
   told. This node leads a log only when nothing is done to it any more.
6. A checkpoint that reaches further than a stage was cut goes first: it would be taken for a state of what comes there
   next.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

import trio
from attrs import define, field
from msgspec import Struct

from coordinators.background import Background
from coordinators.replication.ports import Asked, Given, LeaderLink, LinkBroken, Replica
from coordinators.replication.throttle import ReplicationThrottle
from coordinators.topic_view import Topic, TopicView
from coordinators.waiting import in_worker
from engine.clock import Clock
from engine.errors import BrokerError, CorruptMessage, OffsetOutOfRange, StorageError
from engine.files.files import Buffer, Files
from engine.log.deletion import deletion_jobs
from engine.log.following import BY_ITSELF
from engine.log.jobs import Job
from engine.partition.durable_log import DurableLog
from engine.partition.partition import Partition
from engine.stage import checkpoint
from engine.timers import Timers
from engine.workers import Workers

logger = logging.getLogger("tidegate.replication")

RETRY_S = 0.2
NOT_ASKED = -1
NOT_NAMED = 2**63


class FollowedReplica(Struct, eq=False):
    """One log that is followed, in one leader epoch."""

    replica: Replica
    partition: Partition
    leader_epoch: int
    ended: bool = False
    """Whether it is no longer followed so."""
    named: int = NOT_NAMED
    """The number of the fetch in which it was named last; answers to earlier ones are of another time."""
    is_busy: bool = False
    """Whether something is being done to it in a thread: it asks for nothing meanwhile."""
    start_wanted: int = 0
    """Up to where its beginning is being given up."""
    has_told: bool = False
    """Whether its leader was told, in this epoch, what is here of it: it may count on that."""
    has_checkpoint: bool = False
    """Whether a stage that has lost its beginning is known to have a checkpoint of it."""

    @property
    def log(self) -> DurableLog | None:
        """None while there is no such stage here."""
        return self.partition.stage_log if self.replica.is_stage else self.partition


Then = Callable[[FollowedReplica], object]


class StageLogs(Protocol):
    """Makes the logs of stages that a leader has and this node lacks."""

    def follow_stage(self, partition: Partition) -> DurableLog:
        """An empty one."""
        ...


@define(eq=False)
class Following:
    """See the module."""

    stages: StageLogs
    files: Files
    workers: Workers
    background: Background
    clock: Clock
    timers: Timers
    keep_start: Callable[[DurableLog, Sequence[Job]], object]
    """Runs the jobs that raise a log's start."""
    topics: TopicView
    throttle: ReplicationThrottle
    appended_bytes: int = field(default=0, init=False)
    truncations: int = field(default=0, init=False)
    _syncing: int = field(default=0, init=False)
    _changing: dict[DurableLog, trio.Event] = field(factory=dict, init=False)
    """Those to which something is being done in a thread."""

    @property
    def is_syncing(self) -> bool:
        """Whether something that was appended is on its way to the disk."""
        return self._syncing > 0

    def asked(self, followed: FollowedReplica, then: Then) -> Asked | None:
        """What to ask of its leader; None if it cannot be asked now, and `then` is called when it can."""
        log = followed.log
        if followed.is_busy or followed.ended:
            return None
        if log is not None and (log.offline is not None or log.durable_offset != log.log.end_offset):
            self._when_durable(followed, log, then)
            return None
        if followed.replica.is_stage and log is not None and self._must_begin_anew(followed, log):
            self._in_background(followed, then, partial(self._begin_anew, followed))
            return None
        if log is None or self._lacks_checkpoint(followed, log):
            start_offset = 0 if log is None else log.log.start_offset
            return Asked(followed.replica, 0, followed.leader_epoch, NOT_ASKED, start_offset)
        topic = self._catching_up(log)
        if topic is not None and self.throttle.room(topic, log.index, in_sync=False) == 0:
            self.timers.call_at(self.clock.monotonic() + self.throttle.wait_s(), lambda: then(followed))
            return None
        end = log.log.end_offset
        followed.has_told = True
        last_epoch = log.log.epoch_at(end - 1) if end > log.log.start_offset else NOT_ASKED
        return Asked(followed.replica, end, followed.leader_epoch, last_epoch, log.log.start_offset)

    def _must_begin_anew(self, followed: FollowedReplica, log: DurableLog) -> bool:
        """Whether a stage was found damaged when it was to be loaded, and counts for nothing: by the row that this
        epoch began with others have it all, and its leader was not told of what is here."""
        row = log.replicas.row
        is_damaged = followed.partition.stage_is_damaged and not followed.has_told
        return is_damaged and log.replicas.node_id not in (*row.isr, *row.elr)

    async def _begin_anew(self, followed: FollowedReplica) -> None:
        await self._begin_at(followed, 0)
        followed.partition.stage_is_damaged = False

    def _catching_up(self, log: DurableLog) -> Topic | None:
        """The topic of a log that is not in sync here; None if it is."""
        in_sync = log.replicas.node_id in log.replicas.row.isr
        return None if in_sync else self.topics.by_id.get(log.topic_id)

    def _lacks_checkpoint(self, followed: FollowedReplica, log: DurableLog) -> bool:
        """Whether the node stopped when a stage had been emptied and its checkpoint was not there yet (rule 4)."""
        if not followed.replica.is_stage or not log.log.start_offset or followed.has_checkpoint:
            return False
        followed.has_checkpoint = checkpoint.offset_on_disk(self.files, log.log.directory) is not None
        return not followed.has_checkpoint

    # -- what a leader says

    def take(self, followed: FollowedReplica, given: Given, link: LeaderLink, then: Then) -> None:
        """Carry it out; `then` is called when the log should be named again."""
        if followed.ended or followed.is_busy or followed.partition.leader_epoch != followed.leader_epoch:
            return
        if given.error is not None:
            self._refused(followed, given, then)
        elif given.divergence is not None:
            self._in_background(followed, then, partial(self._cut, followed, *given.divergence))
        elif given.snapshot >= 0:
            self._in_background(followed, then, partial(self._take_over, followed, given, link))
        else:
            self._append(followed, given, then)

    def _refused(self, followed: FollowedReplica, given: Given, then: Then) -> None:
        log = followed.log
        is_behind = log is not None and log.log.end_offset < given.start_offset
        if isinstance(given.error, OffsetOutOfRange) and is_behind:
            self._in_background(followed, then, partial(self._begin_at, followed, given.start_offset))
        else:
            # Another leads, or will soon: the rows tell.
            self.try_later(followed, then)

    def try_later(self, followed: FollowedReplica, then: Then) -> None:
        """Name it again after a while."""
        self.timers.call_at(self.clock.monotonic() + RETRY_S, lambda: then(followed))

    def _append(self, followed: FollowedReplica, given: Given, then: Then) -> None:
        log = followed.log
        if given.size or given.records:
            records = given.records
            assert isinstance(records, Buffer), "what comes over a link are bytes"
            if log is None:
                log = self.stages.follow_stage(followed.partition)
            if followed.replica.is_stage and log.log.has_empty_end(given.segment):
                self._in_background(followed, then, partial(self._changed, followed, log, log.log.drop_empty_end))
                return
            try:
                size = log.follow(records, given.segment if followed.replica.is_stage else BY_ITSELF)
                self.appended_bytes += size
            except CorruptMessage as error:
                logger.error("%s: what the leader has sent is damaged: %s", log.log.name, error)
                self.try_later(followed, then)
                return
            topic = self._catching_up(log)
            if topic is not None:
                self.throttle.took(topic, log.index, size, in_sync=False)
            self._when_durable(followed, log, then)
        if log is not None:
            log.follow_high_watermark(given.high_watermark)
            self._follow_start(log, given.start_offset, followed)

    def _when_durable(self, followed: FollowedReplica, log: DurableLog, then: Then) -> None:
        self._syncing += 1

        def durable(error: BrokerError | None) -> None:
            self._syncing -= 1
            if error is None:
                then(followed)
            else:
                self.try_later(followed, then)

        log.when_synced(durable)

    def _follow_start(self, log: DurableLog, start_offset: int, followed: FollowedReplica) -> None:
        """The leader has given up its beginning. A stage does that with a checkpoint (rule 4)."""
        if followed.replica.is_stage or not log.log.start_offset < start_offset <= log.high_watermark.offset:
            return
        if start_offset <= followed.start_wanted:
            return
        followed.start_wanted = start_offset
        self.keep_start(log, deletion_jobs(log.log, start_offset))

    # -- in a thread

    async def until_unchanged(self, partition: Partition) -> None:
        """Wait until nothing is being done to its logs. Nothing more is begun for whom it is no longer followed."""
        for log in partition.logs:
            while log in self._changing:
                await self._changing[log].wait()

    def _in_background(self, followed: FollowedReplica, then: Then, work: Callable[[], Awaitable[None]]) -> None:
        followed.is_busy = True
        self.background.start_soon(self._do, followed, then, work)

    async def _do(self, followed: FollowedReplica, then: Then, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (BrokerError, OSError, LinkBroken) as error:
            logger.warning("%s cannot be made like its leader's yet: %s", followed.partition.log.name, error)
            self.try_later(followed, then)
        except Exception:
            # A bug, or bytes that nobody has thought of: of one log, and the others go on.
            logger.exception("%s cannot be made like its leader's", followed.partition.log.name)
            self.try_later(followed, then)
        else:
            self.timers.call_at(self.clock.monotonic(), lambda: then(followed))
        finally:
            followed.is_busy = False

    async def _cut(self, followed: FollowedReplica, epoch: int, end_offset: int) -> None:
        """Give up what the leader does not have (rule 2)."""
        log = followed.log
        assert log is not None, "there is something to cut"
        own_epoch, own_end = log.log.end_offset_for_epoch(epoch)
        offset = end_offset if own_epoch < 0 else min(own_end, end_offset if own_epoch == epoch else own_end)
        if offset < log.high_watermark.offset:
            # Only an unclean election can ask for that: it is the leader's log that counts.
            logger.warning(
                "%s is cut to offset %d, below its high watermark %d", log.log.name, offset, log.high_watermark.offset
            )
        self.truncations += 1
        logger.info("%s is cut from offset %d to %d", log.log.name, log.log.end_offset, offset)
        if offset < log.log.start_offset:
            await self._begin_at(followed, offset)
        else:
            await self._changed(followed, log, partial(self._cut_log, followed, log, offset))

    def _cut_log(self, followed: FollowedReplica, log: DurableLog, offset: int) -> None:
        """[thread]"""
        if followed.replica.is_stage:
            checkpoint.remove_beyond(self.files, log.log.directory, offset)
        log.log.truncate_to(offset)

    async def _begin_at(self, followed: FollowedReplica, offset: int) -> None:
        """Empty the log (rule 3)."""
        log = followed.log
        assert log is not None, "there is a log to empty"
        logger.warning("%s begins anew at offset %d", log.log.name, offset)
        await self._changed(followed, log, partial(self._empty_log, followed, log, offset))

    def _empty_log(self, followed: FollowedReplica, log: DurableLog, offset: int) -> None:
        """[thread]"""
        if followed.replica.is_stage:
            checkpoint.remove_beyond(self.files, log.log.directory, offset)
        log.log.truncate_fully_and_start_at(offset)

    async def _changed(self, followed: FollowedReplica, log: DurableLog, change: Callable[[], None]) -> None:
        if followed.ended or followed.partition.leader_epoch != followed.leader_epoch:
            raise StorageError("another leads meanwhile")
        if log.offline is not None or log.durable_offset != log.log.end_offset:
            raise StorageError("its end is not durable yet")
        followed.has_checkpoint = False
        log.set_apart()
        done = self._changing[log] = trio.Event()
        try:
            # Whoever is about to lead waits for it, and it cannot be stopped.
            with trio.CancelScope(shield=True):
                await in_worker(self.workers, change)
        finally:
            log.put_back()
            del self._changing[log]
            done.set()

    async def _take_over(self, followed: FollowedReplica, given: Given, link: LeaderLink) -> None:
        """Have the leader's checkpoint of a stage, and begin where its log does (rule 4)."""
        log = followed.log or self.stages.follow_stage(followed.partition)
        start, end = log.log.start_offset, log.log.end_offset
        lacks, forgets = self._lacks_checkpoint(followed, log), given.start_offset > start
        own = checkpoint.offset_on_disk(self.files, log.log.directory)
        is_older = own is not None and own >= given.snapshot
        if not lacks and not forgets and (is_older or end < given.snapshot):
            return
        is_behind = lacks or end < given.start_offset
        if not is_behind and end < given.snapshot:
            raise StorageError(f"the checkpoint is of {given.snapshot}, and the log ends at {end}")
        data = await self._fetched(followed, given.snapshot, link)
        begin_at = given.start_offset if is_behind else None
        await self._changed(followed, log, partial(self._install, log, data, begin_at))
        if forgets and not is_behind:
            self.keep_start(log, deletion_jobs(log.log, given.start_offset))

    def _install(self, log: DurableLog, data: bytes, begin_at: int | None) -> None:
        """[thread]"""
        if begin_at is not None:
            logger.warning("%s begins anew at offset %d", log.log.name, begin_at)
            log.log.truncate_fully_and_start_at(begin_at)
        checkpoint.install(self.files, log.log.directory, data)

    async def _fetched(self, followed: FollowedReplica, offset: int, link: LeaderLink) -> bytes:
        data = bytearray()
        while True:
            piece = await link.snapshot(followed.replica, followed.leader_epoch, offset, len(data))
            data += piece.data
            if len(data) >= piece.size:
                return bytes(data)
            if not len(piece.data):
                raise StorageError("the checkpoint ends too early")
