"""AddPartitionsToTxn (24), versions 0-5: partitions that a transaction is about to write to (KIP-98).

One partition that does not exist keeps all from being added: the others answer OPERATION_NOT_ATTEMPTED. Versions
4 and 5 are for nodes among themselves (KIP-890), and clients are not told of them. PRODUCER_FENCED from version 2
(KIP-588).
"""

from collections.abc import Callable

from coordinators.records.directory import PartitionDirectory
from coordinators.transaction.transaction import ProducerIdentity, TopicPartition
from coordinators.transaction.transactions import Transactions
from engine.errors import BrokerError
from wire.kafka.errors import ErrorCode, producer_error_code
from wire.kafka.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from wire.kafka.nodes.asked_of_coordinators import answer_leader
from wire.kafka.request import Context, Deferred
from wire.kafka.slices import slices_of
from wire.kafka.steps import Steps, lazily

KEY = 24
VERSIONS = (0, 5)
LAST_ADVERTISED_VERSION = 3

FIRST_FENCED_VERSION = 2
FIRST_NODE_VERSION = 4


Answer = AddPartitionsToTxnResponse | Deferred[AddPartitionsToTxnResponse]


def handle(
    request: AddPartitionsToTxnRequest, context: Context, transactions: Transactions, directory: PartitionDirectory
) -> Answer | Steps[Answer]:
    """Add all partitions, or none."""
    if context.version >= FIRST_NODE_VERSION:
        return answer_leader(request, context, transactions)
    return _add(request, context, transactions, directory)


def _add(
    request: AddPartitionsToTxnRequest, context: Context, transactions: Transactions, directory: PartitionDirectory
) -> Steps[Answer]:
    places: dict[TopicPartition, None] = {}
    unknown: set[TopicPartition] = set()
    for topic in request.v3_and_below_topics:
        for some in slices_of(topic.partitions):
            named = [(topic.name, index) for index in some]
            places.update(dict.fromkeys(named))
            unknown.update(place for place in named if not _exists(place, directory))
            yield
    if unknown:
        missing, untried = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED
        return _response(request, lambda place: missing if place in unknown else untried)
    producer = ProducerIdentity(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)

    def refuse(error: BrokerError) -> AddPartitionsToTxnResponse:
        code = producer_error_code(error, context.version, FIRST_FENCED_VERSION)
        return _response(request, lambda _: code)

    added = transactions.add_partitions(request.v3_and_below_transactional_id, producer, list(places))
    return added.map(lambda _: _response(request, lambda _: 0), refuse)


def _exists(place: TopicPartition, directory: PartitionDirectory) -> bool:
    topic = directory.topics.by_name.get(place[0])
    return topic is not None and 0 <= place[1] < topic.partition_count


def _response(
    request: AddPartitionsToTxnRequest, code_of: Callable[[TopicPartition], int]
) -> AddPartitionsToTxnResponse:
    def topic_result(topic: AddPartitionsToTxnTopic) -> AddPartitionsToTxnTopicResult:
        def result(index: int) -> AddPartitionsToTxnPartitionResult:
            return AddPartitionsToTxnPartitionResult(index, code_of((topic.name, index)))

        return AddPartitionsToTxnTopicResult(topic.name, lazily(topic.partitions, result))

    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=lazily(request.v3_and_below_topics, topic_result))
