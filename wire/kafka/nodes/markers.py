"""Markers of transactions, wherever the leader of the partition is: written here, or sent to it (WriteTxnMarkers).

Whatever keeps a marker from arriving is a refusal that may pass: `MarkerWriting` asks again, and then the leader is
looked for anew. Only this node's own view of the catalogue tells that a partition is gone: the other node's may lag.
A marker is meant for a leader in one epoch: one that arrives late, at a node that leads again after another leader got
the marker, would end the producer's next transaction (docs/adr/0060).
"""

import struct
from collections.abc import Mapping
from typing import Any

from attrs import define, field

from coordinators.background import Background
from coordinators.records.directory import PartitionDirectory
from coordinators.replication.ports import LinkBroken
from coordinators.transaction.markers import DURABLE_WITHIN_S, LocalMarkers
from coordinators.transaction.transaction import V0, V2, ProducerIdentity, TopicPartition
from engine.catalogue.records import PartitionRecord
from engine.deferred import Deferred
from engine.errors import NotLeader, RequestTimedOut, UnknownTopicId, UnknownTopicOrPartition
from engine.log.transactions import EndMarker
from wire.kafka.errors import broker_error
from wire.kafka.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from wire.kafka.nodes.collected import Collected
from wire.kafka.nodes.links import ANSWER_S, SharedLinks

VERSIONS = (1, 2)
"""Before 2 a late marker cannot be told by its epoch."""

Ending = tuple[ProducerIdentity, EndMarker]


@define(eq=False)
class _Write:
    """One marker for one partition."""

    place: TopicPartition
    ending: Ending
    leader_epoch: int
    """Of the leader that is asked."""
    written: Deferred[None] = field(factory=Deferred)


@define(eq=False)
class ClusterMarkers:
    """See the module, and `MarkerWriter`."""

    local: LocalMarkers
    directory: PartitionDirectory
    links: SharedLinks
    background: Background
    _collected: Collected[_Write] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._collected = Collected(self.background, self._send)

    def write(self, place: TopicPartition, producer: ProducerIdentity, marker: EndMarker) -> Deferred[None]:
        """Each call looks for the partition's leader anew."""
        row = self._row(place)
        if row is None or row.leader == self.directory.topics.node_id:
            return self.local.write(place, producer, marker)
        write = _Write(place, (producer, marker), row.leader_epoch)
        if row.leader < 0 or not self._collected.add(row.leader, write):
            return Deferred.refused(NotLeader(f"{place[0]}-{place[1]} has no leader that can be asked now"))
        return write.written

    def _row(self, place: TopicPartition) -> PartitionRecord | None:
        topic = self.directory.topics.by_name.get(place[0])
        return topic.partitions[place[1]] if topic is not None and place[1] < len(topic.partitions) else None

    async def _send(self, node_id: int, writes: list[_Write]) -> None:
        request, order = _request(writes)
        try:
            response = await self.links.ask(node_id, request, VERSIONS, DURABLE_WITHIN_S + ANSWER_S)
            _settle(order, response)
        except LinkBroken as error:
            # The marker may have been written; once more does no harm.
            for write in writes:
                write.written.refuse(RequestTimedOut(f"node {node_id}: {error}"))


Order = dict[Ending, dict[TopicPartition, list[_Write]]]


def _request(writes: list[_Write]) -> tuple[WriteTxnMarkersRequest, Order]:
    order: Order = {}
    for write in writes:
        order.setdefault(write.ending, {}).setdefault(write.place, []).append(write)
    markers = []
    for (producer, marker), places in order.items():
        topics: dict[str, dict[int, int]] = {}
        for (name, index), same in places.items():
            topics.setdefault(name, {})[index] = same[-1].leader_epoch
        named = [WritableTxnMarkerTopic(name, [*epochs], packed_epochs(epochs)) for name, epochs in topics.items()]
        markers.append(
            WritableTxnMarker(
                producer.producer_id,
                producer.epoch,
                marker.committed,
                named,
                marker.coordinator_epoch,
                V2 if marker.raises_epoch else V0,
            )
        )
    return WriteTxnMarkersRequest(markers), order


def packed_epochs(epochs: Mapping[int, int]) -> bytes:
    """Of the leaders of partitions, in their order."""
    return struct.pack(f">{len(epochs)}i", *epochs.values())


def _settle(order: Order, response: WriteTxnMarkersResponse) -> None:
    if len(response.markers) != len(order):
        raise LinkBroken("an answer about other markers than those that were sent")
    for places, result in zip(order.values(), response.markers, strict=True):
        codes: dict[TopicPartition, int] = {
            (topic.name, each.partition_index): each.error_code for topic in result.topics for each in topic.partitions
        }
        for place, writes in places.items():
            for write in writes:
                _settle_one(write.written, codes.get(place))


def _settle_one(written: Deferred[None], code: int | None) -> None:
    if code == 0:
        written.resolve(None)
        return
    error: Any = NotLeader("nothing was said of it") if code is None else broker_error(code)
    if isinstance(error, UnknownTopicOrPartition | UnknownTopicId):
        error = NotLeader("its leader has not heard of it yet")
    written.refuse(error)
