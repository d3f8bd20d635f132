"""A consumer group as it will be after an operation: the records gathered so far, and the state that they make.

An operation changes nothing itself, but each of its steps has to see what the steps before it decided.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from hashlib import blake2b
from typing import Any, Final, TypeVar

from attrs import define, evolve, field

from coordinators.group.consumer import regex as expressions
from coordinators.group.consumer.assignors import ASSIGNORS, Candidate
from coordinators.group.consumer.group import ConsumerGroup, ConsumerMember, note_wanted
from coordinators.group.consumer.record_formats import (
    Assignment,
    EpochValue,
    RegexValue,
    current_record,
    epoch_record,
    regex_record,
    subscription_record,
    target_epoch_record,
    target_record,
)
from coordinators.state_machine import Record
from coordinators.topic_view import TopicView
from engine.ids import TopicId

logger = logging.getLogger("tidegate.groups")

K = TypeVar("K")
V = TypeVar("V")

_GONE: Final[Any] = object()


class Overlay(MutableMapping[K, V]):
    """A mapping as it would be after some changes: what it lies over is neither altered nor copied. It costs what was
    changed, however much lies beneath; going through it costs as much as there is."""

    __slots__ = ("_beneath", "_changes")

    def __init__(self, beneath: Mapping[K, V]) -> None:
        self._beneath = beneath
        self._changes: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        value = self._changes.get(key, self)
        if value is self:
            return self._beneath[key]
        if value is _GONE:
            raise KeyError(key)
        return value  # type: ignore[return-value]

    def __setitem__(self, key: K, value: V) -> None:
        self._changes[key] = value

    def __delitem__(self, key: K) -> None:
        self[key]  # which must be there
        self._changes[key] = _GONE

    def __iter__(self) -> Iterator[K]:
        changes = self._changes
        yield from (key for key in self._beneath if changes.get(key) is not _GONE)
        yield from (key for key, value in changes.items() if value is not _GONE and key not in self._beneath)

    def __len__(self) -> int:
        return len(self._beneath) + sum(
            (value is not _GONE) - (key in self._beneath) for key, value in self._changes.items()
        )

    def changed(self) -> Iterator[tuple[V | None, V | None]]:
        """What was there before and what is there now, of every key that was set or taken out."""
        for key, value in self._changes.items():
            yield self._beneath.get(key), None if value is _GONE else value


@define(eq=False)
class Draft:
    """What would be."""

    group: ConsumerGroup
    topics: TopicView
    now_ms: int
    records: list[Record] = field(factory=list)
    sees: Callable[[str], bool] | None = None
    """Of whoever gave reason to look: expressions stand for topics that it may know of."""
    members: Overlay[str, ConsumerMember] = field(init=False)
    targets: Overlay[str, Assignment] = field(init=False)
    regexes: dict[str, RegexValue] = field(init=False)
    epoch: int = field(init=False)
    metadata_hash: int = field(init=False)
    assignment_epoch: int = field(init=False)
    assigned_count: int = field(default=0, init=False)
    # Static members that came back under another id.
    _renamed: dict[str, str] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        group = self.group
        self.members, self.targets = Overlay(group.members), Overlay(group.targets)
        self.regexes = dict(group.regexes)
        self.epoch, self.metadata_hash = group.epoch, group.metadata_hash
        self.assignment_epoch = group.assignment_epoch

    @property
    def group_id(self) -> str:
        return self.group.group_id

    # -- members

    def subscribe(self, member: ConsumerMember) -> None:
        """A member is new, or says something new."""
        before = self.members.get(member.member_id)
        self.members[member.member_id] = member
        if before is None or before.subscription != member.subscription:
            self.records.append(subscription_record(self.group_id, member.member_id, member.subscription))

    def assign(self, member: ConsumerMember) -> None:
        """A member has something else now."""
        self.members[member.member_id] = member
        self.records.append(current_record(self.group_id, member.member_id, member.current))

    def remove(self, member: ConsumerMember) -> None:
        """A member is gone, with all it had."""
        self.records += (
            current_record(self.group_id, member.member_id, None),
            target_record(self.group_id, member.member_id, None),
            subscription_record(self.group_id, member.member_id, None),
        )
        del self.members[member.member_id]
        self.targets.pop(member.member_id, None)

    def replace(self, before: ConsumerMember, member_id: str) -> ConsumerMember:
        """A static member comes back under a new id, to the place that it had."""
        target = self.targets.get(before.member_id, {})
        self.remove(before)
        after = evolve(before, member_id=member_id, epoch=0, previous_epoch=0)
        self._renamed[before.member_id] = member_id
        self.subscribe(after)
        self.targets[member_id] = target
        self.records.append(target_record(self.group_id, member_id, target))
        self.assign(after)
        return after

    def owner(self, topic_id: TopicId, partition: int) -> str | None:
        """Who holds a partition."""
        found = self.group.owner(topic_id, partition)
        return None if found is None else self._renamed.get(found, found)

    # -- subscriptions

    def _wanted(self) -> tuple[Counter[str], Counter[str]]:
        """The topics and the expressions that any member wants."""
        names, regexes = Counter(self.group.wanted_names), Counter(self.group.wanted_regexes)
        for before, after in self.members.changed():
            if before is not None:
                note_wanted(names, regexes, before, -1)
            if after is not None:
                note_wanted(names, regexes, after, 1)
        return names, regexes

    @property
    def has_regexes(self) -> bool:
        """Whether any member has an expression, or had one."""
        changed = any(after is not None and after.subscription.regex for _, after in self.members.changed())
        return bool(self.regexes or self.group.wanted_regexes) or changed

    def forget_unused_regexes(self) -> None:
        if not self.regexes:
            return
        _, used = self._wanted()
        for unused in sorted(self.regexes.keys() - used):
            del self.regexes[unused]
            self.records.append(regex_record(self.group_id, unused, None))

    def resolve_regexes(self, *, again: bool) -> bool:
        """Look up what expressions stand for, those that are new or all; whether any is something else now."""
        changed = False
        _, wanted = self._wanted()
        for regex in sorted(wanted):
            known = self.regexes.get(regex)
            if known is not None and not again:
                continue
            names = expressions.matching(regex, self.topics.by_name)
            if self.sees is not None:
                names = tuple(filter(self.sees, names))
            if known is None or known.topics != names:
                changed = True
                version = 1 if known is None else known.version + 1
                self.regexes[regex] = value = RegexValue(names, version, self.now_ms)
                self.records.append(regex_record(self.group_id, regex, value))
        return changed

    def names_of(self, member: ConsumerMember) -> frozenset[str]:
        return self.group.topics_of(member, self.regexes)

    def ids_of(self, member: ConsumerMember) -> frozenset[TopicId]:
        """The topics that a member wants and that exist."""
        found = (self.topics.by_name.get(name) for name in self.names_of(member))
        return frozenset(topic.topic_id for topic in found if topic is not None)

    def topics_hash(self) -> int:
        """Tells whether the topics that the group reads are the same, with the same partitions."""
        wanted, expressions = self._wanted()
        resolved = (self.regexes[regex].topics for regex in expressions if regex in self.regexes)
        return hash_of_topics(frozenset(wanted).union(*resolved), self.topics)

    def raise_epoch(self) -> None:
        """Something about the group has changed: a new assignment is due. Which topics that is for is noted with it."""
        self.epoch += 1
        logger.info("group rebalances", extra={"group": self.group_id, "epoch": self.epoch})
        self.records.append(epoch_record(self.group_id, EpochValue(self.epoch, self.metadata_hash)))

    def _note_topics(self) -> None:
        found = self.topics_hash()
        if found != self.metadata_hash:
            self.metadata_hash = found
            self.records.append(epoch_record(self.group_id, EpochValue(self.epoch, found)))

    # -- the target

    def compute_target(self, default_assignor: str) -> None:
        """Who shall have what, as of the group's epoch."""
        self._note_topics()
        assignor = ASSIGNORS[self.group.preferred_assignor(self.members.values()) or default_assignor]
        wanted: dict[tuple[tuple[str, ...], str | None], frozenset[TopicId]] = {}
        candidates = {}
        for member_id, member in self.members.items():
            said = (member.subscription.topics, member.subscription.regex)
            # Most members want the same.
            topics = wanted.get(said)
            if topics is None:
                topics = wanted[said] = self.ids_of(member)
            candidates[member_id] = Candidate(topics, self.targets.get(member_id, {}), member.instance_id)
        counts = self._counts(wanted.values())
        self.assigned_count = sum(counts.values())
        shares = assignor(candidates, counts)
        for member_id, share in shares.items():
            if self.targets.get(member_id) != share:
                self.targets[member_id] = share
                self.records.append(target_record(self.group_id, member_id, share))
        self.assignment_epoch = self.epoch
        self.records.append(target_epoch_record(self.group_id, self.epoch, self.now_ms))

    def _counts(self, wanted: Iterable[frozenset[TopicId]]) -> Mapping[TopicId, int]:
        ids = frozenset().union(*wanted)
        return {topic_id: self.topics.by_id[topic_id].partition_count for topic_id in ids}


def hash_of_topics(names: Iterable[str], topics: TopicView) -> int:
    """Tells whether these topics are the same, with the same partitions; of those that do not exist nothing is told."""
    found = (topics.by_name.get(name) for name in sorted(names))
    parts = [topic.topic_id + topic.partition_count.to_bytes(4, "big") for topic in found if topic is not None]
    return int.from_bytes(blake2b(b"".join(parts), digest_size=8).digest(), "big", signed=True) if parts else 0
