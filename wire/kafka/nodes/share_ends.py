"""Where partitions end, wherever they are led (`ShareRecords`): known here, or asked of their leaders (ListOffsets)."""

from attrs import define, field

from coordinators.background import Background
from coordinators.replication.ports import LinkBroken
from coordinators.share.ends import UNKNOWN_END, LocalShareRecords
from coordinators.share.ports import SharePlace
from engine.deferred import Deferred
from wire.kafka.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from wire.kafka.nodes.collected import Collected
from wire.kafka.nodes.links import SharedLinks

VERSIONS = (10, 11)
CONSUMER = -1
LATEST = -1

TopicPlace = tuple[str, int]
Ends = dict[TopicPlace, int]


@define(eq=False)
class _Sought:
    """An end that another node knows."""

    place: TopicPlace
    end: Deferred[int] = field(factory=Deferred)


@define(eq=False)
class ClusterShareRecords:
    """See the module."""

    local: LocalShareRecords
    links: SharedLinks
    background: Background
    _collected: Collected[_Sought] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._collected = Collected(self.background, self._send)

    def end_offset(self, place: SharePlace) -> Deferred[int]:
        topics = self.local.directory.topics
        topic, index = topics.by_id.get(place.topic_id), place.partition_index
        if topic is None or not 0 <= index < len(topic.partitions):
            return self.local.end_offset(place)
        leader = topic.partitions[index].leader
        if leader == topics.node_id:
            return self.local.end_offset(place)
        sought = _Sought((topic.name, index))
        if leader < 0 or not self._collected.add(leader, sought):
            sought.end.resolve(UNKNOWN_END)
        return sought.end

    async def _send(self, node_id: int, sought: list[_Sought]) -> None:
        try:
            response = await self.links.ask(node_id, _request({each.place for each in sought}), VERSIONS)
        except LinkBroken:
            ends: Ends = {}
        else:
            ends = _ends(response)
        for each in sought:
            each.end.resolve(ends.get(each.place, UNKNOWN_END))


def _request(places: set[TopicPlace]) -> ListOffsetsRequest:
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for name, index in sorted(places):
        topics.setdefault(name, []).append(ListOffsetsPartition(index, timestamp=LATEST))
    return ListOffsetsRequest(CONSUMER, topics=[ListOffsetsTopic(name, asked) for name, asked in topics.items()])


def _ends(response: ListOffsetsResponse) -> Ends:
    return {
        (topic.name, each.partition_index): UNKNOWN_END if each.error_code else each.offset
        for topic in response.topics
        for each in topic.partitions
    }
