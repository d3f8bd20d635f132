"""Ranges of offsets per topic and partition, and how one is cut into pieces that a batch can hold."""

from collections.abc import Mapping

Offsets = dict[str, dict[int, int]]
"""topic -> partition -> offset"""
Ranges = dict[str, dict[int, tuple[int, int]]]
"""topic -> partition -> first offset, offset after the last"""


def ranges_between(starts: Mapping[str, Mapping[int, int]], ends: Mapping[str, Mapping[int, int]]) -> Ranges:
    """Whatever lies from `starts` up to `ends`; partitions without anything are left out."""
    found: Ranges = {}
    for topic, partitions in ends.items():
        for partition, end in partitions.items():
            start = starts.get(topic, {}).get(partition, end)
            if start < end:
                found.setdefault(topic, {})[partition] = (start, end)
    return found


def size(ranges: Ranges) -> int:
    """How many offsets they hold; records may be fewer."""
    return sum(end - start for partitions in ranges.values() for start, end in partitions.values())


def first_piece(ranges: Ranges, most: int) -> Ranges:
    """The beginning of the ranges, of at most `most` offsets, and one more per partition.

    Every partition gets its share, so that none falls behind the others.
    """
    total = size(ranges)
    if total <= most:
        return ranges
    return {
        topic: {
            partition: (start, min(end, start + max(1, (end - start) * most // total)))
            for partition, (start, end) in partitions.items()
        }
        for topic, partitions in ranges.items()
    }


def starts(ranges: Ranges) -> Offsets:
    return {topic: {number: start for number, (start, _) in each.items()} for topic, each in ranges.items()}


def ends(ranges: Ranges) -> Offsets:
    return {topic: {number: end for number, (_, end) in each.items()} for topic, each in ranges.items()}


def merged(below: Mapping[str, Mapping[int, int]], above: Mapping[str, Mapping[int, int]]) -> Offsets:
    """`below` with what `above` says instead."""
    topics = {**below, **above}
    return {topic: {**below.get(topic, {}), **above.get(topic, {})} for topic in topics}


def to_json(offsets: Mapping[str, Mapping[int, object]]) -> dict[str, dict[str, object]]:
    """JSON has no numbers for keys."""
    return {topic: {str(partition): value for partition, value in each.items()} for topic, each in offsets.items()}
