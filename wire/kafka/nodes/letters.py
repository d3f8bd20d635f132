"""Dead letters to partitions that other nodes lead: Produce, each letter a batch of its own, under the identity that
whoever has them gave it. The other side is `letters_taken.py`."""

from collections.abc import Sequence

from attrs import define

from coordinators.letter_writing import DURABLE_WITHIN_S
from coordinators.replication.ports import LinkBroken
from coordinators.topics import Topic
from engine.errors import BrokerError, RequestTimedOut
from wire.kafka.errors import broker_error
from wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from wire.kafka.nodes.links import ANSWER_S, SharedLinks

VERSIONS = (13, 13)
"""Topics are named by their ids."""
ALL = -1


@define(eq=False)
class LetterLinks:
    """See `LetterCarrier`."""

    links: SharedLinks

    async def carry(self, leader: int, topic: Topic, index: int, letters: Sequence[bytes]) -> list[BrokerError | None]:
        """All in one request; the partition is named once for each."""
        data = [PartitionProduceData(index, letter) for letter in letters]
        request = ProduceRequest(
            acks=ALL,
            timeout_ms=int(DURABLE_WITHIN_S * 1000),
            topic_data=[TopicProduceData(topic_id=topic.topic_id, partition_data=data)],
        )
        try:
            response = await self.links.ask(leader, request, VERSIONS, DURABLE_WITHIN_S + ANSWER_S)
        except LinkBroken as error:
            # Those that have arrived are known there when they come again.
            raise RequestTimedOut(f"node {leader}, which leads {topic.name}-{index}: {error}") from None
        entries = [entry for answered in response.responses for entry in answered.partition_responses]
        if len(entries) != len(letters):
            raise RequestTimedOut(f"node {leader} answers about other letters than those that it was sent")
        return [
            broker_error(entry.error_code, entry.error_message or "") if entry.error_code else None for entry in entries
        ]
