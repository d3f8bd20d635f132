"""A shard with topics and members of share groups, for the tests of those."""

from typing import Any

from attrs import define, field

from coordinators.group.consumer.requests import HeartbeatAnswer
from coordinators.group.share.group import ShareGroup
from coordinators.group.share.requests import ShareHeartbeatRequest
from engine.errors import BrokerError
from engine.ids import TopicId
from tests.coordinators.group.consumer_shard import ConsumerShard, topic_of


@define(eq=False, slots=False)
class ShareShard(ConsumerShard):
    """One shard."""

    @property
    def shared(self) -> ShareGroup:
        return self.machine.shares.groups["g"]

    def topic(self, name: str, partitions: int) -> None:
        """A topic is made, or has more partitions."""
        self.topics.add(topic_of(name, partitions))
        self.machine.shares.topics_changed(name)

    def delete_topic(self, name: str) -> None:
        """It is gone, and forgotten where groups had a state of it."""
        topic = self.topics.by_name[name]
        self.topics._remove(topic)
        self.machine.shares.topics_changed(name)
        self.ask(lambda machine: machine.shares.forget_topics({topic.topic_id}))

    def share_beat(self, member_id: str, epoch: int, group: str = "g", **changes: Any) -> Any:
        """One heartbeat; the answer."""
        request = ShareHeartbeatRequest(group, member_id, epoch, client_id="c", client_host="/h", **changes)
        return self.ask(lambda machine: machine.shares.heartbeat(request)).message

    def share_joined(self, member_id: str, *topics: str, **changes: Any) -> Any:
        return self.share_beat(member_id, 0, topics=topics or ("t",), **changes)


@define(eq=False)
class ShareConsumer:
    """A member as clients are: it remembers its epoch and what it was given."""

    shard: ShareShard
    member_id: str
    topics: tuple[str, ...] = ("t",)
    epoch: int = 0
    assigned: dict[TopicId, frozenset[int]] = field(factory=dict)

    def join(self) -> Any:
        self.epoch, self.assigned = 0, {}
        return self.take(self.shard.share_joined(self.member_id, *self.topics))

    def beat(self, **changes: Any) -> Any:
        return self.take(self.shard.share_beat(self.member_id, self.epoch, **changes))

    def leave(self) -> Any:
        return self.shard.share_beat(self.member_id, -1)

    def take(self, answer: Any) -> Any:
        if isinstance(answer, BrokerError):
            return answer
        assert isinstance(answer, HeartbeatAnswer)
        self.epoch = answer.epoch
        if answer.assignment is not None:
            self.assigned = dict(answer.assignment)
        return answer
