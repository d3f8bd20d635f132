"""A share partition over a real log, with the way of its dead letters; everything can end at any step of that way."""

from collections.abc import Callable
from typing import Any

import trio
from attrs import define, evolve, field

from coordinators.letter_writing import LetterWriting
from coordinators.producer_ids import ProducerIds
from coordinators.records.directory import PartitionDirectory
from coordinators.records.publishing import Publishing
from coordinators.share.acks import AckBatch, AckType
from coordinators.share.acquiring import ReadSpan, ShareWanted
from coordinators.share.config import ShareGroupSettings
from coordinators.share.counters import ShareCounters
from coordinators.share.dead_letters import ShareDeadLetters
from coordinators.share.machine import changed
from coordinators.share.ports import DeliveryState, ShareChange, SharePlace, ShareState
from coordinators.share.share_partition import SharePartition, ShareSurroundings
from coordinators.topics import Topic
from coordinators.tracing.tracing import Tracing
from engine.deferred import Deferred
from engine.errors import CoordinatorNotAvailable
from engine.records.batch import whole
from engine.records.compression import compress
from engine.records.layout import HEADER_SIZE, RecordSpan, pack_batch, pack_record, parse_header, seal_batch
from engine.workers import InlineWorkers
from tests.coordinators.release.test_dead_letters import NoTransactions, read
from tests.coordinators.release.test_releases import Bench

GROUP = "mail"


class Ended(Exception):
    """Here the broker was killed."""


@define(eq=False)
class Steps:
    """Counts what a broker does one after the other; at one of them it is killed."""

    end_at: int = -1
    count: int = 0

    def step(self) -> None:
        self.count += 1
        if self.count == self.end_at:
            raise Ended


@define(eq=False)
class StepStates:
    """States that are durable at once; before and after each write the broker can end."""

    steps: Steps
    states: dict[SharePlace, ShareState] = field(factory=dict)
    refuses_first: bool = False
    """Every other write fails, the first one too."""
    writes: int = 0

    def initialize(self, place: SharePlace, state_epoch: int, start_offset: int) -> Deferred[None]:
        kept = self.states.get(place, ShareState()).letter_producer
        self.states[place] = ShareState(state_epoch, 0, start_offset, letter_producer=kept)
        return _done(None)

    def read(self, place: SharePlace, leader_epoch: int) -> Deferred[ShareState]:
        self.states[place] = evolve(self.states.get(place, ShareState(start_offset=0)), leader_epoch=leader_epoch)
        return _done(self.states[place])

    def write(self, place: SharePlace, _state_epoch: int, leader_epoch: int, change: ShareChange) -> Deferred[None]:
        self.writes += 1
        if self.refuses_first and self.writes % 2:
            return Deferred.refused(CoordinatorNotAvailable("elsewhere"))
        self.steps.step()
        self.states[place] = changed(self.states[place], leader_epoch, change)
        self.steps.step()
        return _done(None)

    def delete(self, place: SharePlace) -> Deferred[None]:
        raise AssertionError

    def summary(self, place: SharePlace) -> Deferred[ShareState]:
        raise AssertionError


def _done(value: Any) -> Deferred[Any]:
    answer = Deferred[Any]()
    answer.resolve(value)
    return answer


@define(eq=False)
class LetterBench(Bench):
    """One topic `t`, one group. What was written survives a `crash`, what was in memory does not."""

    steps: Steps = field(factory=Steps)
    states: StepStates = field(init=False)
    settings: ShareGroupSettings = field(factory=lambda: ShareGroupSettings(retry_backoff_ms=0, delivery_count_limit=2))
    letters: ShareDeadLetters = field(init=False)
    shares: list[SharePartition] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.states = StepStates(self.steps)
        self.restart()

    def restart(self) -> None:
        super().restart()
        controller, clock, workers = self.controller, self.clock, InlineWorkers()
        directory = PartitionDirectory(controller.topics, controller.partitions)
        tracing, settings = Tracing(clock, bytes), controller.topics.settings
        publishing = Publishing.compose(directory, self.releases, NoTransactions(), tracing, settings, clock, workers)
        publishing.deliver = self._stepping(publishing.deliver)  # type: ignore[method-assign]
        writing = LetterWriting(controller, ProducerIds(self.desk.catalogue), clock, publishing)
        self.letters = ShareDeadLetters(writing)
        self.letters.start()
        self.shares = []

    def _stepping(self, deliver: Callable[..., Any]) -> Callable[..., Any]:
        async def delivering(*arguments: Any, **named: Any) -> Any:
            self.steps.step()
            result = await deliver(*arguments, **named)
            self.steps.step()
            return result

        return delivering

    async def crash(self) -> None:
        """End, and begin with what is on the disk."""
        self.steps.end_at = -1
        self.sync()
        self.restart()
        await self.controller.replicas.open_all(clean=False)
        await self.releases.open_all(clean=False)

    @property
    def topic(self) -> Topic:
        return self.controller.topics.by_name["t"]

    def write(self, *values: str, codec: int = 0) -> None:
        """Records of the source, one batch."""
        now_ms, count = self.clock.now_ms(), len(values)
        records = [
            pack_record(number, number, b"k", value.encode(), [(b"own", b"1")]) for number, value in enumerate(values)
        ]
        batch = pack_batch(records, (now_ms, now_ms + count - 1))
        if codec:
            header = parse_header(batch)._replace(attributes=codec)
            batch = seal_batch(header, compress(codec, batch[HEADER_SIZE:]))
        self.partition(self.topic).append(whole(batch), deadline=float("inf"))
        self.sync()

    def share(self) -> SharePartition:
        """The share partition, loaded."""
        if not self.shares or self.shares[-1].closed is not None:
            around = ShareSurroundings(
                self.states,
                self.clock,
                self.timers,
                InlineWorkers(),
                lambda _: self.settings,
                ShareCounters(),
                self.letters.wake,
            )
            place = SharePlace(GROUP, self.topic.topic_id, 0)
            self.shares.append(SharePartition(place, "t", self.partition(self.topic), around, {}))
            self.shares[-1].load()
        return self.shares[-1]

    def take(self, count: int = 100, member: str = "m") -> list[int]:
        """The offsets that a member is given."""
        share = self.share()
        assert share.window is not None
        position = share.window.next_position(share.rules.max_record_locks, self.clock.now_ms())
        if position is None or position >= share.readable_end:
            return []
        spans = [ReadSpan(offset, offset) for offset in range(position, share.readable_end)]
        taken = share.acquire(spans, position, ShareWanted(member, count, is_strict=True))
        return [offset for each in taken for offset in range(each.first_offset, each.last_offset + 1)]

    def acknowledge(self, kind: AckType, *offsets: int, member: str = "m") -> None:
        for offset in offsets:
            self.share().acknowledge(member, [AckBatch(offset, offset, [kind])])

    async def deliver(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_syncing)
            await self.background.run()
            nursery.cancel_scope.cancel()

    async def _keep_syncing(self) -> None:
        while True:
            self.sync()
            await trio.lowlevel.checkpoint()

    def arrived(self, name: str = "t.dlq") -> list[RecordSpan]:
        """What is in the dead-letter topic."""
        if name not in self.controller.topics.by_name:
            return []
        return read(self.partition(self.controller.topics.by_name[name]))

    def arrived_offsets(self) -> list[int]:
        return [int(told(letter)["offset"]) for letter in self.arrived()]

    def durable(self, state: DeliveryState) -> set[int]:
        """Offsets that are so in what would be found after a crash."""
        found = self.states.states[SharePlace(GROUP, self.topic.topic_id, 0)]
        return {
            offset
            for batch in found.batches
            if batch.state is state
            for offset in range(batch.first_offset, batch.last_offset + 1)
        }


def told(letter: RecordSpan) -> dict[str, str]:
    """What the headers of a letter say."""
    prefix = b"__dlq.errors."
    return {
        bytes(name).removeprefix(prefix).decode(): bytes(value or b"").decode()
        for name, value in letter.headers
        if bytes(name).startswith(prefix)
    }
