"""The topology of a Streams application as its members tell it: subtopologies, and the topics that each one needs.

Members tell it when they join, and the group keeps it. A subtopology reads source topics and repartition topics, writes
to repartition topics that others read, and keeps the state of its stores in changelog topics.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from attrs import frozen

from coordinators.topic_names import INTERNAL_TOPICS, is_legal_topic_name
from engine.errors import StreamsInvalidTopology

ANY_COUNT: Final = 0
"""How many partitions a topic has follows from others."""
SUBTOPOLOGIES_MAX = 5_000


@frozen
class NeededTopic:
    """A repartition or changelog topic. 0 replicas are as many as the broker gives by default."""

    name: str
    partition_count: int = ANY_COUNT
    replication_factor: int = 0
    configs: tuple[tuple[str, str], ...] = ()


@frozen
class CopartitionGroup:
    """Topics that must have the same number of partitions, as indexes into what their subtopology reads."""

    source_topics: tuple[int, ...] = ()
    source_regexes: tuple[int, ...] = ()
    repartition_topics: tuple[int, ...] = ()


@frozen
class Subtopology:
    """A part of an application whose tasks pass records on without a topic in between."""

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_regexes: tuple[str, ...] = ()
    changelog_topics: tuple[NeededTopic, ...] = ()
    repartition_sinks: tuple[str, ...] = ()
    repartition_sources: tuple[NeededTopic, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()

    def read_topics(self) -> Iterator[str]:
        """Those whose partitions are its tasks' input."""
        yield from self.source_topics
        yield from (topic.name for topic in self.repartition_sources)

    def copartitioned(self) -> Iterator[frozenset[str]]:
        """Names of topics that must have the same number of partitions."""
        for group in self.copartition_groups:
            names = {self.source_topics[index] for index in group.source_topics}
            yield frozenset(names | {self.repartition_sources[index].name for index in group.repartition_topics})


@frozen(slots=False)
class Topology:
    """All subtopologies, as of an epoch."""

    epoch: int
    subtopologies: tuple[Subtopology, ...] = ()

    @cached_property
    def readers(self) -> dict[str, str]:
        """By the name of a topic that is read, the subtopology that reads it."""
        return {name: each.subtopology_id for each in self.subtopologies for name in each.read_topics()}

    @cached_property
    def needed_names(self) -> frozenset[str]:
        """Every topic without which it cannot run."""
        changelogs = (topic.name for each in self.subtopologies for topic in each.changelog_topics)
        return frozenset((*self.readers, *changelogs))


def check_topology(topology: Topology) -> None:
    """`StreamsInvalidTopology` if it contradicts itself, or names topics that it may not."""
    names = [name for each in topology.subtopologies for name in _names(each)]
    internal = [name for name in names if name in INTERNAL_TOPICS]
    if internal:
        raise StreamsInvalidTopology(
            f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams topology is prohibited."
        )
    illegal = [name for name in names if not is_legal_topic_name(name)]
    if illegal:
        raise StreamsInvalidTopology(f"Topic names {','.join(illegal)} are not valid topic names.")
    ids = {each.subtopology_id for each in topology.subtopologies}
    if len(ids) < len(topology.subtopologies) or len(ids) > SUBTOPOLOGIES_MAX:
        raise StreamsInvalidTopology(f"A topology has at most {SUBTOPOLOGIES_MAX} subtopologies, each of another id.")
    if topology.epoch < 0:
        raise StreamsInvalidTopology(f"A topology's epoch is 0 or more, not {topology.epoch}.")
    for each in topology.subtopologies:
        _check_subtopology(each)


def _names(subtopology: Subtopology) -> Iterator[str]:
    yield from subtopology.source_topics
    yield from subtopology.repartition_sinks
    yield from (topic.name for topic in (*subtopology.repartition_sources, *subtopology.changelog_topics))


def _check_subtopology(subtopology: Subtopology) -> None:
    for topic in subtopology.changelog_topics:
        if topic.partition_count != ANY_COUNT:
            raise StreamsInvalidTopology(
                f"Changelog topic {topic.name} must have an undefined partition count, but it is set to "
                f"{topic.partition_count}."
            )
    if any(topic.partition_count < 0 for topic in subtopology.repartition_sources):
        raise StreamsInvalidTopology(f"Subtopology {subtopology.subtopology_id} asks for less than no partitions.")
    for group in subtopology.copartition_groups:
        pairs = (
            (group.source_topics, subtopology.source_topics),
            (group.repartition_topics, subtopology.repartition_sources),
        )
        if any(not 0 <= index < len(topics) for indexes, topics in pairs for index in indexes):
            raise StreamsInvalidTopology(
                f"A copartition group of subtopology {subtopology.subtopology_id} names topics that it does not read."
            )
