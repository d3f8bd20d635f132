"""One shard of share partitions' states on a disk in memory; syncs and time move when told."""

from typing import Any

from attrs import define, field

from coordinators.runtime import Runtime
from coordinators.share.machine import ShareStateMachine, ShareStateSettings
from coordinators.share.ports import ShareChange, SharePlace, ShareState
from coordinators.share.record_formats import ShareSnapshot
from coordinators.state_machine import ShardTimers
from engine.clock import ManualClock
from engine.deferred import Deferred
from engine.files.memory import MemoryFiles
from engine.ids import TopicId
from engine.partition.partition import Partition
from engine.partition.sync import SyncRounds
from engine.timers import Timers
from engine.workers import InlineWorkers
from tests.engine.logs import memory_files, open_log

TOPIC = b"\7" * 16
PLACE = SharePlace("mail", TOPIC, 0)
PENDING = "pending"


@define(slots=False)
class StateShard:
    """`hold` keeps what is written from becoming durable."""

    settings: ShareStateSettings = field(factory=ShareStateSettings)
    files: MemoryFiles = field(factory=memory_files)
    clock: ManualClock = field(factory=ManualClock)
    hold: bool = False
    topics: set[TopicId] = field(factory=lambda: {TOPIC})

    def __attrs_post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """From what is on the disk."""
        self.timers = Timers()
        self.disk = InlineWorkers(hold=True)
        self.rounds = SyncRounds(self.disk, lambda: None)
        self.runtime: Runtime[ShareStateMachine] = Runtime(
            "states", self._new_machine, self.clock, self.timers, InlineWorkers()
        )
        self.partition = Partition(b"\1" * 16, 0, open_log(self.files), self.rounds)
        self.runtime.load(0, self.partition, self.partition.leader_epoch)
        self.settle()

    def _new_machine(self, _index: int, _epoch: int, timers: ShardTimers[Any]) -> ShareStateMachine:
        def prune(offset: int) -> None:
            self.runtime.forget_before(0, offset)

        return ShareStateMachine(
            timers, self.clock, self.settings, prune, lambda topic_id: topic_id in self.topics, self._count
        )

    def _count(self) -> int:
        return len(self.machine.places)

    @property
    def machine(self) -> ShareStateMachine:
        return self.runtime.machine(0)

    def settle(self) -> None:
        while not self.hold:
            self.rounds.start_round()
            if not self.disk.run_held() and not self.timers.run_due(self.clock.monotonic()):
                return

    def advance(self, duration_ms: int) -> None:
        self.clock.advance_ms(duration_ms)
        self.timers.run_due(self.clock.monotonic())
        self.settle()

    def heard(self, answer: Deferred[Any]) -> Any:
        """The answer, or PENDING."""
        self.settle()
        found: list[Any] = []
        answer.when_settled(found.append, found.append)
        return found[0] if found else PENDING

    # -- operations

    def initialize(self, place: SharePlace, state_epoch: int, start_offset: int = -1) -> Any:
        return self.heard(self.runtime.run(0, ShareStateMachine.initialize, place, state_epoch, start_offset))

    def read(self, place: SharePlace = PLACE, leader_epoch: int = -1) -> Any:
        return self.heard(self.runtime.run(0, ShareStateMachine.read, place, leader_epoch))

    def write(self, place: SharePlace, change: ShareChange, state_epoch: int = 0, leader_epoch: int = 0) -> Any:
        answer = self.runtime.run(0, ShareStateMachine.write, place, state_epoch, leader_epoch, change)
        return self.heard(answer)

    def delete(self, place: SharePlace) -> Any:
        return self.heard(self.runtime.run(0, ShareStateMachine.delete, place))

    def summary(self, place: SharePlace = PLACE) -> ShareState:
        found = self.heard(self.runtime.run(0, ShareStateMachine.summary, place))
        assert isinstance(found, ShareState)
        return found

    # -- looking

    @property
    def record_count(self) -> int:
        return self.partition.log.end_offset - self.partition.log.start_offset

    def hard_state(self) -> dict[SharePlace, tuple[ShareSnapshot, int, int]]:
        """All that the log says: every state, where its snapshot lies and how many updates it has."""
        return {
            place: (kept.opened(), kept.snapshot_offset, kept.update_count)
            for place, kept in self.machine.places.items()
        }
