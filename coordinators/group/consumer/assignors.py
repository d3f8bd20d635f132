"""The assignors of the broker: who shall read which partition, in a group of the new consumer protocol.

`uniform` balances: no member has two partitions more than another that could take one of them, and whoever has a
partition keeps it if that allows it. `range` gives each member a run of neighbouring partitions of every topic, so
that topics of one size go to members side by side; it moves more.
"""

from collections.abc import Callable, Mapping
from typing import Final

from attrs import frozen

from coordinators.group.consumer.record_formats import Assignment
from engine.ids import TopicId

TopicPartition = tuple[TopicId, int]


@frozen
class Candidate:
    """A member as an assignor sees it: the topics it may be given, and what it was meant to have before."""

    topics: frozenset[TopicId]
    target: Assignment
    instance_id: str | None = None


Counts = Mapping[TopicId, int]
"""How many partitions each topic has."""
Assignor = Callable[[Mapping[str, Candidate], Counts], dict[str, Assignment]]


def assign_range(members: Mapping[str, Candidate], counts: Counts) -> dict[str, Assignment]:
    """Runs of partitions, the first members have one more; static members come first and by their names."""
    order = sorted(members, key=lambda member_id: _range_rank(member_id, members[member_id]))
    shares: dict[str, dict[TopicId, frozenset[int]]] = {member_id: {} for member_id in members}
    for topic_id, count in counts.items():
        readers = [member_id for member_id in order if topic_id in members[member_id].topics]
        first = 0
        for index, member_id in enumerate(readers):
            size = count // len(readers) + (index < count % len(readers))
            if size:
                shares[member_id][topic_id] = frozenset(range(first, first + size))
            first += size
    return dict(shares)


def _range_rank(member_id: str, member: Candidate) -> tuple[bool, str]:
    return member.instance_id is None, member.instance_id or member_id


def assign_uniform(members: Mapping[str, Candidate], counts: Counts) -> dict[str, Assignment]:
    """Balanced and sticky."""
    if not members:
        return {}
    if len({member.topics for member in members.values()}) == 1:
        return _uniform_alike(members, counts)
    return _uniform_mixed(members, counts)


def _kept(members: Mapping[str, Candidate], counts: Counts) -> dict[str, list[TopicPartition]]:
    """What members had and may keep: partitions that exist, of topics that they still want, one owner each."""
    taken: set[TopicPartition] = set()
    kept: dict[str, list[TopicPartition]] = {}
    for member_id in sorted(members):
        member = members[member_id]
        mine = kept[member_id] = []
        for topic_id in sorted(member.target.keys() & member.topics):
            count = counts.get(topic_id, 0)
            for partition in sorted(member.target[topic_id]):
                place = (topic_id, partition)
                if partition < count and place not in taken:
                    taken.add(place)
                    mine.append(place)
    return kept


def _free(counts: Counts, wanted: frozenset[TopicId], kept: Mapping[str, list[TopicPartition]]) -> list[TopicPartition]:
    taken = {place for places in kept.values() for place in places}
    return [
        (topic_id, partition)
        for topic_id in sorted(wanted & counts.keys())
        for partition in range(counts[topic_id])
        if (topic_id, partition) not in taken
    ]


def _uniform_alike(members: Mapping[str, Candidate], counts: Counts) -> dict[str, Assignment]:
    """All want the same topics: everybody gets the same number, some one more."""
    wanted = next(iter(members.values())).topics
    kept = _kept(members, counts)
    total = sum(counts.get(topic_id, 0) for topic_id in wanted)
    least, extras = divmod(total, len(members))
    # Who has most keeps one more first, so that as little as possible moves.
    ranked = sorted(kept, key=lambda member_id: (-len(kept[member_id]), member_id))
    quotas = {member_id: least + (index < extras) for index, member_id in enumerate(ranked)}
    for member_id, quota in quotas.items():
        del kept[member_id][quota:]
    free = _free(counts, wanted, kept)
    free.reverse()
    for member_id in sorted(kept):
        mine = kept[member_id]
        while len(mine) < quotas[member_id]:
            mine.append(free.pop())
    assert not free, "the quotas add up to all partitions"
    return _shares(kept)


def _uniform_mixed(members: Mapping[str, Candidate], counts: Counts) -> dict[str, Assignment]:
    """Members want different topics: fill from what few can take, then even out."""
    readers: dict[TopicId, list[str]] = {topic_id: [] for topic_id in counts}
    for member_id in sorted(members):
        for topic_id in members[member_id].topics & counts.keys():
            readers[topic_id].append(member_id)
    kept = _kept(members, counts)
    wanted = frozenset(topic_id for topic_id, who in readers.items() if who)
    free = _free(counts, wanted, kept)
    for place in sorted(free, key=lambda place: (len(readers[place[0]]), place)):
        taker = min(readers[place[0]], key=lambda member_id: (len(kept[member_id]), member_id))
        kept[taker].append(place)
    _even_out(kept, readers, sum(counts.values()))
    return _shares(kept)


def _even_out(kept: dict[str, list[TopicPartition]], readers: Mapping[TopicId, list[str]], most_moves: int) -> None:
    """Move partitions from those who have more to those who have less by two; each move lessens the difference."""
    for _ in range(most_moves):
        moved = False
        for giver in sorted(kept, key=lambda member_id: -len(kept[member_id])):
            moved = _give_one(giver, kept, readers)
            if moved:
                break
        if not moved:
            return


def _give_one(giver: str, kept: dict[str, list[TopicPartition]], readers: Mapping[TopicId, list[str]]) -> bool:
    best: tuple[int, str, TopicPartition] | None = None
    for place in kept[giver]:
        taker = min(readers[place[0]], key=lambda member_id: (len(kept[member_id]), member_id))
        if len(kept[taker]) + 1 < len(kept[giver]) and (best is None or len(kept[taker]) < best[0]):
            best = (len(kept[taker]), taker, place)
    if best is None:
        return False
    kept[giver].remove(best[2])
    kept[best[1]].append(best[2])
    return True


def _shares(kept: Mapping[str, list[TopicPartition]]) -> dict[str, Assignment]:
    shares: dict[str, Assignment] = {}
    for member_id, places in kept.items():
        by_topic: dict[TopicId, set[int]] = {}
        for topic_id, partition in places:
            by_topic.setdefault(topic_id, set()).add(partition)
        shares[member_id] = {topic_id: frozenset(partitions) for topic_id, partitions in by_topic.items()}
    return shares


ASSIGNORS: Final[dict[str, Assignor]] = {"uniform": assign_uniform, "range": assign_range}
