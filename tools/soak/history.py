"""Judges what was read against what was sent: nothing lost, nothing twice, nothing out of order.

A lane is whatever keeps its order by itself, such as a partition; a mark names a record within its lane.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

Lane = Any
Found = tuple[tuple[Lane, Any], ...]


@frozen
class Verdict:
    """What is wrong, each as (lane, mark); empty where nothing is."""

    lost: Found = field(default=())
    duplicated: Found = field(default=())
    reordered: Found = field(default=())
    unexpected: Found = field(default=())

    @property
    def clean(self) -> bool:
        return not (self.lost or self.duplicated or self.reordered or self.unexpected)


def judge(
    sent: Mapping[Lane, Sequence[Any]],
    read: Mapping[Lane, Sequence[Any]],
    *,
    acknowledged: Iterable[tuple[Lane, Any]] | None = None,
) -> Verdict:
    """Compares lane by lane. Only what was acknowledged can be lost: by default, everything sent."""
    must_be_there = None if acknowledged is None else set(acknowledged)
    verdicts = [
        _judge_lane(lane, list(sent.get(lane, ())), list(read.get(lane, ())), must_be_there)
        for lane in dict.fromkeys([*sent, *read])
    ]
    return Verdict(
        lost=tuple(found for verdict in verdicts for found in verdict.lost),
        duplicated=tuple(found for verdict in verdicts for found in verdict.duplicated),
        reordered=tuple(found for verdict in verdicts for found in verdict.reordered),
        unexpected=tuple(found for verdict in verdicts for found in verdict.unexpected),
    )


def _judge_lane(lane: Lane, sent: list[Any], read: list[Any], must_be_there: set[tuple[Lane, Any]] | None) -> Verdict:
    place = {mark: index for index, mark in enumerate(sent)}
    assert len(place) == len(sent), "the marks of a lane must differ"
    counts = Counter(read)
    return Verdict(
        lost=tuple(
            (lane, mark)
            for mark in sent
            if mark not in counts and (must_be_there is None or (lane, mark) in must_be_there)
        ),
        duplicated=tuple((lane, mark) for mark, count in counts.items() if count > 1),
        reordered=tuple(_reordered(lane, [mark for mark in dict.fromkeys(read) if mark in place], place)),
        unexpected=tuple((lane, mark) for mark in counts if mark not in place),
    )


def _reordered(lane: Lane, read: list[Any], place: Mapping[Any, int]) -> Iterable[tuple[Lane, Any]]:
    """The marks that come after one that was sent later; repeats are judged elsewhere."""
    furthest = -1
    for mark in read:
        if place[mark] < furthest:
            yield lane, mark
        furthest = max(furthest, place[mark])
