"""Cutting ranges of offsets into batches."""

from hypothesis import given
from hypothesis import strategies as st

from tools.pipelines.ranges import Ranges, ends, first_piece, merged, ranges_between, size, to_json


def test_only_what_lies_between() -> None:
    starts = {"a": {0: 5, 1: 9}, "b": {0: 3}}
    assert ranges_between(starts, {"a": {0: 8, 1: 9, 2: 4}, "b": {0: 2}}) == {"a": {0: (5, 8)}}


@given(
    st.dictionaries(st.sampled_from("abc"), st.dictionaries(st.integers(0, 5), st.integers(1, 50), min_size=1)),
    st.integers(1, 60),
)
def test_pieces_cover_everything_once_and_every_partition_moves(sizes: dict[str, dict[int, int]], most: int) -> None:
    whole: Ranges = {topic: {number: (7, 7 + count) for number, count in each.items()} for topic, each in sizes.items()}
    remaining, covered, partitions = whole, 0, sum(len(each) for each in whole.values())
    while remaining:
        piece = first_piece(remaining, most)
        assert {topic: set(each) for topic, each in piece.items()} == {
            topic: set(each) for topic, each in remaining.items()
        }
        assert size(piece) <= most + partitions
        for topic, each in piece.items():
            for number, (start, _) in each.items():
                assert start == remaining[topic][number][0]
        covered += size(piece)
        remaining = ranges_between(ends(piece), ends(remaining))
    assert covered == size(whole)


def test_the_later_offsets_count() -> None:
    assert merged({"a": {0: 1, 1: 2}}, {"a": {0: 5}, "b": {0: 1}}) == {"a": {0: 5, 1: 2}, "b": {0: 1}}


def test_json_has_texts_for_partitions() -> None:
    assert to_json({"a": {3: 7}}) == {"a": {"3": 7}}
