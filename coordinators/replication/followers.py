"""The leader's side of replication: what each follower has, and what it is sent next.

A follower keeps one session (coordinators/replication/ports.py). The leader remembers of each log how far the follower
has it, and looks only at those that were just named or have grown since: a thousand idle logs cost nothing but a look
when a fetch has waited in vain. What the followers have durable moves the high watermark; who has caught up is proposed
for the in-sync replicas, who lags is taken out (coordinators/replication/in_sync.py).

Rules:
1. A log is followed in one leader epoch. Whoever comes with another is told, and nothing is counted.
2. What a follower says it has counts only if its log has not left the leader's: the epoch of its last batch is compared
   first (KIP-595).
3. After records were sent, nothing more is sent of that log until it is named again.
4. What a node said counts for one life of it.
5. A fetch that waits is answered when the next one of its session comes: a follower may have news while it waits.
"""

from collections.abc import Iterator

from attrs import define, field
from msgspec import Struct

from coordinators.cluster.nodes import Nodes
from coordinators.replication.in_sync import Follower, InSyncReplicas
from coordinators.replication.ports import (
    NO_SNAPSHOT,
    Asked,
    Given,
    Replica,
    ReplicaAnswer,
    ReplicaFetch,
    SnapshotPiece,
)
from coordinators.replication.stage_snapshots import StageSnapshots
from coordinators.replication.throttle import ReplicationThrottle
from coordinators.topic_view import Topic, TopicView
from engine.clock import Clock
from engine.deferred import Deferred
from engine.errors import (
    BrokerError,
    FetchSessionNotFound,
    InvalidFetchSessionEpoch,
    NotLeader,
    OffsetOutOfRange,
    StaleNodeEpoch,
    StorageError,
    UnknownTopicId,
    fresh,
    kept,
)
from engine.partition.durable_log import DurableLog
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from engine.timers import Timer, Timers

NOT_TOLD = -1
MAX_SESSION = 2**31 - 1
CHECKPOINT_S = 10.0


class FollowedLog(Struct, eq=False):
    """One log as one follower has it."""

    replica: Replica
    follower: Follower
    """How well it keeps up, in this leader epoch."""
    log: DurableLog | None = None
    """None while there is no such stage."""
    offset: int = 0
    leader_epoch: int = -1
    may_send: bool = False
    """Whether it has been named since it was last sent something."""
    told_high_watermark: int = NOT_TOLD
    told_start: int = NOT_TOLD
    told_checkpoint: int = NOT_TOLD
    found_checkpoint: int = NO_SNAPSHOT
    """Of which offset there is one on the disk."""
    checkpoint_due: float = 0.0
    """When it is looked for a newer checkpoint of a stage."""
    start_checkpoint: tuple[int, int] | None = None
    """A start of a stage, and the checkpoint that there was when it was new."""
    is_looked_up: bool = False
    """Whether that is being looked for."""

    @property
    def has_news(self) -> bool:
        """Whether there is something to say of it that is not records."""
        log = self.log
        return log is not None and (
            log.high_watermark.offset != self.told_high_watermark or log.log.start_offset != self.told_start
        )


@define(eq=False)
class FollowerSession:
    """What one follower follows here."""

    node_id: int
    node_epoch: int
    session: int
    number: int = field(default=0, init=False)
    logs: dict[Replica, FollowedLog] = field(factory=dict, init=False)
    hot: dict[FollowedLog, None] = field(factory=dict, init=False)
    """Those of which there may be something to say."""
    refused: list[Given] = field(factory=list, init=False)
    """What was said at once of logs that were just named."""
    fetch: ReplicaFetch | None = field(default=None, init=False)
    """The last one."""
    waiting: Deferred[ReplicaAnswer] | None = field(default=None, init=False)
    timer: Timer | None = field(default=None, init=False)
    is_woken: bool = field(default=False, init=False)


@define(eq=False)
class Followers:
    """All that other nodes follow here."""

    partitions: Partitions
    nodes: Nodes
    in_sync: InSyncReplicas
    snapshots: StageSnapshots
    clock: Clock
    timers: Timers
    topics: TopicView
    throttle: ReplicationThrottle
    _sessions: dict[int, FollowerSession] = field(factory=dict, init=False)
    _following: dict[DurableLog, list[tuple[FollowerSession, FollowedLog]]] = field(factory=dict, init=False)
    _last_session: int = field(default=0, init=False)
    given_bytes: int = field(default=0, init=False)
    """How much followers were sent so far."""

    # -- fetches

    def serve(self, fetch: ReplicaFetch) -> ReplicaAnswer | Deferred[ReplicaAnswer]:
        """Note what the follower has, and answer once there is something new for it, or it is time."""
        try:
            session = self._session(fetch)
        except BrokerError as error:
            return ReplicaAnswer(error=error)
        self._end_wait(session)
        session.fetch = fetch
        self.in_sync.heard_of(fetch.node_id)
        for replica in fetch.dropped:
            self._drop(session, replica)
        for asked in fetch.asked:
            self._name(session, asked)
        given = self._collect(session, fetch)
        if given or fetch.wait_ms <= 0:
            return ReplicaAnswer(session=session.session, given=given)
        return self._wait(session, fetch)

    def _session(self, fetch: ReplicaFetch) -> FollowerSession:
        record = self.nodes.by_id.get(fetch.node_id)
        if record is None or record.epoch != fetch.node_epoch:
            raise StaleNodeEpoch(f"node {fetch.node_id} is not registered with epoch {fetch.node_epoch} here")
        if fetch.session == 0:
            return self._begin(fetch.node_id, fetch.node_epoch)
        session = self._sessions.get(fetch.node_id)
        if session is None or session.session != fetch.session:
            raise FetchSessionNotFound(f"node {fetch.node_id} has no session {fetch.session}")
        if fetch.number != session.number + 1:
            raise InvalidFetchSessionEpoch(f"fetch {session.number + 1} was expected, not {fetch.number}")
        session.number = fetch.number
        return session

    def _begin(self, node_id: int, node_epoch: int) -> FollowerSession:
        before = self._sessions.get(node_id)
        if before is not None:
            self._end_wait(before)
            if before.node_epoch != node_epoch:
                self._forget_ends(before)
            for replica in tuple(before.logs):
                self._drop(before, replica)
        self._last_session = self._last_session % MAX_SESSION + 1
        session = self._sessions[node_id] = FollowerSession(node_id, node_epoch, self._last_session)
        return session

    def _forget_ends(self, session: FollowerSession) -> None:
        """The node lives anew, perhaps with less than it had: what it said before counts for nothing (rule 4)."""
        for followed in session.logs.values():
            if followed.log is not None:
                followed.log.replica_gone(session.node_id)

    # -- what a follower names

    def _name(self, session: FollowerSession, asked: Asked) -> None:
        followed = session.logs.get(asked.replica)
        if followed is None:
            followed = session.logs[asked.replica] = FollowedLog(asked.replica, Follower())
        followed.offset, followed.leader_epoch, followed.may_send = asked.offset, asked.leader_epoch, False
        followed.told_high_watermark = NOT_TOLD
        try:
            partition = self._partition(session.node_id, followed)
            followed.follower = self.in_sync.follower(asked.replica, session.node_id, partition.leader_epoch)
            self._attach(session, followed, partition)
            if self._lacks_beginning(followed, asked):
                self._give_checkpoint(session, followed, asked)
                return
            given = self._compare(followed, asked)
        except BrokerError as error:
            given = Given(asked.replica, kept(error))
            if followed.log is not None:
                given.start_offset = followed.log.log.start_offset
        else:
            if given is None:
                followed.may_send = True
                session.hot[followed] = None
                self._note_progress(session.node_id, followed, partition)
                return
        session.refused.append(given)

    def _partition(self, node_id: int, followed: FollowedLog) -> Partition:
        replica = followed.replica
        partition = self.partitions.get(replica.topic_id, replica.partition)
        if partition is None:
            raise UnknownTopicId(f"partition {replica.partition} of the topic {replica.topic_id.hex()} is not here")
        if partition.replicas.not_leader is not None:
            raise fresh(partition.replicas.not_leader)
        partition.check_leader_epoch(followed.leader_epoch)
        if node_id not in partition.replicas.row.replicas:
            raise NotLeader(f"node {node_id} holds no replica of {partition.log.name}")
        return partition

    def _attach(self, session: FollowerSession, followed: FollowedLog, partition: Partition) -> None:
        """Learn of what is written to the log."""
        log: DurableLog | None = partition.stage_log if followed.replica.is_stage else partition
        if log is followed.log:
            return
        self._detach(session, followed)
        followed.log = log
        if log is not None:
            self._following.setdefault(log, []).append((session, followed))
            log.watch_tail(self._grew)

    def _detach(self, session: FollowerSession, followed: FollowedLog) -> None:
        log, followed.log = followed.log, None
        if log is not None:
            left = [pair for pair in self._following.pop(log, []) if pair != (session, followed)]
            if left:
                self._following[log] = left
            else:
                log.unwatch_tail(self._grew)

    def _lacks_beginning(self, followed: FollowedLog, asked: Asked) -> bool:
        """Whether it has nothing of a stage that can be gone on from here."""
        return followed.replica.is_stage and followed.log is not None and asked.offset < followed.log.log.start_offset

    def _give_checkpoint(self, session: FollowerSession, followed: FollowedLog, asked: Asked) -> None:
        """It takes over the stage's checkpoint, when it was found on the disk."""
        log = followed.log
        assert log is not None

        def answer(given: Given) -> None:
            is_asked = session.logs.get(asked.replica) is followed and followed.offset == asked.offset
            if is_asked and not followed.may_send:
                session.refused.append(given)
                self._wake(session)

        def found(offset: int) -> None:
            answer(Given(asked.replica, start_offset=log.log.start_offset, snapshot=offset))

        def failed() -> None:
            answer(Given(asked.replica, kept(StorageError("the checkpoint of the stage cannot be read"))))

        self.snapshots.look(log, found, failed)

    def _compare(self, followed: FollowedLog, asked: Asked) -> Given | None:
        """What keeps the follower from going on where it is, if anything does (rule 2)."""
        log = followed.log
        if log is None:
            # A stage that nobody here has heard of: what the follower has of it was never acknowledged.
            has_some = asked.offset or asked.start_offset
            return Given(asked.replica, divergence=(-1, 0), start_offset=0) if has_some else None
        start, end = log.log.start_offset, log.log.end_offset
        if asked.offset < start:
            raise OffsetOutOfRange(f"{log.log.name} begins at {start}, not at {asked.offset}")
        if asked.offset < asked.start_offset:
            # It cannot use what it has of a stage, and this one is whole.
            return Given(asked.replica, start_offset=start, divergence=(-1, start))
        if asked.last_epoch >= 0:
            epoch, epoch_end = log.log.end_offset_for_epoch(asked.last_epoch)
            if epoch_end < 0:
                return Given(asked.replica, start_offset=start, divergence=(-1, start))
            if epoch < asked.last_epoch or epoch_end < asked.offset:
                return Given(asked.replica, start_offset=start, divergence=(epoch, epoch_end))
        elif asked.offset > end:
            return Given(asked.replica, start_offset=start, divergence=(log.log.latest_epoch, end))
        return None

    def _note_progress(self, node_id: int, followed: FollowedLog, partition: Partition) -> None:
        log, follower = followed.log, followed.follower
        if log is not None:
            follower.has_come_to(followed.offset, log.log.end_offset, self.clock.monotonic())
            log.replica_durable(node_id, followed.offset)
        if node_id not in partition.replicas.row.isr and partition.has_caught_up(node_id):
            self.in_sync.let_join(partition, node_id)

    def _drop(self, session: FollowerSession, replica: Replica) -> None:
        followed = session.logs.pop(replica, None)
        if followed is not None:
            self._detach(session, followed)
            session.hot.pop(followed, None)

    # -- what it is sent

    def _collect(self, session: FollowerSession, fetch: ReplicaFetch) -> list[Given]:
        given, session.refused = session.refused, []
        size = 0
        for followed in tuple(session.hot):
            if size >= fetch.max_bytes:
                break
            one = self._look_at(session, followed, fetch, size)
            if one is not None:
                given.append(one)
                size += one.size
        return given

    def _look_at(self, session: FollowerSession, followed: FollowedLog, fetch: ReplicaFetch, size: int) -> Given | None:
        session.hot.pop(followed, None)
        log = followed.log
        try:
            self._partition(session.node_id, followed)
            if log is None:
                return None
            given = Given(followed.replica)
            if followed.replica.is_stage and followed.may_send:
                self._look_for_checkpoint(session, followed, log)
                given.snapshot = _newer_checkpoint(followed)
            if given.snapshot >= 0:
                # It names the stage again when it has taken the checkpoint over.
                followed.may_send = False
            elif followed.may_send and followed.offset < log.log.end_offset:
                room = min(fetch.max_partition_bytes, fetch.max_bytes - size)
                topic = self._catching_up(session.node_id, log)
                if topic is not None and self.throttle.room(topic, log.index, in_sync=False) == 0:
                    self._look_later(session, followed, self.throttle.wait_s())
                    return None
                # One batch is always whole: the follower could do nothing with a part of one.
                read = log.log.read(followed.offset, room, log.log.end, at_least_one=True)
                if not read.size:
                    session.hot[followed] = None
                    return None
                followed.may_send = False
                given.records, given.size = read.regions, read.size
                if topic is not None:
                    self.throttle.took(topic, log.index, read.size, in_sync=False)
                self.given_bytes += read.size
                if followed.replica.is_stage:
                    given.segment = log.log.segment_of(followed.offset)
            elif not followed.has_news:
                return None
        except BrokerError as error:
            followed.may_send = False
            return Given(followed.replica, kept(error))
        given.high_watermark = followed.told_high_watermark = log.high_watermark.offset
        self._tell_start(session, followed, log, given)
        return given

    def _tell_start(self, session: FollowerSession, followed: FollowedLog, log: DurableLog, given: Given) -> None:
        """Where the log begins. Of a stage that has forgotten its beginning, with the checkpoint that lets a follower
        do so too: when that has been found on the disk."""
        start, known = log.log.start_offset, followed.start_checkpoint
        is_new = followed.replica.is_stage and given.snapshot < 0 and start not in (0, followed.told_start)
        if is_new and (known is None or known[0] != start):
            given.start_offset = max(followed.told_start, 0)
            self._look_for_start(session, followed, log, start)
            return
        if is_new and known is not None:
            given.snapshot = known[1]
        given.start_offset = followed.told_start = start

    def _look_for_start(self, session: FollowerSession, followed: FollowedLog, log: DurableLog, start: int) -> None:
        if followed.is_looked_up:
            return
        followed.is_looked_up = True

        def failed() -> None:
            followed.is_looked_up = False

        def found(offset: int) -> None:
            followed.is_looked_up, followed.start_checkpoint = False, (start, offset)
            if session.logs.get(followed.replica) is followed:
                session.hot[followed] = None
                self._wake(session)

        self.snapshots.look(log, found, failed)

    def _catching_up(self, node_id: int, log: DurableLog) -> Topic | None:
        """The topic of a log that a follower copies which is not in sync; None if it is."""
        in_sync = node_id in log.replicas.row.isr
        return None if in_sync else self.topics.by_id.get(log.topic_id)

    def _look_later(self, session: FollowerSession, followed: FollowedLog, delay_s: float) -> None:
        def look() -> None:
            if session.logs.get(followed.replica) is followed:
                session.hot[followed] = None
                self._wake(session)

        self.timers.call_at(self.clock.monotonic() + delay_s, look)

    def _look_for_checkpoint(self, session: FollowerSession, followed: FollowedLog, log: DurableLog) -> None:
        """Now and then, on the disk; what is found is told when the stage is looked at next."""
        now = self.clock.monotonic()
        if now < followed.checkpoint_due:
            return
        followed.checkpoint_due = now + CHECKPOINT_S

        def found(offset: int) -> None:
            followed.found_checkpoint = offset
            if session.logs.get(followed.replica) is followed and _is_newer(followed):
                session.hot[followed] = None
                self._wake(session)

        self.snapshots.look(log, found)

    # -- waiting

    def _wait(self, session: FollowerSession, fetch: ReplicaFetch) -> Deferred[ReplicaAnswer]:
        answer = session.waiting = Deferred[ReplicaAnswer]()
        answer.on_abandoned(lambda: self._end_wait(session))
        deadline = self.clock.monotonic() + fetch.wait_ms / 1000
        session.timer = self.timers.call_at(deadline, lambda: self._time_is_up(session))
        return answer

    def _end_wait(self, session: FollowerSession, given: list[Given] | None = None) -> None:
        answer, session.waiting = session.waiting, None
        if session.timer is not None:
            session.timer.cancel()
            session.timer = None
        if answer is not None:
            answer.resolve(ReplicaAnswer(session=session.session, given=given or ()))

    def _time_is_up(self, session: FollowerSession) -> None:
        session.timer = None
        assert session.fetch is not None
        now = self.clock.monotonic()
        for followed in session.logs.values():
            if followed.has_news or (followed.replica.is_stage and now >= followed.checkpoint_due):
                session.hot[followed] = None
        self._end_wait(session, self._collect(session, session.fetch))

    def _grew(self, log: DurableLog) -> None:
        """Something was appended: its followers are told when the turn is over, with all that came meanwhile."""
        for session, followed in self._following.get(log, ()):
            if followed.follower.behind_since is None:
                followed.follower.behind_since = self.clock.monotonic()
            if followed.may_send:
                session.hot[followed] = None
                self._wake(session)

    def _wake(self, session: FollowerSession) -> None:
        if not session.is_woken and session.waiting is not None:
            session.is_woken = True
            self.timers.call_at(self.clock.monotonic(), lambda: self._woken(session))

    def _woken(self, session: FollowerSession) -> None:
        session.is_woken = False
        if session.waiting is not None and session.fetch is not None:
            given = self._collect(session, session.fetch)
            if given:
                self._end_wait(session, given)

    def forget(self, partition: Partition) -> None:
        """It lies here no longer."""
        for session in self._sessions.values():
            for is_stage in (False, True):
                self._drop(session, Replica(partition.topic_id, partition.index, is_stage))

    def stage_was_made(self, partition: Partition) -> None:
        """A partition has a stage from now on: those who follow the partition have it up to its beginning."""
        replica = Replica(partition.topic_id, partition.index, is_stage=True)
        for session in self._sessions.values():
            followed = session.logs.get(replica)
            if followed is not None and followed.log is None and followed.leader_epoch == partition.leader_epoch:
                self._attach(session, followed, partition)
                self._note_progress(session.node_id, followed, partition)
                session.hot[followed] = None
                self._wake(session)

    # -- checkpoints of stages

    def snapshot(
        self, replica: Replica, leader_epoch: int, offset: int, position: int
    ) -> SnapshotPiece | Deferred[SnapshotPiece]:
        """A part of a stage's checkpoint."""
        partition = self.partitions.get(replica.topic_id, replica.partition)
        if partition is None:
            raise UnknownTopicId(f"partition {replica.partition} of the topic {replica.topic_id.hex()} is not here")
        if partition.replicas.not_leader is not None:
            raise fresh(partition.replicas.not_leader)
        partition.check_leader_epoch(leader_epoch)
        return self.snapshots.piece(partition, offset, position)

    # -- being looked at

    @property
    def follower_nodes(self) -> list[int]:
        """The nodes that have a session here."""
        return sorted(self._sessions)

    def followed_by(self, node_id: int) -> Iterator[FollowedLog]:
        """What a node follows here, for those who want to see it."""
        session = self._sessions.get(node_id)
        return iter(session.logs.values() if session is not None else ())

    def statistics(self) -> dict[str, int]:
        """Sessions, the logs in them, and how many wait."""
        sessions = self._sessions.values()
        return {
            "sessions": len(sessions),
            "logs": sum(len(session.logs) for session in sessions),
            "waiting": sum(session.waiting is not None for session in sessions),
        }


def _is_newer(followed: FollowedLog) -> bool:
    """Whether there is a checkpoint that saves a follower the replay of what came before, should it lead."""
    return followed.told_checkpoint < followed.found_checkpoint <= followed.offset


def _newer_checkpoint(followed: FollowedLog) -> int:
    """That one, told once; below 0, there is none."""
    if not _is_newer(followed):
        return NO_SNAPSHOT
    followed.told_checkpoint = followed.found_checkpoint
    return followed.found_checkpoint
