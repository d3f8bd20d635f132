"""Batches of a share partition's state, laid over each other.

A state is a row of batches, in order and disjoint. What is written lies over it, and where two meet that say the same
they become one, so that a state never has more batches than it has differences. What lies between two changed batches
is copied as a whole: a change of a few batches costs a few searches, however many there are.
"""

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import attrgetter

from attrs import evolve

from coordinators.share.ports import StateBatch

Batches = tuple[StateBatch, ...]

_last_offset = attrgetter("last_offset")
_first_offset = attrgetter("first_offset")


def overlay(below: Sequence[StateBatch], above: Iterable[StateBatch], start_offset: int = -1) -> Batches:
    """`above` over `below`, which is in order and disjoint; nothing below the start. Where batches of `above` overlap
    each other, which a sound writer's do not, the one that begins later counts."""
    merged = _laid(below, _disjoint(above))
    return tuple(merged if start_offset < 0 else _from(merged, start_offset))


def _disjoint(batches: Iterable[StateBatch]) -> list[StateBatch]:
    """In order; what overlaps is laid one over the other."""
    ordered = sorted(batches, key=_first_offset)
    for before, after in itertools.pairwise(ordered):
        if after.first_offset <= before.last_offset:
            break
    else:
        return ordered
    row: list[StateBatch] = []
    for batch in ordered:
        row = _laid(row, [batch])
    return row


def _laid(below: Sequence[StateBatch], above: Sequence[StateBatch]) -> list[StateBatch]:
    row: list[StateBatch] = []
    # How far `below` has been taken, and what is left of the batch before that.
    position, pending = 0, None
    for batch in above:
        if pending is not None:
            if pending.last_offset < batch.first_offset:
                _append(row, pending)
                pending = None
            else:
                _append_before(row, pending, batch.first_offset)
                pending = _after(pending, batch.last_offset)
        if pending is None:
            upto = bisect_left(below, batch.first_offset, position, key=_last_offset)
            _extend(row, below[position:upto])
            position = upto
            if upto < len(below):
                _append_before(row, below[upto], batch.first_offset)
                position = bisect_left(below, batch.last_offset + 1, upto, key=_last_offset)
                if position < len(below) and below[position].first_offset <= batch.last_offset:
                    pending = _after(below[position], batch.last_offset)
                    position += 1
        _append(row, batch)
    if pending is not None:
        _append(row, pending)
    _extend(row, below[position:])
    return row


def _append_before(row: list[StateBatch], batch: StateBatch, offset: int) -> None:
    """What of the batch lies before `offset`."""
    if batch.first_offset < offset:
        _append(row, batch if batch.last_offset < offset else evolve(batch, last_offset=offset - 1))


def _after(batch: StateBatch, offset: int) -> StateBatch | None:
    """What of the batch lies after `offset`."""
    return evolve(batch, first_offset=offset + 1) if batch.last_offset > offset else None


def _append(row: list[StateBatch], batch: StateBatch) -> None:
    if row and _continues(row[-1], batch):
        row[-1] = evolve(row[-1], last_offset=batch.last_offset)
    else:
        row.append(batch)


def _extend(row: list[StateBatch], batches: Sequence[StateBatch]) -> None:
    """By batches that do not continue each other."""
    if batches:
        _append(row, batches[0])
        row += batches[1:]


def _continues(before: StateBatch, after: StateBatch) -> bool:
    return (
        before.last_offset + 1 == after.first_offset
        and before.state == after.state
        and before.delivery_count == after.delivery_count
        and before.not_before_ms == after.not_before_ms
        and before.first_delivered_ms == after.first_delivered_ms
        and before.last_delivered_ms == after.last_delivered_ms
        and before.reason == after.reason
        and before.member_id == after.member_id
    )


def _from(row: list[StateBatch], start_offset: int) -> list[StateBatch]:
    first = bisect_left(row, start_offset, key=_last_offset)
    if first:
        row = row[first:]
    if row and row[0].first_offset < start_offset:
        row[0] = evolve(row[0], first_offset=start_offset)
    return row
