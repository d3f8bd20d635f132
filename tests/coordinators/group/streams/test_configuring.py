"""Topologies beside topics: what is missing, how many partitions it gets, and what does not fit."""

import time

import pytest
from attrs import evolve

from coordinators.group.streams.configuring import ConfiguredTopology, configure
from coordinators.group.streams.requests import StreamsStatusCode
from coordinators.group.streams.topology import CopartitionGroup, NeededTopic, Subtopology, Topology
from coordinators.topic_creation import TopicSpec
from coordinators.topic_view import TopicView
from engine.errors import StreamsInvalidTopology
from tests.coordinators.group.consumer_shard import topic_of
from tests.coordinators.group.streams_shard import COUNTING


def configured(topology: Topology, **topics: int) -> ConfiguredTopology:
    view = TopicView()
    for name, partitions in topics.items():
        view.add(topic_of(name, partitions))
    return configure(topology, view)


def code(found: ConfiguredTopology) -> StreamsStatusCode | None:
    return None if found.problem is None else found.problem.code


def test_sources_that_are_missing_are_named() -> None:
    found = configured(COUNTING)
    assert code(found) is StreamsStatusCode.MISSING_SOURCE_TOPICS
    assert found.problem is not None
    assert "in" in found.problem.detail
    assert not found.missing


def test_internal_topics_get_as_many_partitions_as_the_source() -> None:
    found = configured(COUNTING, **{"in": 3})
    assert code(found) is StreamsStatusCode.MISSING_INTERNAL_TOPICS
    assert [(spec.name, spec.partition_count) for spec in found.missing] == [("counts", 3), ("words", 3)]
    assert found.task_counts == {"0": 3, "1": 3}


def test_with_all_topics_it_is_ready() -> None:
    found = configured(COUNTING, **{"in": 3}, words=3, counts=3)
    assert found.is_ready
    assert not found.missing
    assert found.topology.subtopologies[1].changelog_topics[0].partition_count == 3


def test_an_internal_topic_with_other_partitions_does_not_fit() -> None:
    found = configured(COUNTING, **{"in": 3}, words=2, counts=2)
    assert code(found) is StreamsStatusCode.INCORRECTLY_PARTITIONED_TOPICS
    assert found.problem is not None
    assert found.problem.detail == "Existing topic words has different number of partitions: expected 3, found 2"


def test_what_a_topic_asks_for_is_passed_on() -> None:
    needed = NeededTopic("words", 7, 3, (("retention.ms", "-1"),))
    topology = Topology(
        0,
        (
            Subtopology("0", source_topics=("in",), repartition_sinks=("words",)),
            Subtopology("1", repartition_sources=(needed,)),
        ),
    )
    found = configured(topology, **{"in": 3})
    assert found.missing == (TopicSpec("words", 7, 3, configs={"retention.ms": "-1"}),)
    assert found.task_counts == {"0": 3, "1": 7}


def test_counts_pass_through_chains_of_repartitions() -> None:
    topology = Topology(
        0,
        (
            Subtopology("2", repartition_sources=(NeededTopic("b"),), changelog_topics=(NeededTopic("c"),)),
            Subtopology("1", repartition_sources=(NeededTopic("a"),), repartition_sinks=("b",)),
            Subtopology("0", source_topics=("in",), repartition_sinks=("a",)),
        ),
    )
    assert {spec.name: spec.partition_count for spec in configured(topology, **{"in": 5}).missing} == {
        "a": 5,
        "b": 5,
        "c": 5,
    }


def test_a_sink_gets_the_most_of_all_that_its_writer_reads() -> None:
    """Also where one of it is known long before the other."""
    topology = Topology(
        0,
        (
            Subtopology("0", source_topics=("in",), repartition_sinks=("a",)),
            Subtopology("1", repartition_sources=(NeededTopic("a"), NeededTopic("b")), repartition_sinks=("c",)),
            Subtopology("2", source_topics=("large",), repartition_sinks=("b",)),
            Subtopology("3", repartition_sources=(NeededTopic("c"),)),
        ),
    )
    found = {spec.name: spec.partition_count for spec in configured(topology, **{"in": 2}, large=5).missing}
    assert found == {"a": 2, "b": 5, "c": 5}


def test_a_loop_that_begins_at_a_source_is_resolved() -> None:
    topology = Topology(
        0,
        (
            Subtopology("0", ("in",), repartition_sources=(NeededTopic("a"),), repartition_sinks=("b",)),
            Subtopology("1", repartition_sources=(NeededTopic("b"),), repartition_sinks=("a",)),
        ),
    )
    found = {spec.name: spec.partition_count for spec in configured(topology, **{"in": 2}).missing}
    assert found == {"a": 2, "b": 2}


def test_a_long_chain_is_resolved_quickly_in_any_order() -> None:
    """Each subtopology is looked at a few times, not once for each of the others."""
    chain = [
        Subtopology(
            str(number), repartition_sources=(NeededTopic(f"t{number}"),), repartition_sinks=(f"t{number + 1}",)
        )
        for number in range(4_000)
    ]
    first = Subtopology("first", ("in",), repartition_sinks=("t0",))
    last = Subtopology("last", repartition_sources=(NeededTopic("t4000"),))
    topology = Topology(0, (last, *reversed(chain), first))
    began = time.process_time()
    assert len(configured(topology, **{"in": 1}).missing) == 4_001
    assert time.process_time() - began < 2


def test_a_loop_without_a_source_is_refused() -> None:
    topology = Topology(
        0,
        (
            Subtopology("0", repartition_sources=(NeededTopic("a"),), repartition_sinks=("b",)),
            Subtopology("1", repartition_sources=(NeededTopic("b"),), repartition_sinks=("a",)),
        ),
    )
    with pytest.raises(StreamsInvalidTopology, match="loops"):
        configured(topology)


def test_a_repartition_topic_that_nobody_writes_is_refused() -> None:
    with pytest.raises(StreamsInvalidTopology, match="never used as a sink"):
        configured(Topology(0, (Subtopology("0", repartition_sources=(NeededTopic("a"),)),)))


def joined(*repartitions: NeededTopic, sources: tuple[str, ...] = ()) -> Topology:
    group = CopartitionGroup(tuple(range(len(sources))), (), tuple(range(len(repartitions))))
    return Topology(
        0,
        (
            Subtopology("0", source_topics=("in",), repartition_sinks=tuple(each.name for each in repartitions)),
            Subtopology("1", sources, repartition_sources=repartitions, copartition_groups=(group,)),
        ),
    )


def test_joined_sources_need_the_same_count() -> None:
    found = configured(joined(sources=("left", "right")), **{"in": 1}, left=2, right=3)
    assert code(found) is StreamsStatusCode.INCORRECTLY_PARTITIONED_TOPICS
    assert found.problem is not None
    assert "left=2, right=3" in found.problem.detail


def test_a_repartition_topic_follows_the_source_that_it_is_joined_with() -> None:
    found = configured(joined(NeededTopic("a"), sources=("left",)), **{"in": 2}, left=6)
    assert {spec.name: spec.partition_count for spec in found.missing} == {"a": 6}


def test_a_repartition_topic_of_a_given_count_must_match_the_source() -> None:
    found = configured(joined(NeededTopic("a", 4), sources=("left",)), **{"in": 2}, left=6)
    assert code(found) is StreamsStatusCode.INCORRECTLY_PARTITIONED_TOPICS


def test_repartition_topics_follow_the_one_with_a_given_count() -> None:
    found = configured(joined(NeededTopic("a", 4), NeededTopic("b")), **{"in": 2})
    assert {spec.name: spec.partition_count for spec in found.missing} == {"a": 4, "b": 4}


def test_a_topology_may_not_have_any_number_of_tasks() -> None:
    many = tuple(Subtopology(str(number), source_topics=("in",)) for number in range(21))
    with pytest.raises(StreamsInvalidTopology, match="20000 tasks"):
        configured(Topology(0, many), **{"in": 1_000})


def test_many_missing_topics_are_summed_up() -> None:
    changelogs = tuple(NeededTopic(f"c{number}") for number in range(5))
    topology = Topology(0, (evolve(COUNTING.subtopologies[1], repartition_sources=(), source_topics=("in",)),))
    topology = Topology(0, (evolve(topology.subtopologies[0], changelog_topics=changelogs),))
    found = configured(topology, **{"in": 1})
    assert found.problem is not None
    assert found.problem.detail == "Internal topics are missing: c0, c1, c2 and 2 more"
