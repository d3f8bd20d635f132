"""Plans of where partitions are to lie: without a node, evened out, or with another number of replicas.

Pure functions from how partitions lie to the moves that it takes. They keep to the rules by which new partitions are
placed (coordinators/cluster/placement.py): replicas of a partition share a rack only if no other has a node left, then
whoever holds fewest comes first. Beyond that they move as little as they can: a replica stays where it may.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from tools.cli.clusters.layout import Layout, LayoutNode, PartitionLayout, TopicPartition
from tools.cli.errors import UsageMistake

VERSION = 1
"""Of the file's format, which is that of Kafka's own tool."""


@frozen
class Move:
    """A partition that is to lie elsewhere, or in another order: the first replica leads."""

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    size_bytes: int = 0

    @property
    def key(self) -> TopicPartition:
        """Topic and number."""
        return self.topic, self.partition

    @property
    def adding(self) -> tuple[int, ...]:
        """The nodes that it is copied to."""
        return tuple(node for node in self.after if node not in self.before)

    @property
    def copied_bytes(self) -> int:
        """What that takes."""
        return self.size_bytes * len(self.adding)

    def row(self) -> dict[str, Any]:
        """For tables and programs."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "before": list(self.before),
            "replicas": list(self.after),
            "adding": list(self.adding),
            "removing": [node for node in self.before if node not in self.after],
            "copied_bytes": self.copied_bytes,
        }


def drained(layout: Layout, node: int) -> list[Move]:
    """Nothing lies on that node any more."""
    if not any(node in each.target for each in layout.partitions) and node not in layout.nodes:
        raise UsageMistake(f"there is no node {node}", "'tidegate cluster nodes' shows those that there are")
    others = {number: each for number, each in layout.nodes.items() if number != node}
    load = _Load.of(layout.partitions, others)
    for each in layout.partitions:
        if node in each.target:
            staying = [replica for replica in each.target if replica != node]
            load.assign(each, load.filled(each, staying, len(each.target)), led_before=each.target[0])
    return load.moves


def with_factor(layout: Layout, partitions: Iterable[PartitionLayout], factor: int) -> list[Move]:
    """These partitions have so many replicas."""
    load = _Load.of(layout.partitions, layout.nodes)
    for each in partitions:
        if len(each.target) > factor:
            load.assign(each, load.reduced(each, factor))
        elif len(each.target) < factor:
            load.assign(each, load.filled(each, list(each.target), factor))
    return load.moves


def onto(layout: Layout, partitions: Iterable[PartitionLayout], nodes: Collection[int]) -> list[Move]:
    """These partitions lie on these nodes only, with as many replicas as they have."""
    for node in nodes:
        if node not in layout.nodes:
            raise UsageMistake(f"there is no node {node}", "'tidegate cluster nodes' shows those that there are")
    load = _Load.of(layout.partitions, {number: layout.nodes[number] for number in nodes})
    for each in partitions:
        staying = [node for node in each.target if node in nodes]
        if len(staying) < len(each.target):
            load.assign(each, load.filled(each, staying, len(each.target)), led_before=each.target[0])
    return load.moves


def on_nodes_away(layout: Layout) -> list[PartitionLayout]:
    """What evening out does not touch: nodes that are away may come back."""
    return [each for each in layout.partitions if not set(each.target) <= set(layout.nodes)]


def balanced(layout: Layout) -> list[Move]:
    """Nodes hold as many replicas as others, and are to lead as many, within one; racks may stand in the way."""
    load = _Load.of(layout.partitions, layout.nodes)
    stuck = {each.key for each in on_nodes_away(layout)}
    movable = {each.key: each for each in layout.partitions if each.key not in stuck}
    while (step := load.next_step(movable.values())) is not None:
        each, after = step
        load.assign(each, after)
    while (step := load.next_leader(movable.values())) is not None:
        each, after = step
        load.assign(each, after)
    return load.moves


@define
class _Load:
    """What each node holds and is to lead, with the moves so far."""

    nodes: Mapping[int, LayoutNode]
    held: Counter[int] = field(factory=Counter)
    led: Counter[int] = field(factory=Counter)
    of_topic: Counter[tuple[str, int]] = field(factory=Counter)
    now: dict[TopicPartition, tuple[int, ...]] = field(factory=dict)
    known: dict[TopicPartition, PartitionLayout] = field(factory=dict)

    @classmethod
    def of(cls, partitions: Iterable[PartitionLayout], nodes: Mapping[int, LayoutNode]) -> "_Load":
        load = cls(nodes)
        for each in partitions:
            load.known[each.key] = each
            load._place(each.key, each.target)
        return load

    @property
    def moves(self) -> list[Move]:
        """What differs from how it was."""
        return [
            Move(*key, each.target, self.now[key], each.size_bytes)
            for key, each in self.known.items()
            if self.now[key] != each.target
        ]

    def _place(self, key: TopicPartition, replicas: tuple[int, ...], sign: int = 1) -> None:
        self.now[key] = replicas
        self.led[replicas[0]] += sign
        for node in replicas:
            self.held[node] += sign
            self.of_topic[key[0], node] += sign

    def assign(self, each: PartitionLayout, replicas: Sequence[int], led_before: int | None = None) -> None:
        """The partition is to lie there. If who led it is gone, another leads that leads fewest."""
        after = tuple(replicas)
        self._place(each.key, self.now[each.key], -1)
        if led_before is not None and led_before not in after:
            first = min(after, key=lambda node: (self.led[node], after.index(node)))
            after = first, *(node for node in after if node != first)
        self._place(each.key, after)

    def filled(self, each: PartitionLayout, staying: list[int], count: int) -> list[int]:
        """Those that stay, and as many others as it takes: from other racks first, then by how much they hold."""
        replicas = list(staying)
        while len(replicas) < count:
            racks = Counter(self._rack(node) for node in replicas)
            free = [node for node in self.nodes if node not in replicas]
            if not free:
                raise UsageMistake(
                    f"{each.topic}-{each.partition} is to have {count} replicas, and only {len(replicas)} nodes can "
                    "hold them",
                    "add a node, or lower the factor with 'tidegate cluster reassign plan --replication-factor N'",
                )
            replicas.append(
                min(
                    free,
                    key=lambda node: (racks[self._rack(node)], self.held[node], self.of_topic[each.topic, node], node),
                )
            )
        return replicas

    def reduced(self, each: PartitionLayout, count: int) -> list[int]:
        """As many as that: whoever is away or out of sync goes first, then who shares a rack, then who holds most. The
        one that leads stays."""
        replicas = list(each.target)
        while len(replicas) > count:
            racks = Counter(self._rack(node) for node in replicas)
            candidates = [node for node in replicas if node != each.leader] or replicas
            goes = max(
                candidates,
                key=lambda node: (node not in each.isr, racks[self._rack(node)], self.held[node], replicas.index(node)),
            )
            replicas.remove(goes)
        return replicas

    def next_step(self, partitions: Iterable[PartitionLayout]) -> tuple[PartitionLayout, list[int]] | None:
        """A replica from a node to one that holds at least two fewer: of the topic that is spread least evenly between
        them, and the smallest of it."""
        best: tuple[Any, ...] | None = None
        chosen: tuple[PartitionLayout, list[int]] | None = None
        for each in partitions:
            replicas = self.now[each.key]
            for source in replicas:
                for target in self.nodes:
                    gap = self.held[source] - self.held[target]
                    if gap < 2 or target in replicas or not self._racks_allow(replicas, source, target):
                        continue
                    uneven = self.of_topic[each.topic, source] - self.of_topic[each.topic, target]
                    rank = (-gap, -uneven, each.size_bytes, each.key, source, target)
                    if best is None or rank < best:
                        best = rank
                        chosen = each, [target if node == source else node for node in replicas]
        return chosen

    def next_leader(self, partitions: Iterable[PartitionLayout]) -> tuple[PartitionLayout, list[int]] | None:
        """A partition that another of its replicas is to lead, which leads at least two fewer; nothing is copied."""
        best: tuple[Any, ...] | None = None
        chosen: tuple[PartitionLayout, list[int]] | None = None
        for each in partitions:
            first, *others = self.now[each.key]
            for other in others:
                gap = self.led[first] - self.led[other]
                rank = (-gap, each.key, other)
                if gap >= 2 and (best is None or rank < best):
                    best = rank
                    chosen = each, [other, *(node for node in self.now[each.key] if node != other)]
        return chosen

    def _racks_allow(self, replicas: Sequence[int], source: int, target: int) -> bool:
        """Whether no more replicas share a rack than before."""
        before = Counter(self._rack(node) for node in replicas)
        after = Counter(self._rack(target if node == source else node) for node in replicas)
        return max(after.values()) <= max(before.values())

    def _rack(self, node: int) -> str:
        known = self.nodes.get(node)
        return f"node {node}" if known is None else known.place


# -- files


def written(moves: Iterable[Move]) -> str:
    """A plan as a file, as Kafka's own tool reads it too."""
    rows = [{"topic": each.topic, "partition": each.partition, "replicas": list(each.after)} for each in moves]
    return json.dumps({"version": VERSION, "partitions": rows}, indent=2) + "\n"


def read(text: str, layout: Layout) -> list[Move]:
    """A plan from a file; partitions that lie so already are left out."""
    known = {each.key: each for each in layout.partitions}
    try:
        document = json.loads(text)
        wanted = [
            (str(each["topic"]), int(each["partition"]), tuple(map(int, each["replicas"])))
            for each in document["partitions"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageMistake(f"this is no plan: {error}", "'tidegate cluster reassign plan' writes one") from None
    moves = []
    for topic, partition, replicas in wanted:
        each = known.get((topic, partition))
        if each is None:
            raise UsageMistake(f"the plan names {topic}-{partition}, which there is not", "make a new plan")
        if each.target != replicas:
            moves.append(Move(topic, partition, each.target, replicas, each.size_bytes))
    return moves
