"""All partitions that lie on this node: opened at start, made, removed, looked after, closed.

Of a topic there may be all, some or none: which there are is asked of the catalogue's rows, who leads them of the
partitions (coordinators/records/directory.py asks the three questions for clients).

Logs are opened (and recovered) in worker threads, many at once. A partition without files costs a few
objects: its directory appears with the first append.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from attrs import define, field, frozen

from engine.clock import Clock
from engine.damage import Damage, DamagedFile, Damages
from engine.errors import RequestTimedOut, StorageError
from engine.files.files import Files
from engine.files.reserve import Reserve, is_full
from engine.journal.journal import Journal
from engine.log.jobs import Job
from engine.log.log import Log, LogConfig
from engine.log.producer_room import ProducerRoom
from engine.log.recovery import STAGE, new_state, parents, write_journal_birth, write_journal_floor
from engine.log.segment import LOG_SUFFIX
from engine.log.types import LogExtent
from engine.partition.durable_log import DurableLog
from engine.partition.partition import Partition
from engine.partition.replicas import Replicas
from engine.partition.storage import Storage
from engine.partition.sync import SyncRounds
from engine.partition.watermarks import Watermarks, read_watermarks, write_watermarks
from engine.workers import Workers

REVERIFY_DELAY_S = 1.0
RESERVE_FILE = "deletion-reserve"


@frozen
class PartitionSpec:
    """What is needed to open a partition."""

    topic_id: bytes
    index: int
    config: LogConfig
    sync_writes: bool
    topic: str
    replicas: Replicas = field(factory=Replicas.alone, eq=False)


@define
class Partitions:
    """The partitions by topic id and index, and the chores that keep them well."""

    data_dir: str
    files: Files
    clock: Clock
    workers: Workers
    rounds: SyncRounds
    call_later: Callable[[float, Callable[[], object]], object]
    log_error: Callable[[str], object] = lambda _: None
    journal: Journal | None = None
    refusal: StorageError | None = None
    """Why nothing is taken from clients at the moment."""
    doubts: list[Callable[[], bool]] = field(factory=list, init=False)
    """Each may tell that others may lead by now what this node believes to lead."""
    storage: Storage = field(init=False)
    """The room on the disk."""
    damages: Damages = field(factory=Damages, init=False)
    """What is known to be damaged of their files."""
    _left: Mapping[str, LogExtent] = field(factory=dict, init=False)
    """What the last broker says to have left, by the log's directory inside the data directory."""
    producer_room: ProducerRoom | None = None
    _by_topic: dict[bytes, dict[int, Partition]] = field(factory=dict, init=False)
    _watermarks: Watermarks = field(factory=dict, init=False)
    """As they stand on the disk."""
    _under_way: int = field(default=0, init=False)
    _to_verify: set[DurableLog] = field(factory=set, init=False)
    """Those whose tail will be verified again, or is being."""

    def __attrs_post_init__(self) -> None:
        reserve = Reserve(self.files, f"{self.data_dir}/{RESERVE_FILE}", 0)
        self.storage = Storage(
            self.files, self.data_dir, self.clock, self.workers, self.call_later, reserve, self._refuse_clients
        )
        self.files.room_makers.append(self.storage.make_room)

    def _refuse_clients(self, refusal: StorageError | None) -> None:
        """The reserve for deletions is in use, or there again; others may have their own reason."""
        if self.refusal is None or self.refusal is self.storage.refusal:
            self.refusal = refusal

    @property
    def is_doubtful(self) -> bool:
        """Whether others may lead by now what this node believes to lead: then only what they have too is acknowledged.
        Found out each time: whoever stood still and goes on may not have looked for long."""
        return any(doubt() for doubt in self.doubts)

    # -- looking up

    def get(self, topic_id: bytes, index: int) -> Partition | None:
        """The partition, or None if it does not lie here."""
        partitions = self._by_topic.get(topic_id)
        return None if partitions is None else partitions.get(index)

    def of_topic(self, topic_id: bytes) -> list[Partition]:
        """The partitions of a topic that lie here, by index."""
        return list(self._by_topic.get(topic_id, {}).values())

    def topic_ids(self) -> list[bytes]:
        """Of all topics of which something lies here, in the order in which it came."""
        return list(self._by_topic)

    def __iter__(self) -> Iterator[Partition]:
        for partitions in self._by_topic.values():
            yield from partitions.values()

    def directory(self, topic_id: bytes, index: int | None = None) -> str:
        """Where a topic, or one of its partitions, keeps its files."""
        topic = f"{self.data_dir}/topics/{topic_id.hex()}"
        return topic if index is None else f"{topic}/{index}"

    # -- opening and closing

    def open_log(self, spec: PartitionSpec, *, clean: bool) -> Log:
        """[thread] Open and recover one log; its leader notes its epoch before anything else."""
        self._forget_left_behind(self.directory(spec.topic_id, spec.index))
        log = Log.open(
            self.directory(spec.topic_id, spec.index),
            files=self.files,
            clock=self.clock,
            config=spec.config,
            clean=clean,
            name=f"{spec.topic}-{spec.index}",
            journal=self.journal,
            left=self.left_in(self.directory(spec.topic_id, spec.index)),
        )
        if spec.replicas.leads:
            log.begin_epoch(spec.replicas.row.leader_epoch)
        return log

    def open_arrived(self, spec: PartitionSpec) -> Log:
        """[thread] The log of a partition that comes to this node, and may have been here before."""
        directory = self.directory(spec.topic_id, spec.index)
        if not self.files.list(directory):
            self.forget_journaled(directory)
        return self.open_log(spec, clean=False)

    def _forget_left_behind(self, directory: str) -> None:
        """[thread] A log that the journal knows has a segment. If not, it was put aside, and its node ended before
        that was said."""
        stage = f"{directory}/{STAGE}"
        if self.journal is not None and (self.journal.left(directory) or self.journal.left(stage)):
            names = [*self.files.list(directory), *self.files.list(stage)]
            if not any(name.endswith(LOG_SUFFIX) for name in names):
                self.forget_journaled(directory)

    def forget_journaled(self, directory: str) -> None:
        """[thread] The files of a log are gone, or its stage's: what the journal holds of them must not come back."""
        if self.journal is None:
            return
        self.files.make_directories(directory)
        write = write_journal_floor if os.path.basename(directory) == STAGE else write_journal_birth
        write(self.files, directory, self.journal.place)
        for parent in parents(directory):
            # Else a power cut brings back the directory of before.
            self.files.sync_directory(parent)

    def new_log(self, spec: PartitionSpec) -> Log:
        """[thread] The log of a new partition. Its topic's id is new, so there is nothing on the disk to look for."""
        directory, name = self.directory(spec.topic_id, spec.index), f"{spec.topic}-{spec.index}"
        log = Log(directory, self.files, self.clock, spec.config, name, new_state(spec.config), self.journal)
        if spec.replicas.leads:
            log.begin_epoch(spec.replicas.row.leader_epoch)
        return log

    @contextmanager
    def expecting(self, left: Mapping[str, LogExtent]) -> Iterator[None]:
        """While logs are opened that the last broker says to have left so."""
        self._left = left
        try:
            yield
        finally:
            self._left = {}

    def left_in(self, directory: str) -> LogExtent | None:
        """What must be there, if that is known."""
        return self._left.get(directory.removeprefix(f"{self.data_dir}/"))

    def extents(self) -> dict[str, LogExtent]:
        """What all logs hold, for the next broker."""
        logs = [partition.log for partition in self.logs()]
        return {log.directory.removeprefix(f"{self.data_dir}/"): log.extent for log in logs if log.segments}

    def add(self, spec: PartitionSpec, log: Log) -> Partition:
        """Serve an opened log."""
        partitions = self._by_topic.setdefault(spec.topic_id, {})
        assert spec.index not in partitions, "a partition lies on a node once"
        partition = Partition(
            spec.topic_id,
            spec.index,
            log,
            self.rounds,
            replicas=spec.replicas,
            sync_writes=spec.sync_writes,
            keeper=self,
        )
        if not spec.replicas.decides_alone:
            partition.recall_high_watermark(self._watermarks.get((spec.topic_id, spec.index), (0, 0))[0])
        is_last = not partitions or spec.index > next(reversed(partitions))
        partitions[spec.index] = partition
        if not is_last:
            self._by_topic[spec.topic_id] = dict(sorted(partitions.items()))
        self._share_producers(log)
        return partition

    def _share_producers(self, log: Log) -> None:
        if self.producer_room is not None:
            log.share_producers(self.producer_room)

    def add_stage_log(self, partition: Partition, log: Log) -> DurableLog:
        """The log of a partition's stage, looked after like any other."""
        store = DurableLog(
            partition.topic_id,
            partition.index,
            log,
            self.rounds,
            replicas=partition.replicas.twin(),
            sync_writes=partition.sync_writes,
            is_patient=True,  # what follows its sync are releases, some milliseconds of work
            keeper=self,
        )
        if not store.replicas.decides_alone:
            store.recall_high_watermark(self._watermarks.get((partition.topic_id, partition.index), (0, 0))[1])
        self._share_producers(log)
        return store

    def logs(self) -> Iterator[DurableLog]:
        """Of all partitions, and of the stages of those that have one."""
        for partition in self:
            yield from partition.logs

    # -- high watermarks

    def recall_watermarks(self) -> None:
        """[thread] Read those that the last broker noted, before logs are opened."""
        self._watermarks = read_watermarks(self.files, self.data_dir)

    def watermarks(self) -> Watermarks:
        """Of the partitions that other nodes hold too."""
        return {
            (each.topic_id, each.index): (
                each.high_watermark.offset,
                0 if each.stage_log is None else each.stage_log.high_watermark.offset,
            )
            for each in self
            if len(each.replicas.row.replicas) > 1
        }

    def note_watermarks(self, watermarks: Watermarks) -> None:
        """[thread] For the next broker, unless it knows them already."""
        if watermarks != self._watermarks:
            write_watermarks(self.files, self.data_dir, watermarks)
            self._watermarks = watermarks

    def configure(self, topic_id: bytes, config: LogConfig, *, sync_writes: bool, min_insync: int = 1) -> None:
        """A topic's configuration changed: it is in force at once."""
        for partition in self.of_topic(topic_id):
            partition.log.config = config
            for each in partition.logs:
                each.sync_writes = sync_writes
            if min_insync != partition.replicas.min_insync:
                partition.ask_for(min_insync)

    def take_out(self, topic_id: bytes, index: int | None = None) -> list[Partition]:
        """A topic's partitions, or one of them, that nobody finds here any more; each is to be retired."""
        partitions = self._by_topic.get(topic_id, {})
        if index is None:
            return list(self._by_topic.pop(topic_id, {}).values())
        taken = [partitions.pop(index)] if index in partitions else []
        if not partitions:
            self._by_topic.pop(topic_id, None)
        return taken

    def retire(self, partition: Partition) -> None:
        """Whoever waits for a partition that was taken out is told, and its files are closed."""
        for each in partition.logs:
            each.remove()
            self.rounds.forget(each)
            # Files that are still open keep their space on the disk; readers under way have their own references.
            each.log.close(clean=False)

    def remove_files(self, topic_ids: Sequence[bytes]) -> list[bytes]:
        """Delete the directories of topics, and tell which are gone; runs in a thread and can be repeated."""
        removed = []
        for topic_id in topic_ids:
            try:
                self.files.remove_tree(self.directory(topic_id))
            except OSError as error:
                self.log_error(f"files of a deleted topic could not be removed, tried again later: {error}")
            else:
                removed.append(topic_id)
        # Gone for good before the catalogue forgets the topics: a directory that came back would be nobody's.
        with suppress(FileNotFoundError):
            self.files.sync_directory(f"{self.data_dir}/topics")
        return removed

    def idle(self) -> bool:
        """Whether no background work on logs is under way; they can be closed then."""
        return self._under_way == 0

    def close(self, *, clean: bool) -> None:
        """Close every log; a clean close leaves a snapshot at its end. Raises where one could not be closed cleanly."""
        offline = []
        for durable in self.logs():
            durable.log.close(clean=clean and durable.offline is None)
            if durable.offline is not None:
                offline.append(durable.log.name)
        if clean and offline:
            raise StorageError(f"offline and not verified again: {', '.join(offline)}")

    # -- chores

    def expire_waiters(self, now: float) -> None:
        """Answer producers whose deadline has passed."""
        error = RequestTimedOut("the records were not durable before the request's timeout")
        for durable in self.logs():
            durable.expire_waiters(now, error)

    # -- what logs tell (LogKeeper)

    def after_sync(self, durable: DurableLog) -> None:
        """Do its chores, if any are due."""
        if durable.log.maintenance_due:
            self.run_jobs(durable, durable.log.maintenance())

    def run_jobs(self, durable: DurableLog, jobs: Sequence[Job], then: Callable[[], object] = lambda: None) -> None:
        """Run a log's jobs one after the other in a thread, then finish them on the loop, then call `then`."""
        if not jobs:
            return

        def run() -> None:
            for job in jobs:
                job.run()

        def done(_: object, error: BaseException | None) -> None:
            self._under_way -= 1
            try:
                self._finish_jobs(durable, jobs, error)
            finally:
                then()

        self._under_way += 1
        self.workers.submit(run, done)

    def _finish_jobs(self, durable: DurableLog, jobs: Sequence[Job], error: BaseException | None) -> None:
        for job in jobs:
            job.finish(error)
        failed = next((job.error for job in jobs if job.error is not None), None)
        for job in jobs:
            if job.error is not None:
                # Its traceback leads back to the job, and that to files, which would stay open until a collection.
                job.error.__traceback__ = None
        if is_full(failed):
            self.storage.note_full("indexes and snapshots")
        elif failed is not None and not durable.removed:
            self.log_error(f"background work on {durable.log.name} failed: {failed}")
        if durable.log.offline is not None and durable.offline is None and not durable.removed:
            durable.take_offline(failed or StorageError(durable.log.offline))

    def went_offline(self, durable: DurableLog, error: BaseException) -> None:
        """Have its tail verified before long."""
        self.log_error(f"{durable.log.name} is offline: {error}")
        if durable in self._to_verify:
            return
        self._to_verify.add(durable)
        self.call_later(REVERIFY_DELAY_S, lambda: self._reverify(durable))

    def topic_of(self, durable: DurableLog) -> str:
        """The name of a partition's topic, also of a stage's."""
        return durable.log.name.removesuffix(f"/{STAGE}").rpartition("-")[0]

    def disk_is_full(self, refused: str) -> None:
        """What is named here was refused for lack of room."""
        self.storage.note_full(refused)

    def damage_mended(self, damage: DamagedFile) -> None:
        """What was met there before has been read again, and is sound."""
        self.damages.forget(damage.path)

    def damage_found(self, durable: DurableLog, damage: DamagedFile) -> None:
        """Remember it."""
        place = (damage.path, damage.position, damage.problem, self.topic_of(durable), durable.index)
        self.damages.add(Damage(*place, damage.offset, self.clock.now_ms()))

    def _reverify(self, durable: DurableLog) -> None:
        def done(_: object, error: BaseException | None) -> None:
            self._under_way -= 1
            self._to_verify.discard(durable)
            if durable.removed:
                return
            if error is None:
                self._share_producers(durable.log)
                durable.bring_online()
            else:
                self.went_offline(durable, error)

        if durable.removed:
            self._to_verify.discard(durable)
            return
        self._under_way += 1
        self.workers.submit(durable.log.reverify, done)
