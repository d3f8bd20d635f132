"""A log and the end of it that is durable: what may be read of it, and who waits for more.

The high watermark is the least durable end of the in-sync replicas (engine/partition/replicas.py); on one node that is
this node's synced end, or with `flush.mode=os` its written end. Nobody reads past it. It only moves forward.
Clients write to the leader and read from it; a follower refuses both, and its high watermark follows the leader's.
A leader that is replaced does not know what becomes of the last that it has written: its successor may have it. Where
it follows the successor it soon learns that, and producers wait for it. Were they told NOT_LEADER_OR_FOLLOWER, they
would take their records for not stored, and librdkafka gives the sequence numbers of such to others.
Who reads committed records only, reads up to the last stable offset: where the first undecided transaction begins.

A partition has one such log, and a second one where it has a stage (engine/partition/partition.py).
"""

import math
from collections import deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Protocol

from msgspec import Struct

from engine.catalogue.records import PartitionRecord
from engine.damage import DamagedFile
from engine.deferred import Deferred, settle
from engine.errors import BrokerError, NotEnoughReplicasAfterAppend, NotLeader, RequestTimedOut, StorageError, fresh
from engine.files.files import Buffer
from engine.files.reserve import is_full
from engine.log.following import BY_ITSELF
from engine.log.jobs import Job
from engine.log.log import Log, LogPosition, Origin
from engine.log.types import Receipt
from engine.partition.replicas import Replicas, Role
from engine.partition.sync import SyncRounds, Ticket
from engine.records.batch import Batch

Durable = Callable[[BrokerError | None], object]
Watcher = Callable[[int], object]
TailWatcher = Callable[["DurableLog"], object]
"""Told of what is appended, before it is durable."""
UNKNOWN_AFTER_S = 1.0
"""So long producers wait for what the successor of their leader has of theirs: it is there within less, mostly, and all
that they have sent since waits behind."""


class LogKeeper(Protocol):
    """Who looks after logs: told, on the loop, what happens to them."""

    def after_sync(self, log: "DurableLog") -> None:
        """More of it is durable; it may have chores now."""

    def went_offline(self, log: "DurableLog", error: BaseException) -> None:
        """It takes nothing until its tail was verified again."""

    def damage_found(self, log: "DurableLog", damage: DamagedFile) -> None:
        """Somebody who read it has met bytes that cannot be what was written."""

    def damage_mended(self, damage: DamagedFile) -> None:
        """What was met there before has been read again, and is sound."""

    def disk_is_full(self, refused: str) -> None:
        """What is named here was refused for lack of room."""

    def run_jobs(self, log: "DurableLog", jobs: Sequence[Job], then: Callable[[], object] = ...) -> None:
        """Run a log's jobs one after the other in a thread, then finish them on the loop, then call `then`."""


class DurableWaiter(Struct, eq=False):
    """A producer that waits until the high watermark passes its last record."""

    last_offset: int
    deadline: float
    callback: Durable
    is_producer: bool = False
    """Whether it wants to know what becomes of its record, whoever leads; others take their leave with their leader."""


class Unattended:
    """Nobody looks after the log: one that a tool or a test has opened for itself."""

    def after_sync(self, log: "DurableLog") -> None:
        """Nothing follows."""

    def went_offline(self, log: "DurableLog", error: BaseException) -> None:
        """It stays so."""

    def damage_found(self, log: "DurableLog", damage: DamagedFile) -> None:
        """Not noted."""

    def damage_mended(self, damage: DamagedFile) -> None:
        """Not noted."""

    def disk_is_full(self, refused: str) -> None:
        """Not noted."""

    def run_jobs(self, _log: "DurableLog", jobs: Sequence[Job], then: Callable[[], object] = lambda: None) -> None:
        """At once."""
        for job in jobs:
            job.run()
            job.finish()
        then()


UNATTENDED = Unattended()


class DurableLog:
    """See the module; lives on the event loop."""

    def __init__(
        self,
        topic_id: bytes,
        index: int,
        log: Log,
        rounds: SyncRounds,
        *,
        leader_epoch: int = 0,
        replicas: Replicas | None = None,
        sync_writes: bool = True,
        is_patient: bool = False,
        keeper: LogKeeper = UNATTENDED,
    ) -> None:
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.replicas = Replicas.alone(leader_epoch) if replicas is None else replicas
        self.leader_epoch = self.replicas.row.leader_epoch
        self.epoch_start = log.end_offset
        """Where the log ended when this node became what it is."""
        self.sync_writes = sync_writes
        self.high_watermark: LogPosition = log.end if self.replicas.decides_alone else log.position_of(log.start_offset)
        self._leaders_high_watermark = 0
        self.offline: StorageError | None = None
        self.removed = False
        self.lost_end = False
        """Whether this leader's log has lost its end while it was offline: others may have what it gave those offsets.
        It leads nobody until it is elected anew."""
        self._end_when_failed = 0
        self.is_patient = is_patient
        self._rounds = rounds
        self._keeper = keeper
        self._waiters: deque[DurableWaiter] = deque()
        self._watchers: dict[Watcher, None] = {}
        self._committed_watchers: dict[Watcher, None] = {}
        self._online_listeners: list[Callable[[], object]] = []
        self._tail_watchers: tuple[TailWatcher, ...] = ()
        self._sync_waiters: list[tuple[int, Durable]] = []
        self._stable: LogPosition = self.high_watermark
        self._move_stable_end()

    # -- writing

    def write(self, records: Batch | Buffer, *, origin: Origin = Origin.CLIENT) -> Receipt:
        """Append a batch to this very log, or bytes that are one or more of that origin; it is readable once the high
        watermark has passed it."""
        if self.offline is not None:
            raise fresh(self.offline)
        if self.replicas.not_leader is not None:
            raise fresh(self.replicas.not_leader)
        try:
            if isinstance(records, Batch):
                receipt = self.log.append_batch(records, self.leader_epoch)
            else:
                receipt = self.log.append(records, self.leader_epoch, origin=origin)
        except StorageError as error:
            self._write_failed(error)
            raise
        if not receipt.duplicate:
            if self._tail_watchers:
                self._tell_tail()
            if self.sync_writes:
                # Nearly always: it is what `_appended` comes to, in a call less.
                self._rounds.mark(self)
            else:
                self._appended()
        return receipt

    def _appended(self) -> None:
        if self.sync_writes:
            self._rounds.mark(self)
        else:
            self._became_durable(self.log.end)
            if self.log.maintenance_due:
                self._rounds.mark(self)  # for the snapshot that follows

    def _write_failed(self, error: StorageError) -> None:
        if is_full(error):
            self._keeper.disk_is_full("records")
        if self.log.offline is not None:
            self.take_offline(error)

    def when_durable_to(self, last_offset: int, deadline: float, callback: Durable) -> None:
        """Call back once the record at `last_offset` is under the high watermark, or with why it will not be."""
        if last_offset < self.high_watermark.offset:
            callback(None)
        elif (refusal := self.offline or self.replicas.not_leader) is not None:
            callback(refusal)
        else:
            self._waiters.append(DurableWaiter(last_offset, deadline, callback))

    def when_outcome_known(self, last_offset: int, deadline: float, callback: Durable) -> None:
        """The same for the producer of a record that was written here just now, and may be committed by another."""
        if last_offset < self.high_watermark.offset or self.offline is not None or not self.replicas.leads:
            self.when_durable_to(last_offset, deadline, callback)
        else:
            self._waiters.append(DurableWaiter(last_offset, deadline, callback, is_producer=True))

    def durability_of(self, last_offset: int, deadline: float) -> Deferred[None]:
        """The same as a value that comes later."""
        durable = Deferred[None]()
        self.when_durable_to(last_offset, deadline, partial(settle, durable))
        return durable

    @property
    def has_unsynced(self) -> bool:
        """Whether there are records that were written and will be readable in a moment, when they are synced. Where
        others have to have them too, nobody can tell how long that takes."""
        is_behind = self.log.end_offset > self.high_watermark.offset and self.offline is None
        return is_behind and self.replicas.decides_alone

    @property
    def is_settling(self) -> bool:
        """Whether its leader is new, and does not know yet how far readers of its predecessor have come: further than
        the high watermark, perhaps, and not beyond what it began with."""
        return self.high_watermark.offset < self.epoch_start

    def expire_waiters(self, now: float, error: BrokerError) -> None:
        """Answer producers that have waited past their deadline; their records may still become durable."""
        if self._waiters and not self.replicas.leads:
            error = _outcome_unknown()
            for waiter in self._waiters:
                waiter.deadline = min(waiter.deadline, now + UNKNOWN_AFTER_S)
        late = [waiter for waiter in self._waiters if waiter.deadline <= now]
        if late:
            self._waiters = deque(waiter for waiter in self._waiters if waiter.deadline > now)
            for waiter in late:
                waiter.callback(error)

    # -- syncing (called by SyncRounds)

    def capture_sync(self) -> Ticket:
        """What is dirty in the log now."""
        return self.log.capture_sync()

    @property
    def settling(self) -> bool | None:
        """Whether its files can be synced now; None once it is removed."""
        return None if self.removed else self.offline is None

    def synced(self, ticket: Any, *, settled: bool = True) -> None:
        """The ticket is durable, in its files or in the journal: the high watermark follows."""
        if self.removed:
            return
        if self.log.synced(ticket, settled=settled):
            self._became_durable(ticket.end)
            self._keeper.after_sync(self)

    def sync_failed(self, error: BaseException) -> None:
        """Go offline: what was written may be gone from memory without being on disk."""
        if self.removed:
            return
        self.log.sync_failed()
        self.take_offline(error)

    def take_offline(self, error: BaseException) -> None:
        """Refuse writes until `bring_online`; reading below the high watermark goes on."""
        self.offline = StorageError(f"the partition is offline until its tail is verified again: {error}")
        self._end_when_failed = self.log.end_offset
        self._tell_that_it_failed(self.offline)
        self._tell_synced(self.offline)
        self._keeper.went_offline(self, error)

    def bring_online(self) -> None:
        """The tail has been verified and synced again."""
        self.offline = None
        row = self.replicas.row
        if self.replicas.leads and len(row.replicas) > 1 and self.log.end_offset < self._end_when_failed:
            self.lost_end = True
            self.replicas.not_leader = NotLeader(
                "the log has lost its end, and waits for an election", -1, row.leader_epoch
            )
        self._became_durable(self.log.end)
        for listener in self._online_listeners:
            listener()

    def when_online(self, listener: Callable[[], object]) -> None:
        """Call `listener` whenever the log is back after it was offline."""
        self._online_listeners.append(listener)

    def note_damage(self, damage: DamagedFile) -> None:
        """Somebody who read it has met bytes that cannot be what was written."""
        self._keeper.damage_found(self, damage)

    def note_mended(self, damage: DamagedFile) -> None:
        """What was met there before has been read again, and is sound."""
        self._keeper.damage_mended(damage)

    # -- replicas

    @property
    def role(self) -> Role:
        """What this node is for the partition now."""
        if self.offline is not None:
            return Role.OFFLINE
        return Role.LEADER if self.replicas.leads else Role.FOLLOWER

    def assume(self, row: PartitionRecord) -> bool:
        """Be what a newer row says; False if it is not newer. A leader's epoch is noted before (`Log.begin_epoch`)."""
        before = self.replicas
        if not before.is_news(row):
            return False
        if row.leader_epoch != self.leader_epoch:
            self.lost_end = False
            self.epoch_start = self.log.end_offset
            self._leaders_high_watermark = 0
        self.replicas, self.leader_epoch = before.following(row), row.leader_epoch
        if self.replicas.not_leader is not None:
            self._another_leads(self.replicas.not_leader)
        elif self.replicas.shortage is not None:
            self._fail_impatient(NotEnoughReplicasAfterAppend(str(self.replicas.shortage)))
        if row.leader_epoch != before.row.leader_epoch:
            self.nudge()
        self._move_high_watermark()
        return True

    def replica_durable(self, node: int, end: int) -> None:
        """A follower has the log durable up to `end`."""
        self.replicas.note_durable(node, end)
        self._move_high_watermark()

    def replica_gone(self, node: int) -> None:
        """A follower lives anew: until it tells, nothing is known of what it has."""
        self.replicas.forget(node)

    def let_join(self, nodes: Collection[int]) -> None:
        """These followers are proposed as members of the ISR: the high watermark waits for them from now on."""
        self.replicas.let_join(nodes)
        self._move_high_watermark()

    def ask_for(self, min_insync: int) -> None:
        """`min.insync.replicas` changed."""
        self.replicas.ask_for(min_insync)
        self._move_high_watermark()

    def has_caught_up(self, node: int) -> bool:
        """Whether a follower may join the ISR: it has all that was readable, and all that this leader began with."""
        end = self.replicas.durable_end(node)
        return end is not None and end >= max(self.high_watermark.offset, self.epoch_start)

    def watch_tail(self, watcher: TailWatcher) -> None:
        """Tell `watcher` of everything that is written, at once."""
        self._tail_watchers = (*(each for each in self._tail_watchers if each != watcher), watcher)

    def unwatch_tail(self, watcher: TailWatcher) -> None:
        """Stop telling it."""
        self._tail_watchers = tuple(each for each in self._tail_watchers if each != watcher)

    def _tell_tail(self) -> None:
        for watcher in self._tail_watchers:
            watcher(self)

    # -- following

    def follow(self, records: Buffer, segment: int = BY_ITSELF) -> int:
        """Append what the leader has, unchanged; how many of the bytes were whole batches (`Log.follow`)."""
        if self.offline is not None:
            raise fresh(self.offline)
        assert not self.replicas.leads, "a leader follows nobody"
        try:
            size = self.log.follow(records, segment)
        except StorageError as error:
            self._write_failed(error)
            raise
        self._appended()
        return size

    @property
    def durable_offset(self) -> int:
        """Up to where this node has everything durable."""
        return (self.log.durable_end if self.sync_writes else self.log.end).offset

    def when_synced(self, callback: Durable) -> None:
        """Call back once everything that is written now is durable on this node, or with why it is not."""
        if self.offline is not None:
            callback(self.offline)
        elif self.durable_offset >= self.log.end_offset:
            callback(None)
        else:
            self._sync_waiters.append((self.log.end_offset, callback))

    def _tell_synced(self, error: BrokerError | None = None) -> None:
        waiters, self._sync_waiters = self._sync_waiters, []
        for end_offset, callback in waiters:
            if error is not None or end_offset <= self.durable_offset:
                callback(error)
            else:
                self._sync_waiters.append((end_offset, callback))

    def follow_high_watermark(self, offset: int) -> None:
        """The leader's, as this follower was told."""
        self._leaders_high_watermark = offset
        self._move_high_watermark()

    def set_apart(self) -> None:
        """Its end is about to be cut off in a thread: nobody reads or writes it meanwhile. All of it is durable, so no
        round has anything to do with it."""
        self.offline = StorageError("the partition is being made like its leader's")

    def put_back(self) -> None:
        """It was cut: what was known of its end is found out anew. Where that failed half-way, the disk tells."""
        if self.removed:
            return
        if self.log.offline is not None:
            self.take_offline(StorageError(self.log.offline))
            return
        self.offline = None
        offset = min(self.high_watermark.offset, self.log.end_offset)
        self.high_watermark = self.log.end if offset == self.log.end_offset else self.log.position_of(offset)
        self._stable = self.high_watermark
        self._move_stable_end()
        self._tell_what_was_cut()

    def _tell_what_was_cut(self) -> None:
        """Producers that waited for what was cut off: it is not stored anywhere. Where the log has begun anew, for it
        was damaged or too far behind, this node does not know."""
        start, end = self.log.start_offset, self.log.end_offset
        waiting, self._waiters = self._waiters, deque()
        gone = fresh(self.replicas.not_leader or NotLeader("the records were given up"))
        unknown = RequestTimedOut("whether the records are stored is not known: the log has begun anew")
        for waiter in waiting:
            if start <= waiter.last_offset < end:
                self._waiters.append(waiter)
            else:
                waiter.callback(gone if start < end <= waiter.last_offset else unknown)

    def _became_durable(self, end: LogPosition) -> None:
        if self.replicas.decides_alone:
            self._advance(end)
        else:
            self._move_high_watermark()
        if self._sync_waiters:
            self._tell_synced()

    def recall_high_watermark(self, offset: int) -> None:
        """It was here before the restart; the log may have lost its end since."""
        self._advance_to(offset, self.log.end)

    def _move_high_watermark(self) -> None:
        own = self.log.durable_end if self.sync_writes else self.log.end
        end = self.replicas.least_end(own.offset) if self.replicas.leads else self._leaders_high_watermark
        if end is not None:
            self._advance_to(end, own)

    def _advance_to(self, offset: int, own: LogPosition) -> None:
        """As far as this node has it."""
        if offset >= own.offset:
            self._advance(own)
        elif offset > self.high_watermark.offset:
            self._advance(self.log.position_of(offset))

    # -- who waits for records

    @property
    def stable_end(self) -> LogPosition:
        """Where readers of committed records end."""
        return self._stable

    @property
    def last_stable_offset(self) -> int:
        """Below it every transaction is decided."""
        return self._stable.offset

    def watch(self, watcher: Watcher, *, committed: bool = False) -> None:
        """Tell `watcher` how many bytes became readable whenever the high watermark (or last stable offset) moves."""
        (self._committed_watchers if committed else self._watchers)[watcher] = None

    def unwatch(self, watcher: Watcher) -> None:
        """Stop telling it."""
        self._watchers.pop(watcher, None)
        self._committed_watchers.pop(watcher, None)

    def nudge(self) -> None:
        """Have everybody who waits for records look again."""
        for watcher in (*self._watchers, *self._committed_watchers):
            watcher(0)

    # -- ending

    def remove(self) -> None:
        """The topic is deleted: whoever waits is told, nothing is written any more."""
        self.removed = True
        self.offline = StorageError("the partition was deleted")
        self._fail_waiters(self.offline)
        self._tell_synced(self.offline)
        self.nudge()

    def statistics(self) -> dict[str, int]:
        """Offsets, size and who waits."""
        return {
            "start_offset": self.log.start_offset,
            "high_watermark": self.high_watermark.offset,
            "end_offset": self.log.end_offset,
            "size_bytes": self.log.size_bytes,
            "waiters": len(self._waiters),
            "watchers": len(self._watchers) + len(self._committed_watchers),
        }

    def _advance(self, end: LogPosition) -> None:
        previous = self.high_watermark
        if end.offset <= previous.offset:
            return
        self.high_watermark = end
        stable = self._stable
        self._move_stable_end()
        waiters = self._waiters
        while waiters and waiters[0].last_offset < end.offset:
            waiters.popleft().callback(None)
        if self._watchers:
            _tell(self._watchers, previous, end)
        if self._committed_watchers and self._stable.offset > stable.offset:
            _tell(self._committed_watchers, stable, self._stable)

    def _move_stable_end(self) -> None:
        log, end = self.log, self.high_watermark
        if log.is_decided:
            self._stable = end
            return
        log.passed(end.offset)
        undecided = log.first_undecided_offset
        if undecided is None or undecided >= end.offset:
            self._stable = end
        elif undecided != self._stable.offset:
            self._stable = log.position_of(max(undecided, log.start_offset))

    def _fail_impatient(self, error: BrokerError) -> None:
        """Those who would not wait for ever are told that it may take long: what they wrote is stored."""
        impatient = [waiter for waiter in self._waiters if waiter.deadline != math.inf]
        if impatient:
            self._waiters = deque(waiter for waiter in self._waiters if waiter.deadline == math.inf)
            for waiter in impatient:
                waiter.callback(error)

    def _another_leads(self, refusal: NotLeader) -> None:
        """What producers have written here they wait for, where this node sees what becomes of it."""
        unknown = _outcome_unknown()
        row = self.replicas.row
        waiting, self._waiters = self._waiters, deque()
        for waiter in waiting:
            if not waiter.is_producer:
                waiter.callback(refusal)
            elif self.replicas.node_id in row.replicas:
                self._waiters.append(waiter)
            else:
                waiter.callback(unknown)

    def _tell_that_it_failed(self, error: StorageError) -> None:
        """Producers have written: what they have may be found intact, or followers may have it. So it is not the error
        that says that nothing was stored."""
        waiting, self._waiters = self._waiters, deque()
        for waiter in waiting:
            waiter.callback(NotEnoughReplicasAfterAppend(str(error)) if waiter.is_producer else error)

    def _fail_waiters(self, error: BrokerError) -> None:
        while self._waiters:
            self._waiters.popleft().callback(error)


def _outcome_unknown() -> RequestTimedOut:
    """What a producer is told whose leader was replaced: clients send the same again."""
    return RequestTimedOut("another node leads the partition now, and whether it has the records is not known")


def _tell(watchers: dict[Watcher, None], previous: LogPosition, end: LogPosition) -> None:
    same_segment = end.segment == previous.segment
    added = end.position - previous.position if same_segment else end.position + 1
    for watcher in tuple(watchers):
        watcher(added)
