"""The queue of a lane against a list of records."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.stage import lane_queue
from engine.stage.lane_queue import LaneEntry, LaneQueue, Stretch


def encoded(queue: LaneQueue) -> bytes:
    return b"".join(queue.encode())


def records(queue: LaneQueue) -> list[tuple[int, int, int, int]]:
    return [
        (entry.number + index, entry.order + index, entry.size, entry.ready_ms)
        for entry in queue.entries()
        for index in range(entry.count)
    ]


class LaneQueueMachine(RuleBasedStateMachine):
    """A queue in chunks of three entries, and the records in it one by one."""

    @initialize()
    def start(self) -> None:
        self.chunk_entries = lane_queue.CHUNK_ENTRIES
        lane_queue.CHUNK_ENTRIES = 3
        self.queue = LaneQueue()
        self.model: list[tuple[int, int, int, int]] = []
        self.number = self.order = 0
        self.shared: list[tuple[list[Stretch], list[int]]] = []

    @rule(count=st.integers(1, 5), gap=st.integers(0, 2), size=st.integers(0, 2**32 - 1), ready_ms=st.integers(0, 99))
    def push(self, count: int, gap: int, size: int, ready_ms: int) -> None:
        self.number += gap
        self.order += gap
        self.queue.push(LaneEntry(self.number, count, size, ready_ms, self.order))
        for _ in range(count):
            self.model.append((self.number, self.order, size, ready_ms))
            self.number += 1
            self.order += 1

    @rule(count=st.integers(1, 6))
    def take(self, count: int) -> None:
        numbers = [number for number, *_ in self.model[:count]]
        if not numbers:
            return
        # As many as follow one another.
        while numbers[-1] - numbers[0] != len(numbers) - 1:
            numbers.pop()
        self.queue.take(numbers[0], len(numbers))
        del self.model[: len(numbers)]

    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        if self.model:
            entry = data.draw(st.sampled_from(list(self.queue.entries())))
            index = data.draw(st.integers(0, entry.count - 1))
            count = data.draw(st.integers(1, entry.count - index))
            gone = range(entry.number + index, entry.number + index + count)
            assert self.queue.drop(gone[0], count)
            self.model = [record for record in self.model if record[0] not in gone]

    @rule(order=st.integers(0, 100))
    def count(self, order: int) -> None:
        assert self.queue.records_before(order) == sum(record[1] < order for record in self.model)

    @rule()
    def share(self) -> None:
        self.shared.append((self.queue.stretches(), [number for number, *_ in self.model]))

    @rule()
    def read_what_was_shared(self) -> None:
        for stretches, numbers in self.shared:
            entries = (
                entry
                for one in stretches
                for entry in zip(one.numbers[one.head :], one.counts[one.head :], strict=True)
            )
            assert [number + index for number, count in entries for index in range(count)] == numbers

    @rule()
    def restart(self) -> None:
        data = encoded(self.queue)
        self.queue, end = LaneQueue.decode(b"1" + data, 1)
        assert end == len(data) + 1
        assert encoded(self.queue) == data

    @invariant()
    def is_the_list(self) -> None:
        if hasattr(self, "queue"):
            assert records(self.queue) == self.model
            assert self.queue.records == len(self.model)
            first = self.queue.first()
            assert (first and first.number) == (self.model[0][0] if self.model else None)

    def teardown(self) -> None:
        if hasattr(self, "chunk_entries"):
            lane_queue.CHUNK_ENTRIES = self.chunk_entries


TestLaneQueue = LaneQueueMachine.TestCase
TestLaneQueue.settings = settings(max_examples=80, stateful_step_count=40)


def queue_of(*numbers: int, count: int = 1) -> LaneQueue:
    queue = LaneQueue()
    for order, number in enumerate(numbers):
        queue.push(LaneEntry(number, count, 10, 0, order * count))
    return queue


def test_only_what_is_first_can_be_taken() -> None:
    queue = queue_of(5, 9)
    with pytest.raises(ValueError, match="9 is not the first"):
        queue.take(9, 1)
    with pytest.raises(ValueError, match="6 is not the first"):
        queue.take(5, 2)


def test_what_is_not_there_cannot_be_dropped() -> None:
    queue = queue_of(5, 15, count=3)
    assert not queue.drop(4, 1)
    assert not queue.drop(8, 1)
    assert not queue.drop(7, 2)
    assert queue.records == 6


@given(st.lists(st.integers(0, 2**62), max_size=5), st.data())
def test_damage_is_refused_or_gives_a_queue(numbers: list[int], data: st.DataObject) -> None:
    damaged = bytearray(encoded(queue_of(*numbers)))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    for each in (damaged, damaged[: data.draw(st.integers(0, len(damaged)))]):
        try:
            queue, end = LaneQueue.decode(each, 0)
        except ValueError:
            continue
        assert end <= len(each)
        assert queue.records == sum(entry.count for entry in queue.entries())


@pytest.mark.parametrize("data", [b"", b"\xff\xff\xff\xff", b"\1\0\0\0" + bytes(32), b"\1\0\0\0" + b"\xff" * 32])
def test_nonsense_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        LaneQueue.decode(data, 0)
