"""The record of a topology: what is written is read. What Kafka's own tools make of it is shown in compat_tests."""

import pytest

from coordinators.group.streams.topology import CopartitionGroup, NeededTopic, Subtopology, Topology
from coordinators.group.streams.topology_format import decode_topology, encode_topology
from coordinators.record_fields import UnknownFormat
from tests.coordinators.group.streams_shard import COUNTING

FULL = Topology(
    3,
    (
        Subtopology(
            "0",
            ("a", "b"),
            ("x.*",),
            (NeededTopic("c", 0, 3, (("cleanup.policy", "compact"), ("k", ""))),),
            ("s",),
            (NeededTopic("r", 7),),
            (CopartitionGroup((0, 1), (0,), (0,)),),
        ),
    ),
)


@pytest.mark.parametrize("topology", [COUNTING, FULL, Topology(0)])
def test_a_topology_comes_back(topology: Topology) -> None:
    assert decode_topology(encode_topology(topology)) == topology


def test_a_topology_is_written_as_kafka_does() -> None:
    topology = Topology(1, (Subtopology("0", ("t",)),))
    assert encode_topology(topology).hex() == "00000000000102023002027401010101010000"


def test_a_version_from_the_future_is_not_guessed() -> None:
    with pytest.raises(UnknownFormat):
        decode_topology(b"\0\1" + bytes(8))
