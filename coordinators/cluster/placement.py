"""Which nodes new partitions lie on: spread over racks, then over nodes, and so are their leaders.

A pure function of the nodes, of what they hold already, and of randomness that it is given. Its rules, in the order of
their weight:

1. A node holds a partition at most once. The first replica leads, and can: it is eligible.
2. A node that is not eligible (fenced, stopping) is taken only when those that are do not suffice.
3. Replicas of a partition share a rack only if no other rack has an eligible node left. A node without a rack is
   one of its own.
4. The rack whose nodes hold fewest replicas on the average comes first, and of its nodes the one with fewest. Equals
   are drawn by lot, so that what a lost node held is spread over all.
5. Leaders are evened out over the sets that were found: within one of each other, where racks do not stand in the way.

Kafka (`StripedReplicaPlacer`) has the same rules, and stripes instead of counting.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from random import Random

from attrs import Factory, define

from engine.catalogue.records import NodeRecord, PartitionRecord
from engine.errors import InvalidReplicationFactor
from engine.ids import RandomBytes

SEED_BYTES = 16


def place(
    nodes: Sequence[NodeRecord],
    count: int,
    factor: int,
    random_bytes: RandomBytes,
    held: Sequence[PartitionRecord] = (),
) -> list[tuple[int, ...]]:
    """The replicas of `count` new partitions of a topic, which has those in `held` already.

    `InvalidReplicationFactor` if there are too few nodes."""
    check_factor(nodes, factor)
    if len(nodes) == 1:
        return [(nodes[0].node_id,)] * count
    chance = Random(int.from_bytes(random_bytes(SEED_BYTES)))
    load = _Load.of(nodes, held)
    sets = [_draw(nodes, factor, load, chance) for _ in range(count)]
    eligible = {node.node_id for node in nodes if node.is_eligible}
    leaders = _Leaders([[node for node in each if node in eligible] for each in sets], load.led)
    leaders.even_out()
    return [_led_by(leader, each) for leader, each in zip(leaders.leader_of, sets, strict=True)]


def extend(
    replicas: Sequence[int], nodes: Sequence[NodeRecord], factor: int, held: Sequence[PartitionRecord]
) -> tuple[int, ...]:
    """More replicas for a partition that has these, by the same rules, up to `factor`; the leader stays."""
    load = _Load.of(nodes, held)
    racks = {node.node_id: _rack(node) for node in nodes}
    in_rack = Counter(racks[node] for node in replicas if node in racks)
    extended = [*replicas]
    left = [node for node in nodes if node.node_id not in replicas]
    while left and len(extended) < factor:
        node = min(left, key=lambda each: (load.weight(each, in_rack), each.node_id))
        left.remove(node)
        extended.append(node.node_id)
        in_rack[_rack(node)] += 1
    return tuple(extended)


def check_factor(nodes: Collection[NodeRecord], factor: int) -> None:
    """Raises why partitions cannot have so many replicas, in Kafka's words."""
    trouble = ""
    if factor > len(nodes):
        trouble = (
            f"The target replication factor of {factor} cannot be reached because only {len(nodes)} "
            "broker(s) are registered."
        )
    elif not any(node.is_eligible for node in nodes):
        trouble = "All brokers are currently fenced or in controlled shutdown."
    if trouble:
        raise InvalidReplicationFactor(f"Unable to replicate the partition {factor} time(s): {trouble}")


@define
class _Load:
    """How many replicas and leaders of the topic there are on nodes and in racks."""

    groups: dict[int, tuple[str, bool]]
    """Of each node its rack, and whether it is eligible: those of a rack that are not are counted for themselves."""
    sizes: Counter[tuple[str, bool]]
    replicas: Counter[int] = Factory(Counter)
    grouped: Counter[tuple[str, bool]] = Factory(Counter)
    led: Counter[int] = Factory(Counter)

    @classmethod
    def of(cls, nodes: Sequence[NodeRecord], held: Sequence[PartitionRecord]) -> "_Load":
        groups = {node.node_id: (_rack(node), node.is_eligible) for node in nodes}
        load = cls(groups, Counter(groups.values()))
        for row in held:
            load.add(row.replicas)
            # The first leads unless something has happened to it.
            load.led[row.replicas[0]] += 1
        return load

    def add(self, replicas: Sequence[int]) -> None:
        self.replicas.update(replicas)
        self.grouped.update(self.groups[node] for node in replicas if node in self.groups)

    def weight(self, node: NodeRecord, in_rack: Counter[str]) -> tuple[bool, int, float, int]:
        """The least is the next to take a replica of a partition that has so many in each rack."""
        group = self.groups[node.node_id]
        average = self.grouped[group] / self.sizes[group]
        return not node.is_eligible, in_rack[group[0]], average, self.replicas[node.node_id]


def _draw(nodes: Sequence[NodeRecord], factor: int, load: _Load, chance: Random) -> list[int]:
    """The nodes of one partition, in an order by lot."""
    left = [*nodes]
    chance.shuffle(left)
    drawn: list[int] = []
    in_rack = Counter[str]()
    for _ in range(factor):
        # `min` takes the first of equals: the lot has decided.
        node = min(left, key=lambda each: load.weight(each, in_rack))
        left.remove(node)
        drawn.append(node.node_id)
        in_rack[_rack(node)] += 1
    load.add(drawn)
    chance.shuffle(drawn)
    return drawn


def _rack(node: NodeRecord) -> str:
    return f"node {node.node_id}" if node.rack is None else f"rack {node.rack}"


def _led_by(leader: int, replicas: Sequence[int]) -> tuple[int, ...]:
    return leader, *(node for node in replicas if node != leader)


@define
class _Leaders:
    """Who leads which partition, evened out: as long as a leader can be passed on, over others if need be, from a node
    to one that leads at least two fewer, it is."""

    candidates: list[list[int]]
    """Of each partition, those that may lead it; the first of equals does."""
    _known: Mapping[int, int]
    leader_of: list[int] = Factory(list)
    _led: dict[int, set[int]] = Factory(dict)
    """The partitions that each node leads."""

    def even_out(self) -> None:
        for partition, candidates in enumerate(self.candidates):
            leader = min(candidates, key=self._count)
            self.leader_of.append(leader)
            self._led.setdefault(leader, set()).add(partition)
        for node in sorted({node for each in self.candidates for node in each}):
            while (way := self._way_down(node)) is not None:
                self._pass_on(way)

    def _count(self, node: int) -> int:
        return self._known.get(node, 0) + len(self._led.get(node, ()))

    def _way_down(self, start: int) -> list[tuple[int, int]] | None:
        """Which partitions are to be passed on to whom; None if the node leads no more than it has to."""
        came_by: dict[int, tuple[int, int]] = {}
        queue = [start]
        for node in queue:
            if self._count(node) <= self._count(start) - 2:
                return _traced(came_by, start, node)
            for partition in sorted(self._led.get(node, ())):
                for other in self.candidates[partition]:
                    if other != start and other not in came_by:
                        came_by[other] = node, partition
                        queue.append(other)
        return None

    def _pass_on(self, way: Sequence[tuple[int, int]]) -> None:
        for partition, node in way:
            self._led[self.leader_of[partition]].remove(partition)
            self._led.setdefault(node, set()).add(partition)
            self.leader_of[partition] = node


def _traced(came_by: Mapping[int, tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    way: list[tuple[int, int]] = []
    while end != start:
        before, partition = came_by[end]
        way.append((partition, end))
        end = before
    return way
