"""AddPartitionsToTxn (24), versions 0-5: partitions that a transaction is about to write to (KIP-98).

One partition that does not exist keeps all from being added: the others answer OPERATION_NOT_ATTEMPTED. Versions
4 and 5 are for nodes among themselves (KIP-890), and clients are not told of them. PRODUCER_FENCED from version 2
(KIP-588).
"""

from collections.abc import Callable
from functools import partial

from coordinators.access.access import AccessControl
from coordinators.records.directory import PartitionDirectory
from coordinators.transaction.transaction import ProducerIdentity, TopicPartition
from coordinators.transaction.transactions import Transactions
from engine.errors import BrokerError
from wire.kafka.errors import ErrorCode, error_code, producer_error_code
from wire.kafka.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from wire.kafka.nodes.asked_of_coordinators import answer_leader
from wire.kafka.request import Context, Deferred
from wire.kafka.rights import CLUSTER_ACTION, WRITE_TOPIC, WRITE_TRANSACTION, Need, Rights, Within
from wire.kafka.slices import slices_of
from wire.kafka.steps import Steps, lazily

KEY = 24
VERSIONS = (0, 5)
LAST_ADVERTISED_VERSION = 3
RIGHTS = Rights(
    # Nodes, which alone send the versions from 4 on, are asked for nothing.
    Need(WRITE_TRANSACTION, lambda request: request.v3_and_below_transactional_id or None),
    Within(WRITE_TOPIC),
    Within(CLUSTER_ACTION),
    refuse=lambda request, _, error: _refused(request, error),
)

FIRST_FENCED_VERSION = 2
FIRST_NODE_VERSION = 4
ASKED = "add_partitions_to_txn"


Answer = AddPartitionsToTxnResponse | Deferred[AddPartitionsToTxnResponse]


def handle(
    request: AddPartitionsToTxnRequest,
    context: Context,
    transactions: Transactions,
    directory: PartitionDirectory,
    access: AccessControl,
) -> Answer | Steps[Answer]:
    """Add all partitions, or none."""
    if context.version >= FIRST_NODE_VERSION:
        return answer_leader(request, context, transactions)
    return _add(request, context, transactions, directory, access)


def _add(
    request: AddPartitionsToTxnRequest,
    context: Context,
    transactions: Transactions,
    directory: PartitionDirectory,
    access: AccessControl,
) -> Steps[Answer]:
    places: dict[TopicPartition, None] = {}
    unknown: set[TopicPartition] = set()
    denied: set[str] = set()
    for topic in request.v3_and_below_topics:
        if not access.allows(context.caller, WRITE_TOPIC, topic.name, ASKED):
            denied.add(topic.name)
        for some in slices_of(topic.partitions):
            named = [(topic.name, index) for index in some]
            places.update(dict.fromkeys(named))
            unknown.update(place for place in named if not _exists(place, directory))
            yield
    if unknown or denied:
        return _response(request, partial(_untried, denied, unknown))
    producer = ProducerIdentity(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)

    def refuse(error: BrokerError) -> AddPartitionsToTxnResponse:
        code = producer_error_code(error, context.version, FIRST_FENCED_VERSION)
        return _response(request, lambda _: code)

    added = transactions.add_partitions(request.v3_and_below_transactional_id, producer, list(places))
    return added.map(lambda _: _response(request, lambda _: 0), refuse)


def _untried(denied: set[str], unknown: set[TopicPartition], place: TopicPartition) -> int:
    if place[0] in denied:
        return int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if place in unknown else ErrorCode.OPERATION_NOT_ATTEMPTED)


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


def _refused(request: AddPartitionsToTxnRequest, error: BrokerError) -> AddPartitionsToTxnResponse:
    code = error_code(error)
    return _response(request, lambda _: code)
