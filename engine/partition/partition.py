"""A partition: its log, the stage that it may have, and what clients and coordinators do with the two.

Records that may not be read yet are not in the log but in the stage, and come into the log when their time has come or
somebody reads (engine/stage/stage.py). Nobody outside has to know which of the two has a record: `append` says in its
receipt how far both must be durable, `reported_end` counts what the stage promises, `end_transaction` writes its
marker wherever it belongs. A partition without a stage pays for none of this but a comparison with None.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from engine.catalogue.records import PartitionRecord
from engine.clock import Clock
from engine.deferred import Deferred
from engine.errors import (
    BrokerError,
    FencedLeaderEpoch,
    OffsetOutOfRange,
    RequestTimedOut,
    StorageError,
    UnknownLeaderEpoch,
    fresh,
)
from engine.files.page_cache import read_resident
from engine.log.aborted_index import AbortedTransaction
from engine.log.deletion import deletion_jobs
from engine.log.log import Log, LogPosition, LogRead, Origin, ProducerInfo
from engine.log.transactions import EndMarker, build_marker, check_ending
from engine.log.types import Receipt
from engine.partition.durable_log import UNATTENDED, Durable, DurableLog, DurableWaiter, LogKeeper
from engine.partition.lane_readers import PromiseWatcher
from engine.partition.replicas import Replicas
from engine.partition.stage_observer import StageObserver
from engine.partition.staging import StageKeeper, Staging
from engine.partition.sync import SyncRounds
from engine.partition.traffic import Traffic
from engine.records.batch import Batch, made
from engine.records.layout import HEADER_SIZE, BatchHeader, parse_header
from engine.stage.stage import Stage
from engine.stage.unread import Unread
from engine.timers import Timers
from engine.workers import Workers

HOLES_PASSED = 256
"""A fetch passes so many batches that give nobody anything before it answers."""


class PartitionRead(Struct, frozen=True):
    """What a Fetch gets of one partition."""

    log_read: LogRead | None
    high_watermark: int
    last_stable_offset: int
    start_offset: int
    aborted: Sequence[AbortedTransaction] | None = None


class Partition(DurableLog):
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
        keeper: LogKeeper = UNATTENDED,
    ) -> None:
        super().__init__(
            topic_id,
            index,
            log,
            rounds,
            leader_epoch=leader_epoch,
            replicas=replicas,
            sync_writes=sync_writes,
            keeper=keeper,
        )
        self.traffic = Traffic()
        self.staging: Staging | None = None
        """The stage and all that goes with it, for `coordinators/release`, which looks after stages. Only a leader has
        one."""
        self.stage_log: DurableLog | None = None
        """The stage's own log, which a follower keeps too."""
        self.stage_is_damaged = False
        """Whether it could not be loaded when this node was to lead."""

    # -- the stage

    @property
    def has_stage(self) -> bool:
        """Whether some of its records may wait in a stage."""
        return self.staging is not None

    @property
    def has_promises(self) -> bool:
        """Whether readers may be told of records whose order is decided when they read."""
        return self.staging is not None and self.staging.stage.prioritised

    @property
    def has_release_in_the_way(self) -> bool:
        """Whether a client's batch has to be opened for the stage, though it asks for nothing."""
        return self.staging is not None and self.staging.in_the_way

    @property
    def logs(self) -> tuple[DurableLog, ...]:
        """Its log, and its stage's if it has one."""
        return (self,) if self.stage_log is None else (self, self.stage_log)

    def open_stage(
        self,
        stage: Stage,
        timers: Timers,
        workers: Workers,
        clock: Clock,
        keeper: StageKeeper,
        observer: StageObserver | None = None,
    ) -> Staging:
        """Have a stage from now on; `resume` on what is returned settles what it left unfinished."""
        assert self.staging is None, "a partition has one stage"
        self.staging, self.stage_log = Staging(self, stage, timers, workers, clock, keeper, observer), stage.store
        return self.staging

    def keep_stage_log(self, store: DurableLog) -> None:
        """Its stage's log was found on the disk."""
        assert self.stage_log is None, "a partition has one stage"
        self.stage_log = store

    def _give_up_stage(self, reason: BrokerError) -> None:
        """Another leads: what is known of the stage is loaded anew if this node ever leads again."""
        staging, self.staging = self.staging, None
        if staging is not None:
            staging.end(reason)

    # -- writing

    def append(self, batch: Batch, *, deadline: float) -> Receipt | Deferred[Receipt]:
        """Take a client's batch: at once, unless a release is in the way. Raises if it is refused. One whose turn has
        not come by the deadline is refused too, and nothing of it is stored."""
        staging = self.staging
        if staging is None:
            assert not batch.hold, "a batch to hold needs a stage"
        elif batch.hold or staging.in_the_way:
            return staging.append(batch, deadline)
        return self.write(batch)

    def when_durable(self, receipt: Receipt, deadline: float, callback: Durable) -> None:
        """Call back once what was just written for a producer is durable, wherever it was written, or with why it will
        not be."""
        last_offset = receipt.last_offset
        if receipt.staged_number < 0:
            if last_offset >= self.high_watermark.offset and self.offline is None and self.replicas.not_leader is None:
                # Nearly always: it is what `when_outcome_known` comes to, in a call less.
                self._waiters.append(DurableWaiter(last_offset, deadline, callback, True))
            else:
                self.when_durable_to(last_offset, deadline, callback)
            return
        assert self.stage_log is not None, "it was staged"
        if last_offset >= 0:
            callback = _both(callback)
            self.when_outcome_known(last_offset, deadline, callback)
        self.stage_log.when_outcome_known(receipt.staged_number, deadline, callback)

    # -- transactions

    def end_transaction(
        self, producer_id: int, epoch: int, marker: EndMarker, *, now_ms: int, deadline: float
    ) -> Deferred[None]:
        """Write a transaction's marker where it belongs; the answer comes when it is durable there."""
        if self.staging is not None:
            return self.staging.end_transaction(producer_id, epoch, marker, deadline)
        check_ending(producer_id, epoch, marker, is_open=self.has_open_transaction(producer_id, epoch))
        batch = made(build_marker(producer_id, epoch, marker, now_ms), Origin.COORDINATOR)
        receipt = self.write(batch)
        return self.durability_of(receipt.last_offset, deadline)

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether this producer has written here, or staged, in a transaction that has not ended."""
        if self.log.has_open_transaction(producer_id, epoch):
            return True
        return self.staging is not None and self.staging.store.log.has_open_transaction(producer_id, epoch)

    def open_producers(self) -> Iterator[ProducerInfo]:
        """Those with a transaction open, in the log or in the stage."""
        for each in self.logs:
            if each.log.first_undecided_offset is not None:
                yield from (producer for producer in each.log.producers() if producer.transaction_start_offset >= 0)

    # -- replicas: the stage has the same (rule 7)

    def begin_epoch(self, epoch: int) -> None:
        """[thread] A new leader notes where its epoch begins, before it is the leader."""
        for each in self.logs:
            each.log.begin_epoch(epoch)

    def assume(self, row: PartitionRecord) -> bool:
        """Be what a newer row says; False if it is not newer. A leader's epoch is noted before (`begin_epoch`)."""
        before = self.leader_epoch
        if not super().assume(row):
            return False
        if self.stage_log is not None:
            self.stage_log.assume(row)
        if self.replicas.not_leader is not None:
            self._give_up_stage(self.replicas.not_leader)
        elif self.staging is not None and row.leader_epoch != before:
            self.staging.resume()
        return True

    def let_join(self, nodes: Collection[int]) -> None:
        """These followers are proposed as members of the ISR: the high watermark waits for them from now on."""
        super().let_join(nodes)
        if self.stage_log is not None:
            self.stage_log.let_join(nodes)

    def ask_for(self, min_insync: int) -> None:
        """`min.insync.replicas` changed."""
        super().ask_for(min_insync)
        if self.stage_log is not None:
            self.stage_log.ask_for(min_insync)

    def has_caught_up(self, node: int) -> bool:
        """Whether a follower may join the ISR: it has all that was readable, and all that this leader began with."""
        return super().has_caught_up(node) and (self.stage_log is None or self.stage_log.has_caught_up(node))

    # -- reading

    def check_leader_epoch(self, epoch: int) -> None:
        """Refuse a client whose metadata is older or newer than ours (KIP-320); -1 asks nothing."""
        if epoch in (-1, self.leader_epoch):
            return
        if epoch < self.leader_epoch:
            reason = f"leader epoch {epoch} is older than {self.leader_epoch}"
            raise FencedLeaderEpoch(reason, self.replicas.row.leader, self.leader_epoch)
        raise UnknownLeaderEpoch(f"leader epoch {epoch} is newer than {self.leader_epoch}")

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The greatest epoch not above `epoch` and where it ended; the current one ends at the high watermark."""
        if epoch == self.leader_epoch:
            return epoch, self.high_watermark.offset
        return self.log.end_offset_for_epoch(epoch)

    @property
    def is_settling(self) -> bool:
        """The same of the log and of the stage, which promises an end of its own."""
        return super().is_settling or (self.stage_log is not None and self.stage_log.is_settling)

    @property
    def reported_end(self) -> int:
        """The end that readers are told: the high watermark, or what a stage promises beyond it."""
        return self.high_watermark.offset if self.staging is None else self.staging.readers.promised_end

    def read(
        self, offset: int, max_bytes: int, *, at_least_one: bool, committed: bool = False, as_follower: bool = False
    ) -> PartitionRead:
        """Batches from the one that holds `offset`, up to the high watermark; with `committed`, to the last stable
        offset, and which of them were aborted. A follower may be read from, too (KIP-392)."""
        if self.replicas.not_leader is not None and not as_follower:
            raise fresh(self.replicas.not_leader)
        high_watermark = self.high_watermark
        upto = self._stable if committed else high_watermark
        aborted: Sequence[AbortedTransaction] | None = [] if committed else None
        if upto.offset <= offset <= high_watermark.offset or high_watermark.offset < offset <= self.log.end_offset:
            # A new leader may not know yet how far its predecessor had come: what was read there is here, too.
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

    # -- reading what is promised beyond the log's end (nothing, without a stage)

    def linearise(self, offset: int, limit_bytes: int) -> bool:
        """See to it that there is something to read at `offset`, at the log's end or beyond; False if there is nothing
        to be had. Who asked learns of it as of anything that is appended: by the high watermark."""
        return self.staging is not None and self.staging.readers.linearise(offset, limit_bytes)

    def watch_promises(self, watcher: PromiseWatcher) -> None:
        """Tell `watcher` whenever more is promised beyond the log's end."""
        if self.staging is not None:
            self.staging.readers.watch(watcher)

    def unwatch_promises(self, watcher: PromiseWatcher) -> None:
        """Stop telling it."""
        if self.staging is not None:
            self.staging.readers.unwatch(watcher)

    def unread(self) -> Unread | None:
        """What is promised beyond the log's end, for a look-up by time in a thread; None if that is nothing."""
        return None if self.staging is None else self.staging.stage.unread(self.log.end_offset)

    # -- deleting

    def delete_records(self, offset: int) -> Deferred[int]:
        """Raise the start to `offset`; the answer is the start, once that is durable. What is promised below it and not
        yet in the log is put in order first (rule 9); once the answer is abandoned, it is refused if it still waits for
        that, and the start stays."""
        end = self.reported_end
        if not 0 <= offset <= end:
            raise OffsetOutOfRange(f"offset {offset} is not between 0 and the high watermark {end}")
        answer = Deferred[int]()
        if offset <= self.high_watermark.offset:
            self._raise_start(offset, answer)
        else:
            self._raise_start_later(offset, answer)
        return answer

    def _raise_start(self, offset: int, answer: Deferred[int]) -> None:
        if offset <= self.log.start_offset:
            answer.resolve(self.log.start_offset)
            return
        jobs = deletion_jobs(self.log, offset)

        def done() -> None:
            if jobs[-1].error is None:
                answer.resolve(self.log.start_offset)
            else:
                answer.refuse(StorageError(f"the new start could not be written: {jobs[-1].error}"))

        self._keeper.run_jobs(self, jobs, done)

    def _raise_start_later(self, offset: int, answer: Deferred[int]) -> None:
        assert self.staging is not None, "only a stage promises more than the log holds"

        is_waiting = True

        def look(_added_bytes: int) -> None:
            if self.removed:
                end(lambda: answer.refuse(self.offline or StorageError("the partition was deleted")))
            elif self.high_watermark.offset >= offset:
                end(lambda: self._raise_start(offset, answer))

        def end(then: Callable[[], object]) -> None:
            nonlocal is_waiting
            if is_waiting:
                is_waiting = False
                self.unwatch(look)
                then()

        late = RequestTimedOut(f"the records below offset {offset} could not be put in order in time")
        self.watch(look)
        answer.on_abandoned(lambda: end(lambda: answer.refuse(self.offline or late)))
        self.staging.readers.order_up_to(offset)


def stages_of(partitions: Iterable[Partition]) -> list[Staging]:
    """Of those that have one."""
    return [partition.staging for partition in partitions if partition.staging is not None]


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


def _both(callback: Durable) -> Durable:
    """What is called twice and calls back once: after both, or at the first error."""
    left = 2

    def one(error: BrokerError | None) -> None:
        nonlocal left
        left -= 1
        if left == 0 or (left > 0 and error is not None):
            left = 0
            callback(error)

    return one
