"""The assignor `simple` of share groups (KIP-932): who reads which partitions.

Several members may read one partition. Where all want the same, each partition has ceil(members / partitions) of them,
and what members have differs by one at most. Where they do not, each partition has so many that there is at least one
for everybody who wants it. Members keep what they have as far as that allows.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from math import ceil

from attrs import define, field, frozen

from coordinators.group.share.record_formats import Assignment
from engine.ids import TopicId

Place = tuple[TopicId, int]
ROUNDING = 1e-9
"""Shares of members are fractions, whose sum may come out a little above a whole number."""


@frozen
class Sharer:
    """A member: the topics that it wants and that exist, and what it was to have so far."""

    topics: frozenset[TopicId]
    held: Assignment = field(factory=dict)


def assign(members: Mapping[str, Sharer], counts: Mapping[TopicId, int]) -> dict[str, Assignment]:
    """Who shall have what; `counts` are the partitions of each topic that anybody wants."""
    wants = _wants(members, counts)
    fresh = _fresh(members, counts, wants)
    quotas = _quotas(members, counts, wants, fresh)
    kept = _Keeping(members, quotas, counts, wants)
    kept.keep()
    owned = kept.owned if kept.fill() else fresh
    _give_everybody_something(members, counts, owned)
    return {member_id: _by_topic(places) for member_id, places in owned.items()}


def _wants(members: Mapping[str, Sharer], counts: Mapping[TopicId, int]) -> dict[TopicId, int]:
    """How many members each partition of a topic shall have: every member divides itself over all that it wants."""
    shares: dict[TopicId, float] = {}
    for topics, number in Counter(member.topics for member in members.values()).items():
        total = sum(counts[topic_id] for topic_id in topics)
        for topic_id in topics:
            shares[topic_id] = shares.get(topic_id, 0.0) + number / total
    return {topic_id: max(1, ceil(share - ROUNDING)) for topic_id, share in shares.items()}


def _fresh(
    members: Mapping[str, Sharer], counts: Mapping[TopicId, int], wants: Mapping[TopicId, int]
) -> dict[str, set[Place]]:
    """An assignment that looks at nothing that was: each partition goes to those who have least so far."""
    owned: dict[str, set[Place]] = {member_id: set() for member_id in members}
    readers: dict[TopicId, list[str]] = {}
    for member_id in sorted(members):
        for topic_id in members[member_id].topics:
            readers.setdefault(topic_id, []).append(member_id)
    # What few want is given first: those who want more have a choice.
    for topic_id in sorted(readers, key=lambda each: (len(readers[each]), each)):
        heap = [(len(owned[each]), len(members[each].topics), each) for each in readers[topic_id]]
        heapify(heap)
        for index in range(counts[topic_id]):
            chosen = [heappop(heap) for _ in range(wants[topic_id])]
            for count, choice, member_id in chosen:
                owned[member_id].add((topic_id, index))
                heappush(heap, (count + 1, choice, member_id))
    return owned


def _give_everybody_something(
    members: Mapping[str, Sharer], counts: Mapping[TopicId, int], owned: Mapping[str, set[Place]]
) -> None:
    """Where members want different things one may be left over: it reads what the fewest read."""
    left = [member_id for member_id, member in members.items() if member.topics and not owned[member_id]]
    if left:
        read = Counter(place for places in owned.values() for place in places)
        for member_id in left:
            wanted = ((topic_id, index) for topic_id in members[member_id].topics for index in range(counts[topic_id]))
            place = min(wanted, key=lambda each: (read[each], each))
            owned[member_id].add(place)
            read[place] += 1


def _quotas(
    members: Mapping[str, Sharer],
    counts: Mapping[TopicId, int],
    wants: Mapping[TopicId, int],
    fresh: Mapping[str, set[Place]],
) -> dict[str, int]:
    """How much each member shall have. If all want the same, those who have more already may keep one more."""
    if len({member.topics for member in members.values()}) != 1:
        return {member_id: len(places) for member_id, places in fresh.items()}
    total = sum(counts[topic_id] * want for topic_id, want in wants.items())
    least, more = divmod(total, len(members))
    ranked = sorted(members, key=lambda each: (-_size(members[each].held), each))
    return {member_id: least + (rank < more) for rank, member_id in enumerate(ranked)}


@define(eq=False)
class _Keeping:
    """An assignment in the making that begins with what members have."""

    members: Mapping[str, Sharer]
    quotas: Mapping[str, int]
    counts: Mapping[TopicId, int]
    wants: Mapping[TopicId, int]
    owned: dict[str, set[Place]] = field(init=False)
    _taken: Counter[Place] = field(factory=Counter, init=False)
    _open: dict[TopicId, deque[int]] = field(init=False)

    def keep(self) -> None:
        """Everybody keeps what it has, as long as it wants that, others do not have it, and it is not too much."""
        self.owned = {member_id: set() for member_id in self.members}
        for member_id in sorted(self.members):
            member, owned, quota = self.members[member_id], self.owned[member_id], self.quotas[member_id]
            for place in sorted(_places(member.held)):
                topic_id, index = place
                if len(owned) == quota:
                    break
                exists = topic_id in member.topics and index < self.counts[topic_id]
                if exists and self._taken[place] < self.wants[topic_id]:
                    owned.add(place)
                    self._taken[place] += 1
        self._open = {
            topic_id: deque(index for index in range(count) if self._taken[topic_id, index] < self.wants[topic_id])
            for topic_id, count in self.counts.items()
            if topic_id in self.wants
        }

    def fill(self) -> bool:
        """Give out the rest; whether everybody has its share."""
        for member_id in sorted(self.members):
            topics = sorted(self.members[member_id].topics)
            for _ in range(self.quotas[member_id] - len(self.owned[member_id])):
                if not any(self._give(member_id, topic_id) for topic_id in topics) and not self._swap(member_id):
                    return False
        return not any(self._open.values())

    def _give(self, member_id: str, topic_id: TopicId) -> bool:
        indexes, owned = self._open[topic_id], self.owned[member_id]
        for _ in range(len(indexes)):
            place = topic_id, indexes[0]
            if place not in owned:
                self._take(member_id, place)
                return True
            indexes.rotate(-1)
        return False

    def _take(self, member_id: str, place: Place) -> None:
        topic_id, index = place
        self.owned[member_id].add(place)
        self._taken[place] += 1
        if self._taken[place] == self.wants[topic_id]:
            self._open[topic_id].remove(index)

    def _swap(self, member_id: str) -> bool:
        """All that is left is this member's already: another one takes that, and gives it something else."""
        mine, topics = self.owned[member_id], self.members[member_id].topics
        for topic_id, indexes in self._open.items():
            for index in indexes:
                place = topic_id, index
                for other_id, other in self.members.items():
                    theirs = self.owned[other_id]
                    if topic_id not in other.topics or place in theirs:
                        continue
                    given = min((each for each in theirs - mine if each[0] in topics), default=None)
                    if given is not None:
                        theirs.remove(given)
                        mine.add(given)
                        self._take(other_id, place)
                        return True
        return False


def _places(assignment: Assignment) -> Iterable[Place]:
    return ((topic_id, index) for topic_id, indexes in assignment.items() for index in indexes)


def _size(assignment: Assignment) -> int:
    return sum(len(indexes) for indexes in assignment.values())


def _by_topic(places: Iterable[Place]) -> Assignment:
    found: dict[TopicId, set[int]] = {}
    for topic_id, index in places:
        found.setdefault(topic_id, set()).add(index)
    return {topic_id: frozenset(indexes) for topic_id, indexes in found.items()}
