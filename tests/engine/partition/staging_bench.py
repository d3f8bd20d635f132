"""A partition with a stage on a disk in memory; syncs and time pass when told."""

import math
from collections.abc import Callable, Sequence

from attrs import define, field

from engine.clock import ManualClock
from engine.errors import BrokerError, PolicyViolation
from engine.files.memory import MemoryFiles
from engine.log.log import Log, LogConfig
from engine.log.transactions import EndMarker
from engine.log.types import Receipt
from engine.partition.durable_log import DurableLog
from engine.partition.partition import Partition
from engine.partition.staging import Staging
from engine.partition.sync import SyncRounds
from engine.records.batch import Batch, whole
from engine.records.layout import HEADER_SIZE, parse_header, split_batches, walk_records
from engine.stage.config import ExtensionConfig
from engine.stage.headers import open_records, sniff
from engine.stage.opening import load_state, stage_log_config
from engine.stage.stage import Stage
from engine.stage.state import StageState
from engine.stage.steady_clock import SteadyClock
from engine.timers import Timers
from engine.workers import InlineWorkers
from tests.engine.logs import DIRECTORY, NOW_MS, memory_files
from tests.engine.stage.world import Record, client_batch

STAGE_DIRECTORY = f"{DIRECTORY}/stage"

Outcome = Receipt | BrokerError
Answer = Callable[[Outcome], object]


@define
class Bench:
    """See the module."""

    config: ExtensionConfig = field(factory=ExtensionConfig)
    log_config: LogConfig = field(factory=lambda: LogConfig(timestamp_after_max_ms=2**60))
    room: int = 2**60
    files: MemoryFiles = field(factory=memory_files)
    clock: ManualClock = field(factory=lambda: ManualClock(NOW_MS))
    reserves: int = 0
    """How often there is something to give up on a full disk."""
    rooms_made: int = 0
    workers: InlineWorkers = field(init=False)
    timers: Timers = field(init=False)
    rounds: SyncRounds = field(init=False)
    partition: Partition = field(init=False)
    staging: Staging = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """As a start of the broker does it."""
        self.workers, self.timers = InlineWorkers(hold=True), Timers()
        self.rounds = SyncRounds(self.workers, lambda: None)
        self.partition = Partition(b"\1" * 16, 0, self._log(DIRECTORY, self.log_config), self.rounds)
        log = self._log(STAGE_DIRECTORY, stage_log_config(86_400_000))
        state = load_state(log, self.files, self.config.lane_rules, self.clock.now_ms(), self.clock.now_ms())
        store = DurableLog(b"\1" * 16, 0, log, self.rounds)
        stage = Stage(store, state, SteadyClock(self.clock, state.ahead_ms, state.anchor), self.config)
        self.staging = self.partition.open_stage(stage, self.timers, self.workers, self.clock, self)
        self.staging.resume()

    def _log(self, directory: str, config: LogConfig) -> Log:
        return Log.open(directory, files=self.files, clock=self.clock, config=config)

    # -- as the keeper of stages

    def check_room(self, _staging: Staging, size: int, _record_count: int) -> None:
        if size > self.room:
            raise PolicyViolation("stage.max.bytes")

    def make_room(self) -> bool:
        self.rooms_made += 1
        if self.rooms_made > self.reserves:
            return False
        self.files.stop_failing()
        return True

    def load(self, staging: Staging) -> StageState:
        now_ms = self.clock.now_ms()
        return load_state(staging.store.log, self.files, self.config.lane_rules, now_ms, now_ms)

    def changed(self, staging: Staging) -> None:
        """Nothing is kept small here."""

    def has_dead_letters(self, staging: Staging) -> None:
        """They wait."""

    def lose_power(self) -> None:
        """What was not synced is gone; then a new start."""
        self.files.crash()
        self.open()

    # -- doing

    def produce(self, *records: Record, wait_s: float = math.inf, **producer: int | bool) -> list[Outcome]:
        """Hand a batch in; its outcome follows in the list that is returned, maybe later."""
        outcomes: list[Outcome] = []
        self.send(records, outcomes.append, wait_s, **producer)
        return outcomes

    def send(self, records: Sequence[Record], answer: Answer, wait_s: float = math.inf, **producer: int | bool) -> None:
        """Hand a batch in; `answer` is called with its outcome."""
        batch = whole(client_batch(records, **producer))  # type: ignore[arg-type]
        if sniff(batch.section()):
            rules = self.config.header_rules
            batch.asked = open_records(batch.section(), len(records), rules, self.clock.now_ms())
            batch.hold = True
        batch.shows_lanes = self.config.priority_enable != "false"
        self.append(batch, answer, wait_s)

    def append(self, batch: Batch, answer: Answer, wait_s: float = math.inf) -> None:
        """Hand a batch in that was opened already."""
        try:
            outcome = self.partition.append(batch, deadline=self.clock.monotonic() + wait_s)
        except BrokerError as error:
            answer(error)
            return
        if isinstance(outcome, Receipt):
            answer(outcome)
        else:
            outcome.when_settled(answer, answer)

    def configure(self, config: ExtensionConfig) -> None:
        """The topic's keys are changed."""
        self.config = config
        self.staging.configure(config)

    def end(
        self, producer_id: int, *, committed: bool, epoch: int = 0, wait_s: float = math.inf
    ) -> list[BrokerError | None]:
        """End a transaction; the answer follows in the list."""
        answers: list[BrokerError | None] = []
        marker, now_ms = EndMarker(committed, 0), self.clock.now_ms()
        deadline = self.clock.monotonic() + wait_s
        ended = self.partition.end_transaction(producer_id, epoch, marker, now_ms=now_ms, deadline=deadline)
        ended.when_settled(answers.append, answers.append)
        return answers

    def sync(self, rounds: int = 4) -> None:
        """Everything that is written, and what follows from it, becomes durable."""
        for _ in range(rounds):
            self.rounds.start_round()
            self.workers.run_held()

    def sync_stage(self) -> None:
        """The stage alone becomes durable, and what follows from that is written."""
        ticket = self.staging.store.capture_sync()
        ticket.run()
        self.staging.store.synced(ticket)

    def pass_ms(self, duration_ms: int) -> None:
        """Time passes, timers are called, everything is synced."""
        self.clock.advance_ms(duration_ms)
        for _ in range(5):
            self.timers.run_due(self.clock.monotonic())
            self.sync(2)

    # -- seeing

    def log_values(self) -> list[tuple[int, bytes]]:
        """What consumers read: offsets and values, in the log under its high watermark."""
        found: list[tuple[int, bytes]] = []
        for header, batch in self._batches():
            section = batch[HEADER_SIZE:]
            for span in walk_records(section, header.record_count):
                if not header.is_control:
                    found.append((header.base_offset + span.offset_delta, bytes(span.value or b"")))
        return found

    def values(self) -> list[bytes]:
        return [value for _, value in self.log_values()]

    def _batches(self) -> Sequence[tuple]:  # type: ignore[type-arg]
        read = self.partition.read(self.partition.log.start_offset, 2**31, at_least_one=True)
        if read.log_read is None:
            return []
        found = []
        for region in read.log_read.regions:
            data = region.file.pread(region.size, region.position)
            found += [(parse_header(batch), batch) for _, batch in split_batches(data)]
        return found
