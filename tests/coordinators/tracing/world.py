"""Tracing over a partition in memory whose syncs happen when told, at times that stand still."""

from collections.abc import Sequence
from itertools import count

from attrs import define, field

from coordinators.topic_view import Topic
from coordinators.tracing.settings import TraceSettings
from coordinators.tracing.tracing import Tracing
from engine.clock import ManualClock
from engine.files.files import Buffer
from engine.files.memory import MemoryFiles
from engine.log.types import Receipt
from engine.partition.partition import Partition
from engine.partition.sync import SyncRounds
from engine.records.batch import Batch, Publisher, whole
from engine.trace.record_trace import RecordTrace, TraceEvent
from engine.workers import InlineWorkers
from tests.coordinators.conftest import Desk
from tests.engine.logs import memory_files, open_log
from tests.engine.trace.traces import Headers, batch

QUIET = {"trace.sample.per.second": "0"}


@define(eq=False)
class Heard:
    """A sink that remembers."""

    events: list[tuple[RecordTrace, TraceEvent]] = field(factory=list)
    flushed: int = 0
    closed: int = 0

    def event(self, trace: RecordTrace, event: TraceEvent) -> None:
        self.events.append((trace, event))

    def statistics(self) -> dict[str, int]:
        return {"heard": len(self.events)}

    def flush(self) -> None:
        self.flushed += 1

    def close(self) -> None:
        self.closed += 1


@define(eq=False)
class World:
    """A broker's worth of tracing: topic `orders` without sampling, unless configured."""

    configs: dict[str, str] = field(factory=lambda: dict(QUIET))
    settings: TraceSettings = field(factory=TraceSettings)
    clock: ManualClock = field(factory=ManualClock)
    desk: Desk = field(factory=Desk)
    files: MemoryFiles = field(factory=memory_files)
    workers: InlineWorkers = field(factory=lambda: InlineWorkers(hold=True))
    heard: Heard = field(factory=Heard)
    topic: Topic = field(init=False)
    partition: Partition = field(init=False)
    tracing: Tracing = field(init=False)
    rounds: SyncRounds = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.topic = self.desk.create("orders", configs=dict(self.configs))
        self.rounds = SyncRounds(self.workers, lambda: None)
        self.partition = Partition(self.topic.topic_id, 0, open_log(self.files, clock=self.clock), self.rounds)
        numbers = count(1)
        self.tracing = Tracing(self.clock, lambda size: next(numbers).to_bytes(size), self.settings, sinks=[self.heard])

    def produce(
        self, records: Sequence[tuple[bytes | None, bytes | None, Headers]], *, door: str | None = None
    ) -> Receipt:
        return self.append(batch(records), door=door)

    def append(self, data: Buffer, *, section: Buffer | None = None, door: str | None = None) -> Receipt:
        sent = whole(bytes(data))
        result = self.partition.write(sent)
        # What the log has opened for itself is not for the traces to find.
        received = Batch(data, sent.header, publisher=Publisher("till", "10.0.0.1", door), opened=section)
        self.tracing.received(self.topic, self.partition, received, result)
        return result

    def sync(self) -> None:
        self.rounds.start_round()
        self.workers.run_held()

    def fetch(self, offset: int, *, max_bytes: int = 2**20, client_id: str = "cook", address: str = "10.0.0.7") -> None:
        """As a door does it."""
        read = self.partition.read(offset, max_bytes, at_least_one=True)
        if read.log_read is not None and read.log_read.size:
            self.tracing.answered("orders", 0, offset, read.log_read.regions, client_id, address)

    def traces(self) -> list[RecordTrace]:
        """Oldest first."""
        return list(reversed(self.tracing.store.search().traces))

    def kinds(self, trace: RecordTrace) -> list[str]:
        return [event.kind.value for event in trace.events]
