"""How a member that leads its group deals out partitions: Kafka's assignors, by the names that clients know them by.

A member that lives in the broker offers all of them, so that it has one in common with any consumer. It says by none of
them what it has: it gives everything back before it joins, which every assignor allows. Those of others who do say so
(`cooperative-sticky`, KIP-429) keep what they have as far as that is fair; what one of them has to give up is dealt to
nobody in this round, for it reads on until it is told, and joins again when it has let go.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import cycle
from typing import NamedTuple

Place = tuple[str, int]
"""A topic's name and a partition."""
Dealt = dict[str, list[Place]]
"""Places by the ids of members, each of which has an entry."""


class Claimant(NamedTuple):
    """A member as its leader sees it."""

    member_id: str
    topics: frozenset[str]
    owned: frozenset[Place] = frozenset()
    generation: int = -1
    """In which it was given what it owns."""
    instance_id: str | None = None


Counts = Mapping[str, int]
"""How many partitions each topic has."""
Assignor = Callable[[list[Claimant], Counts], Dealt]


def by_range(members: list[Claimant], counts: Counts) -> Dealt:
    """Each topic by itself, in runs of neighbours; those who come first have one more where it does not come out."""
    dealt: Dealt = {each.member_id: [] for each in members}
    for topic in sorted(counts):
        takers = _in_order(each for each in members if topic in each.topics)
        first = 0
        for number, taker in enumerate(takers):
            size = counts[topic] // len(takers) + (number < counts[topic] % len(takers))
            dealt[taker.member_id] += [(topic, index) for index in range(first, first + size)]
            first += size
    return dealt


def by_round_robin(members: list[Claimant], counts: Counts) -> Dealt:
    """All partitions in turn, to whoever is next and wants the topic."""
    dealt: Dealt = {each.member_id: [] for each in members}
    wanted = {topic for each in members for topic in each.topics}
    turns = cycle(_in_order(members))
    for topic, index in _places({topic: count for topic, count in counts.items() if topic in wanted}):
        taker = next(turns)
        while topic not in taker.topics:
            taker = next(turns)
        dealt[taker.member_id].append((topic, index))
    return dealt


def sticky(members: list[Claimant], counts: Counts) -> Dealt:
    """As evenly as what members want allows, and whoever has something keeps it as far as that is even."""
    dealt = _kept(members, counts)
    owned = {place for places in dealt.values() for place in places}
    takers = {topic: [each.member_id for each in members if topic in each.topics] for topic in counts}
    for place in _places(counts):
        if place not in owned and takers[place[0]]:
            dealt[min(takers[place[0]], key=lambda member_id: (len(dealt[member_id]), member_id))].append(place)
    _even_out(dealt, takers)
    return {member_id: sorted(places) for member_id, places in dealt.items()}


def cooperative_sticky(members: list[Claimant], counts: Counts) -> Dealt:
    """The same; but what would move from one member to another is let go first, and dealt in the next round."""
    # Of two who say that they have a place, who has it since later; even if it does not want the topic any more.
    earlier_first = sorted(members, key=lambda each: (each.generation, each.member_id))
    holders = {place: each.member_id for each in earlier_first for place in each.owned}
    return {
        member_id: [place for place in places if holders.get(place, member_id) == member_id]
        for member_id, places in sticky(members, counts).items()
    }


ASSIGNORS: Mapping[str, Assignor] = {
    "range": by_range,
    "roundrobin": by_round_robin,
    "sticky": sticky,
    "cooperative-sticky": cooperative_sticky,
}
"""By name, the one that a member prefers first: it is also what most clients prefer."""


def _in_order(members: Iterable[Claimant]) -> list[Claimant]:
    """Static members by their own names, as in Kafka: their place outlives their id."""
    return sorted(members, key=lambda each: (each.instance_id is None, each.instance_id or each.member_id))


def _places(counts: Counts) -> list[Place]:
    return [(topic, index) for topic in sorted(counts) for index in range(counts[topic])]


def _kept(members: list[Claimant], counts: Counts) -> Dealt:
    """What each member says that it has, and may have; if two say so of one place, who has it since later."""
    dealt: Dealt = {each.member_id: [] for each in members}
    taken: set[Place] = set()
    for each in sorted(members, key=lambda member: (-member.generation, member.member_id)):
        for topic, index in sorted(each.owned):
            if topic in each.topics and 0 <= index < counts.get(topic, 0) and (topic, index) not in taken:
                taken.add((topic, index))
                dealt[each.member_id].append((topic, index))
    return dealt


def _even_out(dealt: Dealt, takers: Mapping[str, list[str]]) -> None:
    """Take from whoever has at least two more than somebody who wants the same; each step makes it more even."""
    moved = True
    while moved:
        moved = False
        for member_id in sorted(dealt, key=lambda each: -len(dealt[each])):
            for place in list(reversed(dealt[member_id])):
                least = min(takers[place[0]], key=lambda each: len(dealt[each]))
                if len(dealt[member_id]) - len(dealt[least]) >= 2:
                    dealt[member_id].remove(place)
                    dealt[least].append(place)
                    moved = True
