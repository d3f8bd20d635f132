"""What the tests of the stage share: clients' batches with extension headers, a partition and its stage on a disk in
memory, and a driver that does what `coordinators/release` does, one step at a time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from attrs import define, evolve, field

from engine.catalogue.records import PartitionRecord
from engine.clock import ManualClock
from engine.errors import BrokerError, StorageError
from engine.files.memory import MemoryFiles
from engine.log.jobs import Job
from engine.log.log import Log, LogConfig
from engine.log.transactions import EndMarker, build_marker
from engine.log.types import Origin
from engine.partition.partition import Partition
from engine.partition.replicas import Replicas
from engine.partition.sync import SyncRounds
from engine.records.batch import whole
from engine.records.compression import compress
from engine.records.layout import (
    MAGIC,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    pack_record,
    parse_header,
    record_section,
    seal_batch,
    split_batches,
    walk_records,
)
from engine.stage import checkpoint
from engine.stage.codecs import in_codecs
from engine.stage.config import ExtensionConfig
from engine.stage.events import Intent
from engine.stage.headers import NO_DIRECTIVE, OpenedRecord, open_records, sniff
from engine.stage.opening import load_state, stage_log_config
from engine.stage.pending import PendingRow
from engine.stage.repack import ONE_SHOT_HEADERS, RENAMED_PREFIX
from engine.stage.stage import Held, Stage
from engine.stage.state import StageState
from engine.stage.steady_clock import SteadyClock
from engine.stage.tidying import Tidying, bound_bytes
from engine.workers import InlineWorkers
from tests.engine.logs import DIRECTORY, NOW_MS, memory_files

STAGE_DIRECTORY = f"{DIRECTORY}/stage"
LOG_CONFIG = LogConfig(segment_bytes=4000, index_interval_bytes=200, timestamp_after_max_ms=2**60)
STAGE_SEGMENT_BYTES = 4000
STAGE_FLOOR_BYTES = 500
COLLECTED = 50
LEADER, FOLLOWER = 1, 2
RELEASED_BYTES = 160
"""Of one released batch: so small that an intent has several, of which a crash may leave some."""


class Record(NamedTuple):
    """A client's record; the header values of extensions are text."""

    value: bytes
    headers: tuple[tuple[bytes, bytes | None], ...] = ()
    key: bytes | None = b"k"
    created_ms: int = NOW_MS


def record(value: str | bytes = b"v", *, key: bytes | None = b"k", created_ms: int = NOW_MS, **asked: object) -> Record:
    """`record("v", delay=5)` asks for `tide-delay: 5`; an underscore stands for a dash."""
    headers = tuple((b"tide-" + name.replace("_", "-").encode(), str(value).encode()) for name, value in asked.items())
    return Record(value.encode() if isinstance(value, str) else value, headers, key, created_ms)


def client_batch(
    records: Sequence[Record],
    *,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
    codec: int = 0,
) -> bytes:
    """The batch that a client would send."""
    base_ms = records[0].created_ms
    section = b"".join(
        pack_record(index, one.created_ms - base_ms, one.key, one.value, one.headers)
        for index, one in enumerate(records)
    )
    header = BatchHeader(
        0, 0, -1, MAGIC, 0, codec | (TRANSACTIONAL_FLAG if transactional else 0), len(records) - 1, base_ms,
        max(one.created_ms for one in records), producer_id, epoch, sequence, len(records),
    )  # fmt: skip
    return seal_batch(header, compress(codec, section))


def parse(batch: bytes) -> list[Record]:
    """The records of a batch."""
    header = parse_header(batch)
    return [
        Record(
            bytes(span.value or b""),
            tuple((bytes(name), None if value is None else bytes(value)) for name, value in span.headers),
            None if span.key is None else bytes(span.key),
            header.base_timestamp + span.timestamp_delta,
        )
        for span in walk_records(record_section(header, memoryview(batch)), header.record_count)
    ]


def as_released(one: Record) -> Record:
    """What a consumer gets of a staged record."""
    headers = tuple((RENAMED_PREFIX + name if name in ONE_SHOT_HEADERS else name, value) for name, value in one.headers)
    return one._replace(headers=headers)


def opened(batch: bytes, config: ExtensionConfig, now_ms: int) -> list[OpenedRecord] | None:
    """As the produce path has it: None for a batch that asks for nothing that needs the stage."""
    header = parse_header(batch)
    section = record_section(header, memoryview(batch))
    if not sniff(section):
        return None
    found = open_records(section, header.record_count, config.header_rules, now_ms)
    asks = any(one.directive._replace(ttl_ms=None, expires_at_ms=None) != NO_DIRECTIVE for one in found)
    return found if asks else None


def read_batches(log: Log, offset: int) -> Iterator[tuple[BatchHeader, bytes]]:
    """Every batch of a log from `offset` on."""
    while offset < log.end_offset:
        found = log.read(offset, 1 << 20, log.end, at_least_one=True)
        data = b"".join(region.read() for region in found.regions)
        for header, view in split_batches(data):
            yield header, bytes(view)
            offset = header.next_offset


@define(eq=False)
class Node:
    """One broker's disk, and the logs of one partition on it."""

    clock: ManualClock
    files: MemoryFiles = field(factory=memory_files)
    log: Log = field(init=False)
    store: Log = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Recover both logs from disk."""
        stage_config = stage_log_config(2**60, STAGE_SEGMENT_BYTES)
        self.log = Log.open(DIRECTORY, files=self.files, clock=self.clock, config=LOG_CONFIG, name="log")
        self.store = Log.open(STAGE_DIRECTORY, files=self.files, clock=self.clock, config=stage_config, name="stage")

    def load(self, config: ExtensionConfig) -> StageState:
        """The stage's state from checkpoint and log."""
        now_ms = self.clock.now_ms()
        return load_state(self.store, self.files, config.lane_rules, now_ms, now_ms)


@define(eq=False)
class Leader:
    """Leads the partition on one node. `append` and the like write; `make_durable` lets what was written become so."""

    node: Node
    config: ExtensionConfig = field(factory=ExtensionConfig)
    epoch: int = 0
    follower: Node | None = None
    checkpoint_between: bool = False
    """Whether a checkpoint falls between the next intent and its batches."""
    workers: InlineWorkers = field(factory=lambda: InlineWorkers(hold=True))
    rounds: SyncRounds = field(init=False)
    partition: Partition = field(init=False)
    store: Partition = field(init=False)
    stage: Stage = field(init=False)

    def __attrs_post_init__(self) -> None:
        node = self.node
        self.rounds = SyncRounds(self.workers, lambda: None)
        row = PartitionRecord((LEADER, FOLLOWER), (LEADER,), LEADER, self.epoch)
        self.partition, self.store = (
            Partition(b"\1" * 16, 0, log, self.rounds, replicas=Replicas(LEADER, row)) for log in (node.log, node.store)
        )
        self.keep_in_sync(self.follower)
        state = node.load(self.config)
        self.stage = Stage(self.store, state, SteadyClock(node.clock, state.ahead_ms, state.anchor), self.config)

    def keep_in_sync(self, follower: Node | None) -> None:
        """This other replica is in the in-sync set from now on; or none is."""
        self.follower = follower
        before = self.partition.replicas.row
        isr = (LEADER,) if follower is None else (LEADER, FOLLOWER)
        row = evolve(before, isr=isr, partition_epoch=before.partition_epoch + 1)
        for partition in (self.partition, self.store):
            partition.assume(row)
        self._note_follower()

    def _note_follower(self) -> None:
        if self.follower is not None:
            self.store.replica_durable(FOLLOWER, self.follower.store.durable_end.offset)
            self.partition.replica_durable(FOLLOWER, self.follower.log.durable_end.offset)

    @property
    def state(self) -> StageState:
        return self.stage.state

    @property
    def log_end(self) -> int:
        return self.partition.log.end_offset

    @property
    def promised_end(self) -> int:
        """What readers are told."""
        if not self.stage.prioritised:
            return self.partition.high_watermark.offset
        return self.stage.promised_end(self.partition.high_watermark.offset)

    # -- durability

    def sync(self) -> None:
        """What is written is synced here."""
        self.rounds.start_round()
        self.workers.run_held()
        for one in (self.partition, self.store):
            if one.offline is not None:
                raise one.offline
            run_jobs(one.log.maintenance())

    def replicate(self, batches: int | None = None, *, log: bool = True) -> None:
        """The follower fetches so many batches of the stage, and of the log, and syncs them."""
        if self.follower is None:
            return
        copy_batches(self.store.log, self.follower.store, batches)
        if log:
            copy_batches(self.partition.log, self.follower.log, batches)
        self._note_follower()

    def make_durable(self, *, log: bool = True) -> None:
        """Everything is under the high watermark; with `log=False` the stage alone."""
        if log:
            self.sync()
        else:
            ticket = self.store.capture_sync()
            try:
                ticket.run()
            except OSError as error:
                self.store.sync_failed(error)
                raise StorageError(str(error)) from error
            self.store.synced(ticket)
        self.replicate(log=log)

    # -- operations

    def append(self, batch: bytes, *, wait: bool = True, is_letter: bool = False) -> Held | int:
        """A client's batch: the stage's answer, or the offset that it got in the log. `wait`: it is durable then."""
        found = None if is_letter else opened(batch, self.config, self.node.clock.now_ms())
        if found is None and not self.stage.takes_all:
            offset = self.partition.write(batch).base_offset
            if wait:
                self.make_durable()
            return offset
        sent = whole(batch)
        header = sent.header
        assert self.partition.log.check_batch(sent) is None
        shows_lanes = self.config.priority_enable != "false"
        section = sent.section()
        held = self.stage.hold(header, section, found, self.log_end, shows_lanes=shows_lanes, is_letter=is_letter)
        self.partition.log.note_staged(header)
        if held.intent is not None:
            self.carry_out(held.intent)
        if wait:
            self.make_durable()
            self.settle()
        return held

    def end_transaction(self, producer_id: int, committed: bool, epoch: int = 0) -> None:
        """A marker, where it belongs, durable."""
        marker = EndMarker(committed, 0)
        batch = build_marker(producer_id, epoch, marker, self.node.clock.now_ms())
        log = self.partition.log
        log.check_marker(parse_header(batch), marker)
        in_log = not self.stage.prioritised or log.has_open_transaction_of(producer_id)
        if producer_id in self.state.transactions or self.stage.prioritised:
            held = self.stage.end_transaction(producer_id, epoch, marker, self.log_end)
            if held.intent is not None:
                self.carry_out(held.intent)
        if in_log:
            self.partition.write(batch, origin=Origin.COORDINATOR)
        else:
            log.note_staged_marker(parse_header(batch), marker)
        self.make_durable()
        self.settle()

    def carry_out(self, intent: Intent) -> None:
        """Rule 3: once the intent is durable its batches follow, at exactly its place."""
        self.make_durable(log=False)
        if self.checkpoint_between:
            self.checkpoint_between = False
            self.checkpoint()
        log = self.partition.log
        while log.end_offset < intent.end_offset:
            batches = self.stage.batches(intent, log.end_offset, RELEASED_BYTES, log.config.segment_bytes)
            self.partition.write(in_codecs(batches, log.config), origin=Origin.RELEASE)
        assert log.end_offset == intent.end_offset, "rule 3"

    def resume(self) -> None:
        """After a restart or failover."""
        self.partition.log.join_producers(self.store.log)
        self.settle()
        for intent in self.stage.unwritten(self.log_end):
            self.carry_out(intent)

    def settle(self) -> list[Intent]:
        return self.stage.settle(self.partition.high_watermark.offset)

    def run_due(self, limit: int = COLLECTED) -> int:
        """Release what is due, for one call; how many records that was about."""
        due = self.stage.collect(limit)
        try:
            intent = self.stage.release_due(due, self.log_end)
        except BrokerError:
            self.stage.put_back(due)
            raise
        if intent is not None:
            self.carry_out(intent)
        return len(due.ready) + len(due.expired)

    def linearise(self, offset: int, limit_records: int = 500, limit_bytes: int = 1 << 20) -> Intent | None:
        """A Fetch at `offset`, which is at the log's end or beyond."""
        log_end = self.log_end
        assert log_end <= offset <= self.promised_end
        if offset > log_end:
            intent = self.stage.linearise_first(offset - log_end, limit_records, limit_bytes, log_end)
        else:
            intent = self.stage.linearise(limit_records, limit_bytes, log_end)
        if intent is not None:
            self.carry_out(intent)
        return intent

    # -- keeping it small

    def checkpoint(self) -> int:
        """Write the state as it is, once it is durable; drop the segments that it does not need."""
        self.make_durable(log=False)
        log, state = self.store.log, self.state
        offset, pieces = log.end_offset, checkpoint.encode(state)
        live = state.live_segments()
        checkpoint.write(self.node.files, log.directory, offset, pieces)
        dead = []
        for segment, following in zip(log.segments, log.segments[1:], strict=False):
            if following.base_offset > offset or segment.base_offset in live:
                break
            dead.append(segment)
        if dead:
            # The snapshot first: what the stage knows of its producers must not go with the segments.
            run_jobs([*log.maintenance(), log.delete_segments_job(dead)])
        return len(dead)

    def move(self) -> int:
        """Copy what waits in the oldest segment to the end."""
        oldest = self.store.log.segments[0].base_offset
        rows = [row for row in self.state.table.rows() if row.segment == oldest]
        if rows:
            self.stage.move(rows)
        return len(rows)

    def tidy(self) -> None:
        """Bring the stage under its bound, if it is above."""
        tidying = Tidying.begin(self.stage, STAGE_FLOOR_BYTES)
        while tidying is not None and not tidying.done:
            tidying.move(tidying.next_rows())
        self.checkpoint()
        if not any(row.segment < self.store.log.segments[-1].base_offset for row in self.state.intended.values()):
            assert self.store.log.size_bytes <= bound_bytes(self.stage, STAGE_FLOOR_BYTES)

    # -- reading

    def row(self, number: int) -> PendingRow:
        found = self.state.table.get(number)
        assert found is not None
        return found

    def records(self) -> list[Record]:
        """All that the log holds, holes and markers left out."""
        return [
            one
            for header, batch in read_batches(self.partition.log, self.partition.log.start_offset)
            if not header.is_control
            for one in parse(batch)
        ]

    def values(self) -> list[str]:
        return [one.value.decode() for one in self.records()]


def run_jobs(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job.run()
        job.finish()
        if job.error is not None:
            raise StorageError(str(job.error))


def copy_batches(source: Log, target: Log, count: int | None) -> None:
    """What a follower's fetch does: the leader's batches as they are."""
    # The leader's log may start in the middle of a batch.
    for header, batch in read_batches(source, max(target.end_offset, source.start_offset)):
        if count is not None and count <= 0:
            break
        target.append(batch, header.leader_epoch, origin=Origin.REPLICA)
        count = None if count is None else count - 1
    ticket = target.capture_sync()
    ticket.run()
    target.synced(ticket)


def follow_from(follower: Node, leader: Node, common: tuple[int, int]) -> None:
    """Drop what lies beyond the common ends of stage and log, and copy all that the leader has."""
    for own, theirs, end in ((follower.store, leader.store, common[0]), (follower.log, leader.log, common[1])):
        own.truncate_to(min(end, theirs.end_offset))
        if own.end_offset < theirs.start_offset:
            first = next((header.base_offset for header, _ in read_batches(theirs, theirs.start_offset)), None)
            own.truncate_fully_and_start_at(theirs.start_offset if first is None else first)
        copy_batches(theirs, own, None)


def reopened(leader: Leader) -> Leader:
    """The same disk after a restart."""
    node = Node(leader.node.clock, leader.node.files)
    after = Leader(node, leader.config, leader.epoch + 1)
    after.resume()
    return after


def dump(state: StageState) -> Mapping[str, object]:
    """Everything that a state holds, to be compared; wheels by what they will still give."""
    lanes = state.lanes
    numbers = {row.number for row in state.table.rows()}
    return {
        "rows": list(state.table.rows()),
        "ids": sorted((row.id_hash, state.table.by_id(row.id_hash)) for row in state.table.rows() if row.id_hash),
        "lanes": b"".join(lanes.encode()),
        "intents": [(intent.first_offset, intent.pieces) for intent in state.intents],
        "transactions": {
            key: (one.numbers, one.holds) for key, one in state.transactions.items() if one != type(one)()
        },
        "held_by": {number: holders for number, holders in state.held_by.items() if holders},
        "dead_letters": list(state.dead_letters),
        "prioritised": state.prioritised,
        "ahead_ms": state.ahead_ms,
        "anchor": state.anchor,
        "pending": numbers,
    }
