"""What the coordinator of a transaction and the leaders of its partitions ask of each other.

In a cluster either of them may be on another node, so answers are Deferreds; where both are on this node they are
settled at once. A refusal with `NotLeader` or `NotCoordinator` says that the other side has moved: whoever asks finds
it again and repeats the question.
"""

from typing import Protocol

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
