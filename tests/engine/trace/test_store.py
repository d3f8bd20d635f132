"""The ring of traces and its indexes."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from engine.trace.query import TraceQuery
from engine.trace.record_trace import RecordTrace
from engine.trace.store import GROUPS_PER_PARTITION, PartitionTraces, TraceStore
from tests.engine.trace.traces import TRACE_ID, trace


def test_found_by_id_and_by_place() -> None:
    store = TraceStore()
    first, second = trace(5), trace(6)
    store.add(first)
    store.add(second)
    assert store.by_id(TRACE_ID) == [first, second]
    assert store.at("orders", 0, 6) is second
    assert store.at("orders", 0, 7) is None
    assert store.at("orders", 1, 6) is None


def test_the_oldest_goes_from_everywhere() -> None:
    store = TraceStore(2)
    for offset in range(3):
        store.add(trace(offset, trace_id=f"{offset:032x}"))
    assert store.by_id("0" * 32) == []
    assert store.at("orders", 0, 0) is None
    assert store.statistics() == {
        "traces": 2, "capacity": 2, "begun": 3, "trace_ids": 2, "partitions": 1, "staged": 0,
    }  # fmt: skip


def test_pages_newest_first() -> None:
    store = TraceStore()
    for offset in range(10):
        store.add(trace(offset, topic="even" if offset % 2 == 0 else "odd"))
    page = store.search(TraceQuery(topic="even"), limit=2, skip=1)
    assert [found.offset for found in page.traces] == [6, 4]
    assert page.total == 5
    assert [found.offset for found in store.search(limit=3).traces] == [9, 8, 7]
    assert store.search(limit=3, skip=10).traces == []


def test_a_staged_record_gets_its_offset_later() -> None:
    store = TraceStore()
    made = trace(None)
    made.number = 12
    store.add(made)
    assert store.staged("orders", 0, 12) is made
    store.place(made, 99)
    assert store.at("orders", 0, 99) is made


def test_a_trace_that_left_the_ring_gets_no_place() -> None:
    store = TraceStore(1)
    made = trace(None)
    store.add(made)
    store.add(trace(1))
    store.place(made, 5)
    assert made.offset == 5
    assert store.at("orders", 0, 5) is None


def test_a_deleted_topics_places_are_free() -> None:
    store = TraceStore(3)
    old = trace(5)
    store.add(old)
    store.forget_topic("orders")
    assert store.at("orders", 0, 5) is None
    new = trace(5)
    store.add(new)
    for offset in (6, 7):
        store.add(trace(offset))
    assert store.at("orders", 0, 5) is new, "the old one left without taking the place of the new one"


def test_what_a_commit_passed() -> None:
    partition = PartitionTraces()
    for offset in (3, 5, 9):
        partition.add(offset, trace(offset))
    assert [found.offset for found in partition.pass_to("g", 6)] == [3, 5]
    assert [found.offset for found in partition.pass_to("g", 6)] == []
    assert [found.offset for found in partition.pass_to("g", 10)] == [9]
    assert [found.offset for found in partition.pass_to("other", 4)] == [3]
    assert [found.offset for found in partition.pass_to("g", 4)] == [], "a reset passes nothing"
    assert [found.offset for found in partition.pass_to("g", 6)] == [5], "what is read again is passed again"


def test_the_groups_of_a_partition_are_bounded() -> None:
    partition = PartitionTraces()
    for number in range(GROUPS_PER_PARTITION + 10):
        partition.pass_to(f"g{number}", 1)
    assert len(partition.committed) == GROUPS_PER_PARTITION
    assert "g0" not in partition.committed


@given(st.sets(st.integers(0, 50)), st.integers(0, 50), st.integers(0, 50))
def test_a_range_of_offsets(offsets: set[int], first: int, end: int) -> None:
    partition = PartitionTraces()
    for offset in offsets:
        partition.add(offset, trace(offset))
    found = [one.offset for one in partition.between(first, end)]
    assert found == sorted(offset for offset in offsets if first <= offset < end)


class StoreModel(RuleBasedStateMachine):
    """The store against a list."""

    def __init__(self) -> None:
        super().__init__()
        self.store = TraceStore(5)
        self.model: list[RecordTrace] = []

    @rule(offset=st.integers(0, 6), trace_id=st.integers(1, 3), staged=st.booleans())
    def add(self, offset: int, trace_id: int, staged: bool) -> None:
        made = trace(None if staged else offset, trace_id=f"{trace_id:032x}")
        made.number = offset if staged else None
        self.store.add(made)
        self.model = [*self.model, made][-5:]

    @rule(index=st.integers(0, 4), offset=st.integers(0, 9))
    def place(self, index: int, offset: int) -> None:
        if index < len(self.model):
            self.store.place(self.model[index], offset)

    @invariant()
    def holds_the_last(self) -> None:
        assert list(self.store.search().traces) == self.model[::-1]
        for number in range(1, 4):
            name = f"{number:032x}"
            assert self.store.by_id(name) == [one for one in self.model if one.trace_id == name]

    @invariant()
    def places_are_those_of_kept_traces(self) -> None:
        held = self.store.partition("orders", 0)
        offsets = [] if held is None else held.offsets
        assert offsets == sorted(set(offsets))
        assert set(offsets) <= {one.offset for one in self.model}
        for offset in offsets:
            found = self.store.at("orders", 0, offset)
            assert found in self.model
            assert found.offset == offset


TestStoreModel = StoreModel.TestCase
