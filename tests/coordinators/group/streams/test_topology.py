"""Topologies that make no sense are refused."""

import pytest

from coordinators.group.streams.topology import (
    SUBTOPOLOGIES_MAX,
    CopartitionGroup,
    NeededTopic,
    Subtopology,
    Topology,
    check_topology,
)
from engine.errors import StreamsInvalidTopology
from tests.coordinators.group.streams_shard import COUNTING


def test_readers_and_needs() -> None:
    assert COUNTING.readers == {"in": "0", "words": "1"}
    assert COUNTING.needed_names == {"in", "words", "counts"}
    check_topology(COUNTING)


@pytest.mark.parametrize(
    ("subtopology", "reason"),
    [
        (Subtopology("0", source_topics=("__consumer_offsets",)), "internal topics __consumer_offsets"),
        (Subtopology("0", source_topics=("a b",)), "Topic names a b are not valid"),
        (Subtopology("0", repartition_sinks=("",)), "not valid topic names"),
        (Subtopology("0", source_topics=("in",), changelog_topics=(NeededTopic("c", 3),)), "undefined partition count"),
        (Subtopology("0", repartition_sources=(NeededTopic("r", -1),)), "less than no partitions"),
        (Subtopology("0", ("in",), copartition_groups=(CopartitionGroup((1,)),)), "does not read"),
        (Subtopology("0", ("in",), copartition_groups=(CopartitionGroup((-1,)),)), "does not read"),
        (Subtopology("0", ("in",), copartition_groups=(CopartitionGroup((), (), (0,)),)), "does not read"),
    ],
)
def test_a_subtopology_that_contradicts_itself(subtopology: Subtopology, reason: str) -> None:
    with pytest.raises(StreamsInvalidTopology, match=reason):
        check_topology(Topology(0, (subtopology,)))


def test_ids_and_epochs() -> None:
    with pytest.raises(StreamsInvalidTopology, match="another id"):
        check_topology(Topology(0, (Subtopology("0", ("a",)), Subtopology("0", ("b",)))))
    with pytest.raises(StreamsInvalidTopology, match="0 or more"):
        check_topology(Topology(-1, (Subtopology("0", ("a",)),)))
    with pytest.raises(StreamsInvalidTopology, match="at most"):
        check_topology(Topology(0, tuple(Subtopology(str(number)) for number in range(SUBTOPOLOGIES_MAX + 1))))
