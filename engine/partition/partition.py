"""A partition: its log, who leads it, how far it is durable, and who waits for that.

The high watermark is the least durable end of the in-sync replicas (engine/partition/replicas.py); on one node that is
this node's synced end, or with `flush.mode=os` its written end. Nobody reads past it. It only moves forward.
Clients write to the leader and read from it; a follower refuses both, and its high watermark follows the leader's.
Who reads committed records only, reads up to the last stable offset: where the first undecided transaction begins.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from msgspec import Struct

from engine.catalogue.records import PartitionRecord
from engine.damage import DamagedFile
from engine.errors import BrokerError, FencedLeaderEpoch, StorageError, UnknownLeaderEpoch, fresh
from engine.files.files import Buffer
from engine.files.page_cache import read_resident
from engine.files.reserve import is_full
from engine.log.aborted_index import AbortedTransaction
from engine.log.log import AppendResult, Log, LogPosition, LogRead, Origin, ProducerInfo
from engine.partition.replicas import Replicas, Role
from engine.partition.sync import SyncRounds, SyncTicket
from engine.partition.traffic import Traffic
from engine.records.batch import Batch
from engine.records.layout import HEADER_SIZE, BatchHeader, parse_header

HOLES_PASSED = 256
"""A fetch passes so many batches that give nobody anything before it answers."""

Durable = Callable[[BrokerError | None], object]
Watcher = Callable[[int], object]


class PartitionRead(Struct, frozen=True):
    """What a Fetch gets of one partition."""

    log_read: LogRead | None
    high_watermark: int
    last_stable_offset: int
    start_offset: int
    aborted: Sequence[AbortedTransaction] | None = None


class DurableWaiter(Struct, eq=False):
    """A producer that waits until the high watermark passes its last record."""

    last_offset: int
    deadline: float
    callback: Durable


class Partition:
    """One partition as its leader sees it; lives on the event loop."""

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
        on_synced: Callable[["Partition"], object] = lambda _: None,
        on_offline: Callable[["Partition", BaseException], object] = lambda _partition, _error: None,
        on_damage: Callable[["Partition", DamagedFile], object] = lambda _partition, _error: None,
        on_full: Callable[[str], object] = lambda _what: None,
        on_mended: Callable[["Partition", DamagedFile], object] = lambda _partition, _error: None,
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
        self.is_patient = False
        self.traffic = Traffic()
        self.staged: Any = None
        """The partition's stage, if it has one: a `StagedPartition` of coordinators/release."""
        self.on_online: Callable[[], object] | None = None
        self._rounds = rounds
        self._on_synced = on_synced
        self._on_offline = on_offline
        self._on_full = on_full
        self._on_damage = on_damage
        self._on_mended = on_mended
        self._waiters: deque[DurableWaiter] = deque()
        self._watchers: dict[Watcher, None] = {}
        self._committed_watchers: dict[Watcher, None] = {}
        self._stable: LogPosition = self.high_watermark
        self._move_stable_end()

    # -- writing

    def append(self, records: Batch | Buffer, *, origin: Origin = Origin.CLIENT) -> AppendResult:
        """Append a batch, or bytes that are one or more of that origin; it is readable once the high watermark has
        passed it."""
        if self.offline is not None:
            raise fresh(self.offline)
        if self.replicas.not_leader is not None:
            raise fresh(self.replicas.not_leader)
        try:
            if isinstance(records, Batch):
                result = self.log.append_batch(records, self.leader_epoch)
            else:
                result = self.log.append(records, self.leader_epoch, origin=origin)
        except StorageError as error:
            if is_full(error):
                self._on_full("records")
            if self.log.offline is not None:
                self.take_offline(error)
            raise
        if not result.duplicate:
            if self.sync_writes:
                self._rounds.mark(self)
            else:
                self._became_durable(self.log.end)
                if self.log.maintenance_due:
                    self._rounds.mark(self)  # for the snapshot that follows
        return result

    def when_durable(self, last_offset: int, deadline: float, callback: Durable) -> None:
        """Call back once the record at `last_offset` is under the high watermark, or with why it will not be."""
        if last_offset < self.high_watermark.offset:
            callback(None)
        elif (refusal := self.offline or self.replicas.not_leader) is not None:
            callback(refusal)
        else:
            self._waiters.append(DurableWaiter(last_offset, deadline, callback))

    @property
    def has_unsynced(self) -> bool:
        """Whether there are records that were written and cannot be read yet."""
        return self.log.end_offset > self.high_watermark.offset and self.offline is None

    def expire_waiters(self, now: float, error: BrokerError) -> None:
        """Answer producers that have waited past their deadline; their records may still become durable."""
        late = [waiter for waiter in self._waiters if waiter.deadline <= now]
        if late:
            self._waiters = deque(waiter for waiter in self._waiters if waiter.deadline > now)
            for waiter in late:
                waiter.callback(error)

    # -- syncing (called by SyncRounds)

    def capture_sync(self) -> SyncTicket:
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
            self._on_synced(self)

    def sync_failed(self, error: BaseException) -> None:
        """Go offline: what was written may be gone from memory without being on disk."""
        if self.removed:
            return
        self.log.sync_failed()
        self.take_offline(error)

    def take_offline(self, error: BaseException) -> None:
        """Refuse writes until `bring_online`; reading below the high watermark goes on."""
        self.offline = StorageError(f"the partition is offline until its tail is verified again: {error}")
        self._fail_waiters(self.offline)
        self._on_offline(self, error)

    def note_damage(self, damage: DamagedFile) -> None:
        """Somebody who read it has met bytes that cannot be what was written."""
        self._on_damage(self, damage)

    def note_mended(self, damage: DamagedFile) -> None:
        """What was met there before has been read again, and is sound."""
        self._on_mended(self, damage)

    def bring_online(self) -> None:
        """The tail has been verified and synced again."""
        self.offline = None
        self._became_durable(self.log.end)
        if self.on_online is not None:
            self.on_online()

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
            self.epoch_start = self.log.end_offset
            self._leaders_high_watermark = 0
        self.replicas, self.leader_epoch = before.following(row), row.leader_epoch
        if self.replicas.not_leader is not None:
            self._fail_waiters(self.replicas.not_leader)
        if row.leader_epoch != before.row.leader_epoch:
            self.nudge()
        self._move_high_watermark()
        if self.staged is not None:
            self.staged.store.assume(row)
        return True

    def replica_durable(self, node: int, end: int, stage_end: int = 0) -> None:
        """A follower has the log durable up to `end`, and the stage, if there is one, up to `stage_end`."""
        self.replicas.note_durable(node, end)
        self._move_high_watermark()
        if self.staged is not None:
            self.staged.store.replica_durable(node, stage_end)

    def let_join(self, nodes: Collection[int]) -> None:
        """These followers are proposed as members of the ISR: the high watermark waits for them from now on."""
        self.replicas.let_join(nodes)
        self._move_high_watermark()
        if self.staged is not None:
            self.staged.store.let_join(nodes)

    def ask_for(self, min_insync: int) -> None:
        """`min.insync.replicas` changed."""
        self.replicas.ask_for(min_insync)
        self._move_high_watermark()
        if self.staged is not None:
            self.staged.store.ask_for(min_insync)

    def has_caught_up(self, node: int) -> bool:
        """Whether a follower may join the ISR: it has all that was readable, and all that this leader began with."""
        end = self.replicas.durable_end(node)
        if end is None or end < max(self.high_watermark.offset, self.epoch_start):
            return False
        return self.staged is None or bool(self.staged.store.has_caught_up(node))

    def follow_high_watermark(self, offset: int) -> None:
        """The leader's, as this follower was told."""
        self._leaders_high_watermark = offset
        self._move_high_watermark()

    def _became_durable(self, end: LogPosition) -> None:
        if self.replicas.decides_alone:
            self._advance(end)
        else:
            self._move_high_watermark()

    def _move_high_watermark(self) -> None:
        own = self.log.durable_end if self.sync_writes else self.log.end
        if self.replicas.leads:
            end = self.replicas.least_end(own.offset)
        else:
            end = min(self._leaders_high_watermark, own.offset)
        if end is not None and end > self.high_watermark.offset:
            self._advance(own if end == own.offset else self.log.position_of(end))

    # -- reading

    def check_leader_epoch(self, epoch: int) -> None:
        """Refuse a client whose metadata is older or newer than ours (KIP-320); -1 asks nothing."""
        if epoch in (-1, self.leader_epoch):
            return
        if epoch < self.leader_epoch:
            raise FencedLeaderEpoch(f"leader epoch {epoch} is older than {self.leader_epoch}")
        raise UnknownLeaderEpoch(f"leader epoch {epoch} is newer than {self.leader_epoch}")

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The greatest epoch not above `epoch` and where it ended; the current one ends at the high watermark."""
        if epoch == self.leader_epoch:
            return epoch, self.high_watermark.offset
        return self.log.end_offset_for_epoch(epoch)

    @property
    def reported_end(self) -> int:
        """The end that readers are told: the high watermark, or what a stage promises beyond it."""
        return self.high_watermark.offset if self.staged is None else self.staged.promised_end

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether this producer has written here, or staged, in a transaction that has not ended."""
        if self.log.has_open_transaction(producer_id, epoch):
            return True
        return self.staged is not None and self.staged.store.log.has_open_transaction(producer_id, epoch)

    def open_producers(self) -> Iterator[ProducerInfo]:
        """Those with a transaction open, in the log or in the stage."""
        logs = [self.log] if self.staged is None else [self.log, self.staged.store.log]
        for log in logs:
            if log.first_undecided_offset is not None:
                yield from (producer for producer in log.producers() if producer.transaction_start_offset >= 0)

    @property
    def stable_end(self) -> LogPosition:
        """Where readers of committed records end."""
        return self._stable

    @property
    def last_stable_offset(self) -> int:
        """Below it every transaction is decided."""
        return self._stable.offset

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool, committed: bool = False) -> PartitionRead:
        """Batches from the one that holds `offset`, up to the high watermark; with `committed`, to the last stable
        offset, and which of them were aborted."""
        if self.replicas.not_leader is not None:
            raise fresh(self.replicas.not_leader)
        high_watermark = self.high_watermark
        upto = self._stable if committed else high_watermark
        aborted: Sequence[AbortedTransaction] | None = [] if committed else None
        if upto.offset <= offset <= high_watermark.offset:
            log_read = None
        else:
            log_read = self.log.read(offset, max_bytes, upto, at_least_one=at_least_one)
            if committed and log_read.size:
                aborted = self._aborted(offset, log_read.size, upto)
        return PartitionRead(log_read, high_watermark.offset, self._stable.offset, self.log.start_offset, aborted)

    def past_holes(self, offset: int, read: LogRead, upto: LogPosition) -> int | None:
        """Where the first batch begins that gives its reader anything: `offset` itself if it is the one just read, None
        if there is none before `upto`. Only so many are passed, and none that is not in memory."""
        passed = 0
        while (header := _header_in_memory(read)) is not None and header.is_hollow and passed < HOLES_PASSED:
            passed += 1
            offset = header.next_offset
            if offset >= upto.offset:
                return None
            read = self.log.read(offset, 1, upto, at_least_one=True)
            if not read.size:
                return None
        return offset

    def _aborted(self, offset: int, size: int, upto: LogPosition) -> Sequence[AbortedTransaction]:
        found = self.log.aborted_transactions(offset, upto.offset)
        if found:
            bound = self.log.offset_bound(offset, size, upto)
            found = sorted((one for one in found if one.first_offset < bound), key=lambda one: one.first_offset)
        return found

    def count_sent(self, offset: int, read: LogRead, *, committed: bool) -> None:
        """A client is sent what was just read from `offset`; where that ends in the midst of a log the index tells."""
        upto = self._stable if committed else self.high_watermark
        last = read.regions[-1]
        is_all = offset >= upto.segment and last.position + last.size == upto.position
        bound = upto.offset if is_all else self.log.offset_bound(offset, read.size, upto)
        self.traffic.sent(max(bound - offset, 0), read.size)

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

    def _fail_waiters(self, error: BrokerError) -> None:
        while self._waiters:
            self._waiters.popleft().callback(error)


def _header_in_memory(read: LogRead) -> BatchHeader | None:
    """Of the first batch, unless the disk would have to be asked for it."""
    region = read.regions[0]
    descriptor = region.file.fileno()
    try:
        if descriptor is None:
            data: bytes | None = region.file.pread(HEADER_SIZE, region.position)
        else:
            data = read_resident(descriptor, region.position, HEADER_SIZE)
    except OSError as error:
        raise StorageError(f"a batch cannot be read: {error}") from error
    return None if data is None else parse_header(data)


def _tell(watchers: dict[Watcher, None], previous: LogPosition, end: LogPosition) -> None:
    same_segment = end.segment == previous.segment
    added = end.position - previous.position if same_segment else end.position + 1
    for watcher in tuple(watchers):
        watcher(added)
