"""Batches laid over each other, against a model that keeps every offset by itself."""

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from coordinators.share.overlay import overlay
from coordinators.share.ports import DeliveryState, StateBatch

AVAILABLE, ACKNOWLEDGED, ARCHIVING = DeliveryState.AVAILABLE, DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVING

Meaning = tuple[object, ...]
Model = dict[int, Meaning]


def meaning(batch: StateBatch) -> Meaning:
    return batch.state, batch.delivery_count, batch.not_before_ms, batch.reason


def offsets_of(batches: tuple[StateBatch, ...] | list[StateBatch]) -> Model:
    """What is said of each offset."""
    return {offset: meaning(batch) for batch in batches for offset in range(batch.first_offset, batch.last_offset + 1)}


@st.composite
def a_batch(draw: st.DrawFn) -> StateBatch:
    first, length = draw(st.integers(0, 40)), draw(st.integers(1, 12))
    return StateBatch(
        first,
        first + length - 1,
        draw(st.sampled_from([AVAILABLE, ACKNOWLEDGED, ARCHIVING])),
        draw(st.integers(0, 2)),
        draw(st.sampled_from([0, 0, 5])),
        reason=draw(st.sampled_from(["", "", "r"])),
    )


@given(st.lists(st.tuples(st.lists(a_batch(), max_size=6), st.integers(-1, 45)), max_size=8))
def test_every_offset_has_what_was_last_said_of_it(changes: list[tuple[list[StateBatch], int]]) -> None:
    row: tuple[StateBatch, ...] = ()
    model: Model = {}
    for batches, start_offset in changes:
        row = overlay(row, batches, start_offset)
        model |= offsets_of(sorted(batches, key=lambda batch: batch.first_offset))
        model = {offset: said for offset, said in model.items() if offset >= start_offset}
        assert offsets_of(row) == model
        for before, after in itertools.pairwise(row):
            assert before.last_offset < after.first_offset, "in order and disjoint"
            meet = before.last_offset + 1 == after.first_offset
            assert not meet or meaning(before) != meaning(after), "what says the same is one batch"


def test_one_that_is_surrounded_splits_what_lies_below() -> None:
    below = overlay((), [StateBatch(0, 9, AVAILABLE, 1)])
    row = overlay(below, [StateBatch(3, 5, ACKNOWLEDGED, 1), StateBatch(7, 7, ACKNOWLEDGED, 1)])
    assert [(batch.first_offset, batch.last_offset, batch.state) for batch in row] == [
        (0, 2, AVAILABLE),
        (3, 5, ACKNOWLEDGED),
        (6, 6, AVAILABLE),
        (7, 7, ACKNOWLEDGED),
        (8, 9, AVAILABLE),
    ]
    assert overlay(row, [StateBatch(0, 9, AVAILABLE, 1)]) == below


class Watched(tuple[StateBatch, ...]):
    """Counts the batches that are looked at one by one."""

    looked_at = 0

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            Watched.looked_at += 1
        return super().__getitem__(index)


def test_a_change_in_a_wide_window_does_not_look_at_all_of_it() -> None:
    wide = overlay((), [StateBatch(offset, offset, AVAILABLE, offset % 7) for offset in range(0, 20_000, 2)])
    assert len(wide) == 10_000
    row = overlay(Watched(wide), [StateBatch(offset, offset, ACKNOWLEDGED, 1) for offset in (500, 9_001)], 1)
    assert len(row) == 10_000
    assert 0 < Watched.looked_at < 100
