"""Batches of idempotent producers that were refused for now, so that nothing which was sent behind them overtakes them.

A producer has up to five requests under way. A partition that knows nothing of it takes any sequence from it: where the
first batch is refused because the node does not lead yet, lacks replicas or cannot ask a coordinator, and all is well a
moment later, the second would be taken, and the first never (KAFKA-14920). A producer that hears of the second without
the first takes its records for lost. So what follows a batch that was refused for now has to wait for it. Who has not
sent it again after a while has given it up.
"""

from typing import NamedTuple

from attrs import define, field

from coordinators.records.publication import Publication
from engine.clock import Clock
from engine.errors import (
    BrokerError,
    NotEnoughReplicas,
    NotLeader,
    RequestTimedOut,
    StorageError,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from engine.ids import TopicId
from engine.records.layout import BatchHeader

REMEMBERED = 10_000
REMEMBERED_S = 30.0
FOR_NOW = (NotEnoughReplicas, NotLeader, RequestTimedOut, StorageError, UnknownTopicId, UnknownTopicOrPartition)
"""Refusals after which producers send the same again."""


class _Place(NamedTuple):
    producer_id: int
    producer_epoch: int
    topic: str | TopicId
    """As the producer has named it: the topic may not have been known here."""
    partition: int


@define(eq=False)
class SkippedSequences:
    """See the module. Of all that is published on this node."""

    clock: Clock
    _lowest: dict[_Place, tuple[int, float]] = field(factory=dict, init=False)
    """The lowest sequence that was refused, and until when it is waited for; those that are longest ago come first."""

    def note(self, header: BatchHeader, named: str | TopicId, index: int, error: BrokerError) -> None:
        """A batch was refused."""
        if header.base_sequence < 0 or header.producer_id < 0 or not isinstance(error, FOR_NOW):
            return
        place = _Place(header.producer_id, header.producer_epoch, named, index)
        lowest, _ = self._lowest.get(place, (header.base_sequence, 0.0))
        if header.base_sequence > lowest:
            # Only the batch itself prolongs the wait for it, not those that it keeps back.
            return
        self._lowest.pop(place, None)
        self._lowest[place] = header.base_sequence, self.clock.monotonic() + REMEMBERED_S
        if len(self._lowest) > REMEMBERED:
            del self._lowest[next(iter(self._lowest))]

    def check(self, publication: Publication) -> None:
        """Raise if something before it has to come first."""
        if not self._lowest:
            return
        self._forget_old()
        header, topic, partition = publication.batch.header, publication.topic, publication.partition
        for named in (topic.name, topic.topic_id):
            place = _Place(header.producer_id, header.producer_epoch, named, partition.index)
            lowest, _ = self._lowest.get(place, (header.base_sequence, 0.0))
            # Whom the partition knows it tells itself which sequence comes next.
            if header.base_sequence > lowest and not partition.log.knows_producer(header.producer_id):
                raise NotEnoughReplicas(f"sequence {lowest}, which was refused for now, comes first")
            self._lowest.pop(place, None)

    def _forget_old(self) -> None:
        now = self.clock.monotonic()
        while self._lowest:
            place, (_, until) = next(iter(self._lowest.items()))
            if until > now:
                break
            del self._lowest[place]
