"""The ledger: what it says is what was written into it, in whatever pieces, compacted or not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.letters.ledger import (
    DISCARDED,
    OPEN,
    REDRIVEN,
    ROW,
    STALE_TOGETHER,
    Ledger,
    Mark,
    SettledOffsets,
    ledger_of,
)
from engine.errors import InvalidTopic

OUTCOMES = st.sampled_from([REDRIVEN, DISCARDED])


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 8), OUTCOMES)))
def test_offsets_are_as_they_were_settled_first(runs: list[tuple[int, int, str]]) -> None:
    found, model = SettledOffsets(), dict[int, str]()
    for first, length, outcome in runs:
        found.add(first, first + length, outcome)
        for offset in range(first, first + length + 1):
            model.setdefault(offset, outcome)
    assert [found.state(offset) for offset in range(60)] == [model.get(offset, OPEN) for offset in range(60)]
    assert found.count(5, 30) == sum(5 <= offset < 30 for offset in model)
    assert found.first_open(3) == next(offset for offset in range(3, 100) if offset not in model)
    within = {offset: what for first, last, what in found.within(5, 30) for offset in range(first, last + 1)}
    assert within == {offset: what for offset, what in model.items() if 5 <= offset <= 30}


def read(marks: list[Mark], topic_id: str = "id") -> Ledger:
    ledger = Ledger(topic_id)
    for mark in marks:
        ledger.note(*mark)
    return ledger


Transaction = tuple[dict[int, set[int]], str]
OFFSETS = st.dictionaries(st.integers(0, 2), st.sets(st.integers(ROW - 30, ROW + 30), min_size=1), max_size=2)


@given(st.lists(st.tuples(OFFSETS, OUTCOMES), max_size=8))
def test_what_is_written_is_read_and_compaction_takes_nothing_away(transactions: list[Transaction]) -> None:
    ledger, marks, model = Ledger("id"), list[Mark](), dict[tuple[int, int], str]()
    for offsets, outcome in transactions:
        marks += ledger.settle({each: sorted(some) for each, some in offsets.items()}, outcome, "run", 1)
        for partition, some in offsets.items():
            for offset in some:
                model.setdefault((partition, offset), outcome)
    compacted = list({key: (key, value) for key, value in marks}.values())
    assert len(compacted) <= 3 * 2, "a record for each row of each partition"
    for each in (ledger, read(marks), read(compacted)):
        for partition in range(3):
            for offset in range(ROW - 35, ROW + 35):
                assert each.partitions[partition].state(offset) == model.get((partition, offset), OPEN)


def test_a_row_of_offsets_takes_little_room() -> None:
    marks = Ledger("id").settle({0: range(10_000)}, REDRIVEN, "run", 1)
    assert len(marks) == 10
    assert all(len(value or b"") < 120 for _, value in marks)
    ledger = Ledger("id")
    ledger.settle({0: range(0, ROW, 2)}, REDRIVEN, "run", 1)
    ((_, worst),) = ledger.settle({0: range(1, ROW, 2)}, DISCARDED, "run", 1)
    assert len(worst or b"") < 16_000


def test_rows_whose_letters_are_gone_are_taken_back() -> None:
    marks = Ledger("earlier").settle({0: [5]}, REDRIVEN, "run", 1)
    marks += Ledger("id").settle({0: [5, ROW, 3 * ROW], 1: [7]}, REDRIVEN, "run", 1)
    ledger = read([*marks, (b"not a row", b"{}"), (b"id:a:b", b"{}")])
    stale = ledger.stale({0: 2 * ROW, 1: ROW - 1})
    assert stale == [(b"earlier:0:0", None), (b"id:0:0", None), (b"id:0:1", None)]
    assert ledger.stale({0: 2 * ROW, 1: ROW - 1}) == []
    assert read([*marks, *stale]).stale({0: 2 * ROW}) == [], "they are not taken back twice"


def test_many_rows_are_taken_back_some_at_a_time() -> None:
    marks = Ledger("earlier").settle({0: range(0, 700 * ROW, ROW)}, REDRIVEN, "run", 1)
    ledger = read(marks)
    assert [len(ledger.stale({})) for _ in range(3)] == [STALE_TOGETHER, 200, 0]


def row(settled: object, topic_id: str = "id") -> bytes:
    return json.dumps({"topic_id": topic_id, "partition": 0, "settled": settled}).encode()


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"[]",
        b"{}",
        row({"redriven": [[5, 1], [-3, 2]]}),
        row({"redriven": [["a", 1]]}),
        row([]),
        row({"redriven": [[0, 0]]}, "another"),
    ],
)
def test_what_is_no_settlement_of_this_topic_settles_nothing(value: bytes | None) -> None:
    ledger = Ledger("id")
    ledger.note(b"k", value)
    assert [ledger.partitions[0].state(offset) for offset in range(6)] == [OPEN] * 6


def test_a_name_without_room_is_told() -> None:
    assert ledger_of("orders.dlq") == "orders.dlq.settled"
    with pytest.raises(InvalidTopic):
        ledger_of("x" * 249)
