"""What the coordinator of a transaction and the leaders of its partitions ask of each other.

In a cluster either of them may be on another node, so answers are Deferreds; where both are on this node they are
settled at once. A refusal with `NotLeader` or `NotCoordinator` says that the other side has moved: whoever asks finds
it again and repeats the question.
"""

from collections.abc import Iterable
from typing import Protocol

from attrs import frozen

from coordinators.transaction.transaction import ProducerIdentity, TopicPartition
from engine.deferred import Deferred
from engine.log.transactions import EndMarker


class MarkerWriter(Protocol):
    """The coordinator's side: ends a transaction in one partition."""

    def write(self, place: TopicPartition, producer: ProducerIdentity, marker: EndMarker) -> Deferred[None]:
        """Write a marker; resolved once it is durable.

        Each call looks for the partition's leader anew. `UnknownTopicOrPartition` says that the partition does not
        exist any more, `InvalidProducerEpoch` and `TransactionCoordinatorFenced` that it has heard of a later epoch of
        the producer or of the coordinator: it will never need this marker. Any other refusal may pass.
        """
        ...


NOTHING_TO_WAIT_FOR: Deferred[None] = Deferred()
NOTHING_TO_WAIT_FOR.resolve(None)


@frozen
class Inclusion:
    """Partitions become part of a transaction in two steps: a batch may be appended once this is `granted`, and
    acknowledged once it is `durable`. A coordinator on this node grants at once, and its record becomes durable
    together with the batch (ADR 0008); one on another node answers both at the same time."""

    granted: Deferred[None]
    durable: Deferred[None]


class TransactionVerification(Protocol):
    """The leader's side: whether a producer may write to a partition, as part of its transaction (KIP-890)."""

    def knows(self, transactional_id: str, producer: ProducerIdentity, place: TopicPartition) -> bool:
        """Whether the partition is part of the producer's transaction, as far as this node can tell without asking."""
        ...

    def verify(self, transactional_id: str, producer: ProducerIdentity, place: TopicPartition) -> Deferred[None]:
        """Refused unless the producer has added the partition to its transaction."""
        ...

    def add(self, transactional_id: str, producer: ProducerIdentity, places: Iterable[TopicPartition]) -> Inclusion:
        """Add partitions to the producer's transaction, which begins with the first."""
        ...
