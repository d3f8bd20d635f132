"""The ledger: what it says is what was written into it, in whatever pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.cli.errors import UsageMistake
from tools.cli.settlements import DISCARDED, OPEN, REDRIVEN, Ledger, SettledOffsets, Settlement, ledger_of


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 8), st.sampled_from([REDRIVEN, DISCARDED]))))
def test_offsets_are_as_they_were_settled_first(runs: list[tuple[int, int, str]]) -> None:
    found, model = SettledOffsets(), dict[int, str]()
    for first, length, outcome in runs:
        found.add(first, first + length, outcome)
        for offset in range(first, first + length + 1):
            model.setdefault(offset, outcome)
    assert [found.state(offset) for offset in range(60)] == [model.get(offset, OPEN) for offset in range(60)]
    assert found.count(5, 30) == sum(5 <= offset < 30 for offset in model)
    assert found.first_open(3) == next(offset for offset in range(3, 100) if offset not in model)


@given(st.dictionaries(st.integers(0, 3), st.sets(st.integers(0, 50), min_size=1), max_size=3))
def test_what_is_written_is_read(offsets: dict[int, set[int]]) -> None:
    ledger = Ledger("id")
    ledger.note(Settlement("id", REDRIVEN, "run", 1, {each: sorted(some) for each, some in offsets.items()}).encoded())
    for partition in range(4):
        settled = {offset for offset in range(60) if ledger.partitions[partition].state(offset) != OPEN}
        assert settled == offsets.get(partition, set())


def test_a_row_of_offsets_takes_little_room() -> None:
    assert len(Settlement("id", REDRIVEN, "run", 1, {0: range(10_000)}).encoded()) < 120


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"[]",
        b"{}",
        b'{"topic_id":"id","outcome":"redriven","offsets":{"0":[[5,1],[-3,2]]}}',
        b'{"topic_id":"id","outcome":"redriven","offsets":{"0":[["a",1]]}}',
        Settlement("another", REDRIVEN, "run", 1, {0: [0]}).encoded(),
    ],
)
def test_what_is_no_settlement_of_this_topic_settles_nothing(value: bytes | None) -> None:
    ledger = Ledger("id")
    ledger.note(value)
    assert [ledger.partitions[0].state(offset) for offset in range(6)] == [OPEN] * 6


def test_a_name_without_room_is_told() -> None:
    assert ledger_of("orders.dlq") == "orders.dlq.settled"
    with pytest.raises(UsageMistake):
        ledger_of("x" * 249)
