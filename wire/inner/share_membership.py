"""Being in a share group: heartbeats, and what they say is to be worked on (KIP-932)."""

from collections.abc import Mapping

from attrs import define, field

from engine.errors import BrokerError
from wire.inner.memberships import PASSING, Ask
from wire.inner.share_session import SharePlace
from wire.kafka.errors import ErrorCode, broker_error
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

JOINING, LEAVING = 0, -1
FIRST_BEATS_S = 0.5
"""How soon a member that has nothing yet asks again: partitions are assigned once their state is there."""
WAITS = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.REQUEST_TIMED_OUT,
)
BEGINS_ANEW = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND)


@define(eq=False)
class ShareMembership:
    """See the module. `ask` asks the group's coordinator, `ask_any` whichever node."""

    ask: Ask
    ask_any: Ask
    group: str
    topics: tuple[str, ...]
    member_id: str
    assigned: frozenset[SharePlace] = field(default=frozenset(), init=False)
    names: dict[bytes, str] = field(factory=dict, init=False)
    leaders: Mapping[SharePlace, int] = field(factory=dict, init=False)
    interval_s: float = field(default=FIRST_BEATS_S, init=False)
    """When the next heartbeat is due."""
    _epoch: int = field(default=JOINING, init=False)

    @property
    def is_known(self) -> bool:
        """Whether the coordinator has heard of the member."""
        return self._epoch != JOINING

    async def beat(self) -> None:
        """Tell the coordinator of the member; raises if it wants to know nothing of it."""
        was_known = self.is_known
        topics = None if was_known else sorted(set(self.topics))
        try:
            answer = await self.ask(
                ShareGroupHeartbeatRequest(self.group, self.member_id, self._epoch, subscribed_topic_names=topics)
            )
        except PASSING:
            return
        if answer.error_code in WAITS:
            return
        if answer.error_code in BEGINS_ANEW and was_known:
            self._epoch, self.interval_s = JOINING, FIRST_BEATS_S
            return
        if answer.error_code:
            raise broker_error(answer.error_code, answer.error_message or "")
        self._epoch = answer.member_epoch
        if answer.assignment is not None:
            found = answer.assignment.topic_partitions
            self.assigned = frozenset((each.topic_id, index) for each in found for index in each.partitions)
        self.interval_s = answer.heartbeat_interval_ms / 1000 if self.assigned else FIRST_BEATS_S
        if self.assigned - self.leaders.keys():
            await self.look_around()

    async def look_around(self) -> None:
        """Learn who leads what."""
        wanted = [MetadataRequestTopic(name=topic) for topic in sorted(set(self.topics))]
        try:
            answer = await self.ask_any(MetadataRequest(topics=wanted, allow_auto_topic_creation=False))
        except BrokerError:
            return
        leaders: dict[SharePlace, int] = {}
        for topic in answer.topics:
            self.names[topic.topic_id] = topic.name or ""
            leaders.update({(topic.topic_id, each.partition_index): each.leader_id for each in topic.partitions})
        self.leaders = leaders

    def by_leader(self) -> dict[int, frozenset[SharePlace]]:
        """What is assigned, by the node that leads it."""
        found: dict[int, set[SharePlace]] = {}
        for place in self.assigned:
            if (leader := self.leaders.get(place, -1)) >= 0:
                found.setdefault(leader, set()).add(place)
        return {leader: frozenset(places) for leader, places in found.items()}

    async def leave(self) -> None:
        """Give everything to others at once."""
        if self._epoch != JOINING:
            self._epoch, self.assigned = JOINING, frozenset()
            await self.ask(ShareGroupHeartbeatRequest(self.group, self.member_id, LEAVING))
