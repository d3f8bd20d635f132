"""A shard with topics, and threads of a Streams application that behave: they give back, and say what they own."""

from typing import Any

from attrs import define, field

from coordinators.group.machine import GroupMachine
from coordinators.group.streams.group import StreamsGroup
from coordinators.group.streams.requests import StreamsHeartbeatAnswer, StreamsHeartbeatRequest
from coordinators.group.streams.tasks import Tasks
from coordinators.group.streams.topology import NeededTopic, Subtopology, Topology
from coordinators.group_configs import GroupConfigs
from coordinators.state_machine import ShardTimers
from coordinators.topic_creation import TopicSpec
from coordinators.topic_view import TopicView
from engine.config.resolve import BrokerSettings
from engine.errors import BrokerError
from tests.coordinators.group.consumer_shard import topic_of
from tests.coordinators.group.shard import Shard

COUNTING = Topology(
    0,
    (
        Subtopology("0", source_topics=("in",), repartition_sinks=("words",)),
        Subtopology("1", repartition_sources=(NeededTopic("words"),), changelog_topics=(NeededTopic("counts"),)),
    ),
)
"""Words are cut out of `in`, passed on through `words` and counted; the counts' changelog is `counts`."""
COPYING = Topology(0, (Subtopology("0", source_topics=("in",)),))
QUICK = {"streams.initial.rebalance.delay.ms": "0", "streams.assignment.interval.ms": "0"}


@define(eq=False, slots=False)
class StreamsShard(Shard):
    """One shard that knows topics."""

    topics: TopicView = field(factory=TopicView)
    configs: GroupConfigs = field(factory=lambda: GroupConfigs(BrokerSettings()))

    def __attrs_post_init__(self) -> None:
        self.configure()
        super().__attrs_post_init__()

    def configure(self, **changes: int) -> None:
        """What the group has chosen: nothing is waited for, and these, with underscores for dots."""
        chosen = {f"streams.{name.replace('_', '.')}": str(value) for name, value in changes.items()}
        self.configs.take({"g": ({**QUICK, **chosen}, 1)})

    def _new_machine(self, _index: int, _leader_epoch: int, timers: ShardTimers[Any]) -> GroupMachine:
        return GroupMachine(timers, self.clock, self.settings, self.random_bytes, self.topics, None, (), self.configs)

    @property
    def group(self) -> StreamsGroup:
        return self.machine.streams.groups["g"]

    def topic(self, name: str, partitions: int) -> None:
        """A topic is made, or has more partitions."""
        self.topics.add(topic_of(name, partitions))
        self.machine.streams.topics_changed(name)

    def delete_topic(self, name: str) -> None:
        self.topics._remove(self.topics.by_name[name])
        self.machine.streams.topics_changed(name)

    def make(self, specs: tuple[TopicSpec, ...]) -> None:
        """What the broker does about topics that are missing."""
        for spec in specs:
            self.topic(spec.name, spec.partition_count)

    def beat(self, member_id: str, epoch: int, **changes: Any) -> Any:
        """One heartbeat; the answer."""
        request = StreamsHeartbeatRequest("g", member_id, epoch, client_id="c", client_host="/h", **changes)
        return self.ask(lambda machine: machine.streams_heartbeat(request)).message

    def joined(self, member_id: str, **changes: Any) -> Any:
        given = {
            "rebalance_timeout_ms": 60_000,
            "topology": COPYING,
            "owned": Tasks(),
            "process_id": f"p-{member_id}",
            **changes,
        }
        return self.beat(member_id, 0, **given)


@define(eq=False)
class StreamThread:
    """A member as clients are: it has the tasks it was given, gives back at once, and says so by its next heartbeat."""

    shard: StreamsShard
    member_id: str
    options: dict[str, Any] = field(factory=dict)
    epoch: int = 0
    tasks: Tasks = field(factory=Tasks)
    status: tuple[str, ...] = ()
    endpoint_epoch: int = 0
    makes_topics: bool = True
    _is_news: bool = False

    def join(self) -> Any:
        self.epoch, self.tasks = 0, Tasks()
        return self.take(self.shard.joined(self.member_id, **self.options))

    def beat(self, **changes: Any) -> Any:
        if self.epoch == 0:
            return self.join()
        owned = self.tasks if self._is_news else None
        self._is_news = False
        given = {"owned": owned, "endpoint_epoch": self.endpoint_epoch, **changes}
        return self.take(self.shard.beat(self.member_id, self.epoch, **given))

    def leave(self) -> Any:
        return self.shard.beat(self.member_id, -1)

    def take(self, answer: Any) -> Any:
        if isinstance(answer, BrokerError):
            return answer
        assert isinstance(answer, StreamsHeartbeatAnswer)
        self.epoch, self.endpoint_epoch = answer.epoch, answer.endpoint_epoch
        self.status = tuple(each.code.name for each in answer.status)
        if answer.tasks is not None:
            self.tasks, self._is_news = answer.tasks, True
        if self.makes_topics:
            self.shard.make(answer.missing)
        return answer


def settle(*threads: StreamThread, rounds: int = 12) -> int:
    """Heartbeats in turn until nothing changes; how many rounds it took."""
    for number in range(rounds):
        before = [(each.epoch, each.tasks, each.status) for each in threads]
        for each in threads:
            each.beat()
        if [(each.epoch, each.tasks, each.status) for each in threads] == before and number:
            return number
    raise AssertionError(f"not settled after {rounds} rounds")
