"""Whether the topics of a topology are as it needs them, and which are to be made, with how many partitions.

The count of a repartition topic follows from what is read by those who write it, unless it is given; topics that are
joined need the same count; a changelog has as many partitions as its subtopology has tasks. What exists already is left
as it is: if its count is another one the application is told, for changing it would mix up keys.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from attrs import evolve, frozen

from coordinators.group.streams.requests import StreamsStatus, StreamsStatusCode
from coordinators.group.streams.topology import ANY_COUNT, NeededTopic, Subtopology, Topology
from coordinators.topic_creation import DEFAULT, TopicSpec
from coordinators.topic_view import TopicView
from engine.errors import StreamsInvalidTopology

TASKS_MAX = 20_000
NAMED_AT_MOST = 3


@frozen
class ConfiguredTopology:
    """A topology beside the topics that there are. Without a problem tasks can be assigned.

    `task_counts` are by subtopology; empty where not even that could be found out.
    """

    topology: Topology
    task_counts: Mapping[str, int]
    missing: tuple[TopicSpec, ...] = ()
    problem: StreamsStatus | None = None

    @property
    def is_ready(self) -> bool:
        return self.problem is None


class _Misconfigured(Exception):
    """The topics are not as the topology needs them."""

    def __init__(self, code: StreamsStatusCode, detail: str) -> None:
        super().__init__(detail)
        self.status = StreamsStatus(code, detail)


def configure(topology: Topology, topics: TopicView) -> ConfiguredTopology:
    """The topology as it is with these topics; `StreamsInvalidTopology` if it could not be with any."""
    try:
        _check_sources(topology, topics)
        counts = _Counts(topology, topics)
        counts.decide()
        configured = counts.filled_in()
        task_counts = {each.subtopology_id: counts.most(each.read_topics()) for each in topology.subtopologies}
        if sum(task_counts.values()) > TASKS_MAX:
            raise StreamsInvalidTopology(f"A topology has at most {TASKS_MAX} tasks.")
        missing = _missing(configured, topics)
    except _Misconfigured as error:
        return ConfiguredTopology(topology, {}, problem=error.status)
    problem = None
    if missing:
        detail = f"Internal topics are missing: {_summary([spec.name for spec in missing])}"
        problem = StreamsStatus(StreamsStatusCode.MISSING_INTERNAL_TOPICS, detail)
    return ConfiguredTopology(configured, task_counts, missing, problem)


def _summary(names: Iterable[str]) -> str:
    """The first few."""
    names = sorted(names)
    more = f" and {len(names) - NAMED_AT_MOST} more" if len(names) > NAMED_AT_MOST else ""
    return ", ".join(names[:NAMED_AT_MOST]) + more


def _check_sources(topology: Topology, topics: TopicView) -> None:
    wanted = {name for each in topology.subtopologies for name in each.source_topics}
    absent = wanted - topics.by_name.keys()
    if absent:
        detail = f"Source topics {_summary(absent)} are missing."
        raise _Misconfigured(StreamsStatusCode.MISSING_SOURCE_TOPICS, detail)


class _Counts:
    """How many partitions topics have, or will have."""

    def __init__(self, topology: Topology, topics: TopicView) -> None:
        self.topology = topology
        self.topics = topics
        self.decided: dict[str, int] = {}

    def decide(self) -> None:
        self._decide_repartitions()
        fixed = {topic.name for topic in self._repartitions() if topic.partition_count != ANY_COUNT}
        flexible = {topic.name for topic in self._repartitions()} - fixed
        for subtopology in self.topology.subtopologies:
            for names in subtopology.copartitioned():
                if names:
                    self._copartition(names, fixed, flexible)
        for subtopology in self.topology.subtopologies:
            count = self.most(subtopology.read_topics())
            for topic in subtopology.changelog_topics:
                self.decided[topic.name] = count

    def _repartitions(self) -> Iterable[NeededTopic]:
        return (topic for each in self.topology.subtopologies for topic in each.repartition_sources)

    def most(self, names: Iterable[str]) -> int:
        """The greatest count among topics that are read."""
        counts = [self.count(name) for name in names]
        if not counts:
            raise StreamsInvalidTopology("No source topics found for a subtopology.")
        return max(counts)

    def count(self, name: str) -> int:
        """What is goes before what would be: whether that fits is seen later."""
        existing = self.topics.by_name.get(name)
        return self.decided[name] if existing is None else existing.partition_count

    def _decide_repartitions(self) -> None:
        """From the sources downwards: a subtopology's sinks get the most that it reads, once all of that is known. In a
        loop what is known has to do."""
        self.decided.update(
            (topic.name, topic.partition_count) for topic in self._repartitions() if topic.partition_count != ANY_COUNT
        )
        readers: dict[str, list[Subtopology]] = {}
        unknown: dict[str, int] = {}
        for each in self.topology.subtopologies:
            names = {topic.name for topic in each.repartition_sources} - self.decided.keys()
            unknown[each.subtopology_id] = len(names)
            for name in names:
                readers.setdefault(name, []).append(each)
        ready = deque(each for each in self.topology.subtopologies if not unknown[each.subtopology_id])
        # Whoever knows something of what it reads, should nobody know all of it.
        partly = {
            each.subtopology_id: each
            for each in self.topology.subtopologies
            if unknown[each.subtopology_id] and len(tuple(self._known(each)))
        }
        while ready or partly:
            writer = ready.popleft() if ready else partly[next(iter(partly))]
            partly.pop(writer.subtopology_id, None)
            unknown[writer.subtopology_id] = 0
            for sink in self._decide_sinks(writer):
                for reader in readers.get(sink, ()):
                    if unknown[reader.subtopology_id]:
                        unknown[reader.subtopology_id] -= 1
                        partly[reader.subtopology_id] = reader
                        if not unknown[reader.subtopology_id]:
                            ready.append(reader)
        if any(sink not in self.decided for each in self.topology.subtopologies for sink in each.repartition_sinks):
            raise StreamsInvalidTopology(
                "Failed to compute number of partitions for all repartition topics. There may be loops in the "
                "topology that cannot be resolved."
            )
        if any(topic.name not in self.decided for topic in self._repartitions()):
            raise StreamsInvalidTopology(
                "Failed to compute number of partitions for all repartition topics, because a repartition source topic "
                "is never used as a sink topic."
            )

    def _known(self, subtopology: Subtopology) -> Iterator[int]:
        yield from (self.count(name) for name in subtopology.source_topics)
        decided = self.decided
        yield from (decided[each.name] for each in subtopology.repartition_sources if each.name in decided)

    def _decide_sinks(self, writer: Subtopology) -> list[str]:
        """Those that were not known before."""
        count = max(self._known(writer), default=None)
        sinks = [] if count is None else [sink for sink in writer.repartition_sinks if sink not in self.decided]
        self.decided.update(dict.fromkeys(sinks, count or 0))
        return sinks

    def _copartition(self, names: frozenset[str], fixed: set[str], flexible: set[str]) -> None:
        """Topics that are joined: those of users and those with a given count lead, the others follow."""
        repartitions = {name: self.count(name) for name in names & (fixed | flexible)}
        others = {name: self.count(name) for name in names - (fixed | flexible)}
        if others:
            _check_same(others)
            count = next(iter(others.values()))
        elif fixed & names:
            given = {name: repartitions[name] for name in fixed & names}
            _check_same(given)
            count = next(iter(given.values()))
        else:
            count = max(repartitions.values())
        for name, own in repartitions.items():
            if name in fixed and own != count:
                raise _Misconfigured(
                    StreamsStatusCode.INCORRECTLY_PARTITIONED_TOPICS,
                    f"Number of partitions [{own}] of repartition topic [{name}] doesn't match number of partitions "
                    f"[{count}] of the source topic.",
                )
            self.decided[name] = count

    def filled_in(self) -> Topology:
        """The topology with the counts that were decided."""

        def filled(topics: tuple[NeededTopic, ...]) -> tuple[NeededTopic, ...]:
            return tuple(evolve(each, partition_count=self.decided[each.name]) for each in topics)

        return Topology(
            self.topology.epoch,
            tuple(
                evolve(
                    each,
                    changelog_topics=filled(each.changelog_topics),
                    repartition_sources=filled(each.repartition_sources),
                )
                for each in self.topology.subtopologies
            ),
        )


def _check_same(counts: Mapping[str, int]) -> None:
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name}={count}" for name, count in sorted(counts.items()))
        raise _Misconfigured(
            StreamsStatusCode.INCORRECTLY_PARTITIONED_TOPICS,
            f"Following topics do not have the same number of partitions: [{{{listed}}}]",
        )


def _missing(topology: Topology, topics: TopicView) -> tuple[TopicSpec, ...]:
    needed = {
        topic.name: topic
        for each in topology.subtopologies
        for topic in (*each.repartition_sources, *each.changelog_topics)
    }
    missing = []
    for name, topic in sorted(needed.items()):
        existing = topics.by_name.get(name)
        if existing is None:
            factor = topic.replication_factor or DEFAULT
            missing.append(TopicSpec(name, topic.partition_count, factor, configs=dict(topic.configs)))
        elif existing.partition_count != topic.partition_count:
            raise _Misconfigured(
                StreamsStatusCode.INCORRECTLY_PARTITIONED_TOPICS,
                f"Existing topic {name} has different number of partitions: expected {topic.partition_count}, found "
                f"{existing.partition_count}",
            )
    return tuple(missing)
