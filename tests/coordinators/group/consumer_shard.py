"""A shard with topics, and members of the new consumer protocol that behave: they give back, and say what they own."""

import hashlib
from typing import Any

from attrs import define, field

from coordinators.group.consumer.group import ConsumerGroup
from coordinators.group.consumer.requests import HeartbeatAnswer, HeartbeatRequest
from coordinators.group.machine import GroupMachine
from coordinators.group_configs import GroupConfigs
from coordinators.state_machine import ShardTimers
from coordinators.topic_view import Topic, TopicView
from engine.catalogue.records import PartitionRecord
from engine.config.resolve import BrokerSettings
from engine.errors import BrokerError
from engine.ids import TopicId
from tests.coordinators.group.shard import Shard

Owned = dict[TopicId, frozenset[int]]


def topic_id(name: str) -> TopicId:
    return hashlib.md5(name.encode()).digest()


def topic_of(name: str, partitions: int) -> Topic:
    return Topic(name, topic_id(name), (PartitionRecord.on(1),) * partitions, BrokerSettings({}).topic_defaults)


@define(eq=False, slots=False)
class ConsumerShard(Shard):
    """One shard that knows topics."""

    topics: TopicView = field(factory=TopicView)
    configs: GroupConfigs = field(factory=lambda: GroupConfigs(BrokerSettings()))

    def _new_machine(self, _index: int, _leader_epoch: int, timers: ShardTimers[Any]) -> GroupMachine:
        return GroupMachine(timers, self.clock, self.settings, self.random_bytes, self.topics, None, (), self.configs)

    @property
    def group(self) -> ConsumerGroup:
        return self.machine.consumers.groups["g"]

    def topic(self, name: str, partitions: int) -> None:
        """A topic is made, or has more partitions."""
        self.topics.add(topic_of(name, partitions))
        self.machine.consumers.topics_changed(name)

    def delete_topic(self, name: str) -> None:
        self.topics._remove(self.topics.by_name[name])
        self.machine.consumers.topics_changed(name)

    def beat(self, member_id: str, epoch: int, **changes: Any) -> Any:
        """One heartbeat; the answer."""
        request = HeartbeatRequest("g", member_id, epoch, client_id="c", client_host="/h", **changes)
        return self.ask(lambda machine: machine.heartbeats.heartbeat(request)).message

    def joined(self, member_id: str, *topics: str, **changes: Any) -> Any:
        given = {"topics": topics, "owned": {}, "rebalance_timeout_ms": 60_000, **changes}
        return self.beat(member_id, 0, **given)

    def owners(self) -> dict[tuple[TopicId, int], list[str]]:
        """Who believes to own a partition, as the group has it."""
        found: dict[tuple[TopicId, int], list[str]] = {}
        for member in self.group.members.values():
            for place in member.holds():
                found.setdefault(place, []).append(member.member_id)
        return found


@define(eq=False)
class Consumer:
    """A member as clients are: it owns what it was given, gives back at once, and says so by its next heartbeat."""

    shard: ConsumerShard
    member_id: str
    topics: tuple[str, ...] = ("t",)
    options: dict[str, Any] = field(factory=dict)
    epoch: int = 0
    owned: Owned = field(factory=dict)
    interval_ms: int = 0
    # What it stopped reading, ever.
    stopped: set[tuple[TopicId, int]] = field(factory=set)
    _is_news: bool = False

    def join(self) -> Any:
        self.epoch, self.owned = 0, {}
        return self.take(self.shard.joined(self.member_id, *self.topics, **self.options))

    def beat(self) -> Any:
        owned = self.owned if self._is_news else None
        self._is_news = False
        instance = self.options.get("instance_id")
        return self.take(self.shard.beat(self.member_id, self.epoch, owned=owned, instance_id=instance))

    def leave(self, epoch: int = -1) -> Any:
        return self.shard.beat(self.member_id, epoch, instance_id=self.options.get("instance_id"))

    def take(self, answer: Any) -> Any:
        if isinstance(answer, BrokerError):
            return answer
        assert isinstance(answer, HeartbeatAnswer)
        self.epoch, self.interval_ms = answer.epoch, answer.heartbeat_interval_ms
        if answer.assignment is not None:
            self.stopped |= places(self.owned) - places(dict(answer.assignment))
            self.owned = dict(answer.assignment)
            self._is_news = True
        return answer


def places(owned: Owned) -> set[tuple[TopicId, int]]:
    return {(topic, index) for topic, indexes in owned.items() for index in indexes}


def settle(*consumers: Consumer, rounds: int = 10) -> int:
    """Heartbeats in turn until nothing changes; how many rounds it took."""
    for number in range(rounds):
        before = [(each.epoch, each.owned) for each in consumers]
        for each in consumers:
            each.beat()
        if [(each.epoch, each.owned) for each in consumers] == before and number:
            return number
    raise AssertionError(f"not settled after {rounds} rounds")
