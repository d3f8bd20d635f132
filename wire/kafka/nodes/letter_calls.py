"""Leaders on other nodes are told that share partitions of theirs have dead letters to send (`LetterCalls`).

It goes as ReadShareGroupStateSummary with a field of our own, to the partition's leader instead of whoever keeps the
state: no message of Kafka's goes that way. Nothing is answered, for a leader that does not hear is told again.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from attrs import define, field

from coordinators.background import Background
from coordinators.replication.ports import LinkBroken
from coordinators.share.letter_search import LetterSearch
from coordinators.share.ports import SharePlace
from wire.kafka.messages.read_share_group_state_summary import (
    PartitionData,
    ReadShareGroupStateSummaryRequest,
    ReadStateSummaryData,
)
from wire.kafka.nodes.collected import Collected

if TYPE_CHECKING:
    from wire.kafka.nodes.links import SharedLinks

VERSIONS = (1, 1)
HAS_LETTERS = 1


@define(eq=False)
class ClusterLetterCalls:
    """See the module."""

    links: "SharedLinks"
    background: Background
    _collected: Collected[SharePlace] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._collected = Collected(self.background, self._send)

    def call(self, leader: int, place: SharePlace) -> None:
        """Tell it soon."""
        self._collected.add(leader, place)

    async def _send(self, node_id: int, places: list[SharePlace]) -> None:
        with suppress(LinkBroken):
            for request in call_requests(places):
                await self.links.ask(node_id, request, VERSIONS)


def call_requests(places: Iterable[SharePlace]) -> list[ReadShareGroupStateSummaryRequest]:
    """One for each group."""
    groups: dict[str, dict[bytes, list[PartitionData]]] = {}
    for group_id, topic_id, index in dict.fromkeys(places):
        of_topic = groups.setdefault(group_id, {}).setdefault(topic_id, [])
        of_topic.append(PartitionData(index, tidegate_letters=HAS_LETTERS))
    return [
        ReadShareGroupStateSummaryRequest(
            group_id, [ReadStateSummaryData(topic_id, partitions) for topic_id, partitions in topics.items()]
        )
        for group_id, topics in groups.items()
    ]


def take_calls(request: ReadShareGroupStateSummaryRequest, search: LetterSearch) -> bool:
    """Whether it is such a call; if it is, what it names is loaded."""
    called = [
        SharePlace(request.group_id, topic.topic_id, each.partition)
        for topic in request.topics
        for each in topic.partitions
        if each.tidegate_letters
    ]
    for place in called:
        search.take_call(place)
    return bool(called)
