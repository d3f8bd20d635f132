"""One shard of the group coordinator on a disk in memory: syncs and time move when told, ids are counted."""

from collections.abc import Iterator
from itertools import count
from typing import Any

from attrs import define, field, frozen

from coordinators.group.config import GroupSettings
from coordinators.group.machine import GroupMachine
from coordinators.group.requests import CommitRequest, JoinRequest, LeavingMember, OffsetToCommit, SyncRequest
from coordinators.runtime import Runtime, opened_batches, replay_batch
from coordinators.state_machine import Operation, ShardTimers, Verdict
from engine.clock import ManualClock
from engine.deferred import Deferred
from engine.files.memory import MemoryFiles
from engine.partition.partition import Partition
from engine.partition.sync import SyncRounds
from engine.timers import Timers
from engine.workers import InlineWorkers
from tests.engine.logs import memory_files, open_log

PENDING = "pending"
PROTOCOLS = (("range", b"subscription"),)


@define
class CountedBytes:
    """Ids that a test can foretell."""

    numbers: Iterator[int] = field(factory=lambda: count(1))

    def __call__(self, size: int) -> bytes:
        return next(self.numbers).to_bytes(size, "big")


@frozen
class Heard:
    """An answer in the making."""

    answer: Deferred[Any]
    messages: list[Any] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.answer.when_settled(self.messages.append, self.messages.append)

    @property
    def message(self) -> Any:
        return self.messages[0] if self.messages else PENDING


@define(eq=False, slots=False)
class Shard:
    """The machine, its log, and everything around it."""

    settings: GroupSettings = field(factory=lambda: GroupSettings(initial_rebalance_delay_ms=0))
    files: MemoryFiles = field(factory=memory_files)
    clock: ManualClock = field(factory=ManualClock)
    hold: bool = False
    random_bytes: CountedBytes = field(factory=CountedBytes)

    def __attrs_post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.timers = Timers()
        self.disk = InlineWorkers(hold=True)
        self.rounds = SyncRounds(self.disk, lambda: None)
        self.runtime: Runtime[GroupMachine] = Runtime(
            "__consumer_offsets", self._new_machine, self.clock, self.timers, InlineWorkers()
        )
        self.partition = Partition(b"\1" * 16, 0, open_log(self.files), self.rounds)
        self.runtime.load(0, self.partition, self.partition.leader_epoch)

    def _new_machine(self, _index: int, _leader_epoch: int, timers: ShardTimers[Any]) -> GroupMachine:
        return GroupMachine(timers, self.clock, self.settings, self.random_bytes)

    def crash(self) -> None:
        """Power loss, and a new start."""
        self.files.crash()
        self.start()

    @property
    def machine(self) -> GroupMachine:
        return self.runtime.machine(0)

    def replayed(self) -> GroupMachine:
        """Another machine, from the log alone."""
        fresh = self._new_machine(0, 0, ShardTimers(Timers(), self.clock, lambda _: None))
        for header, records in read_all(self.partition):
            replay_batch(fresh, header, records)
        return fresh

    def settle(self) -> None:
        """Let syncs and timers that are due happen, until nothing does."""
        while not self.hold:
            self.rounds.start_round()
            if not self.disk.run_held() and not self.timers.run_due(self.clock.monotonic()):
                return

    def advance(self, duration_ms: int) -> None:
        """Time passes, timer by timer."""
        end = self.clock.monotonic() + duration_ms / 1000
        while (due := self.timers.next_deadline()) is not None and due <= end:
            self.clock.advance_ms(max(round((due - self.clock.monotonic()) * 1000), 0) or 1)
            self.settle()
        left = round((end - self.clock.monotonic()) * 1000)
        self.clock.advance_ms(max(left, 0))
        self.settle()

    # -- requests

    def ask(self, operation: Operation[GroupMachine, Any]) -> Heard:
        heard = Heard(self.runtime.run(0, operation))
        self.settle()
        return heard

    def join(self, member_id: str = "", instance: str | None = None, **changes: Any) -> Heard:
        fields: dict[str, Any] = {
            "group_id": "g",
            "member_id": member_id,
            "instance_id": instance,
            "client_id": "c",
            "client_host": "/h",
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 60_000,
            "protocol_type": "consumer",
            "protocols": PROTOCOLS,
            "takes_id_first": False,
        }
        request = JoinRequest(**{**fields, **changes})
        return self.ask(lambda machine: machine.join(request))

    def sync(
        self, member_id: str, generation: int, assignments: dict[str, bytes] | None = None, instance: str | None = None
    ) -> Heard:
        request = SyncRequest("g", member_id, instance, generation, assignments=assignments or {})
        return self.ask(lambda machine: machine.sync(request))

    def heartbeat(self, member_id: str, generation: int, instance: str | None = None) -> None:
        self.machine.heartbeat("g", member_id, instance, generation)

    def leave(self, *members: LeavingMember | str) -> Heard:
        leaving = [LeavingMember(each) if isinstance(each, str) else each for each in members]
        return self.ask(lambda machine: machine.leave("g", leaving))

    def settled_member(self, **changes: Any) -> str:
        """A member of its own stable group; its id."""
        answer = self.join(**changes).message
        self.sync(answer.member_id, answer.generation, {answer.member_id: b"mine"})
        return str(answer.member_id)

    def commit(self, *offsets: OffsetToCommit, member_id: str = "", generation: int = -1, **changes: Any) -> Heard:
        request = CommitRequest("g", member_id, generation, offsets, **changes)
        return self.ask(lambda machine: machine.commits.commit(request))

    def fetch(self, topic: str, partition: int = 0, *, require_stable: bool = False) -> Any:
        def operation(machine: GroupMachine) -> Verdict:
            return Verdict(response=machine.commits.fetch("g", [(topic, partition)], require_stable=require_stable))

        (found,) = self.ask(operation).message
        return found


def read_all(partition: Partition) -> Iterator[Any]:
    """Every batch of a log with its records."""
    yield from opened_batches(partition, partition.high_watermark)
